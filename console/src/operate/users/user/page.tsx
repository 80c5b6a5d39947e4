// /operate/users/:id: one account. Each dialog is an address: ?act= with what is done, ?key= and ?app= with an id.

import { useMemo } from 'react'
import { Link, useParams } from 'wouter'
import { formatCount } from '../../../format.ts'
import { ActMenu } from '../../../ui/act-menu.tsx'
import { Button, LinkButton } from '../../../ui/button.tsx'
import { Money, Time } from '../../../ui/figures.tsx'
import { PageHead, usePageTitle } from '../../../ui/page-head.tsx'
import { oneOf, text, useUrlState } from '../../../url-state.ts'
import { AppAct } from '../../app-act.tsx'
import { type Fact, Facts, Figures, Loaded, MaybeTime, Section } from '../../parts.tsx'
import { UserState } from '../user-state.tsx'
import { type UserDetails, useUser } from '../users.ts'
import { Grant } from './grant.tsx'
import { EndSessions, LimitKey, Resume, Suspend } from './standing.tsx'
import { AppTable, EventTable, KeyTable } from './tables.tsx'

const ACTS = ['', 'grant', 'suspend', 'resume', 'end-sessions'] as const
const VIEW = { act: oneOf(ACTS, ''), key: text(), app: text() }
const CLOSED = { act: '', key: '', app: '' } as const

export default function UserPage() {
  const { id } = useParams<{ id: string }>()
  const user = useUser(id)
  usePageTitle(user.data?.email)
  if (!user.data) {
    return (
      <>
        <PageHead title="User" />
        <Loaded query={user}>{() => null}</Loaded>
        {user.error && <LinkButton to="/operate/users">To all users</LinkButton>}
      </>
    )
  }
  return <UserView user={user.data} />
}

function UserView({ user }: { user: UserDetails }) {
  const [view, setView] = useUrlState(VIEW)
  const close = () => setView(CLOSED, { replace: true })
  const key = user.keys.find(({ id }) => id === view.key)
  const app = user.apps.find(({ client_id }) => client_id === view.app)
  const open = useMemo(
    () => ({
      key: (id: string) => setView({ key: id }),
      app: (client_id: string) => setView({ app: client_id }),
    }),
    [setView],
  )
  return (
    <>
      <PageHead title={user.email} lead={<UserState user={user} />}>
        <Button kind="primary" onClick={() => setView({ act: 'grant' })}>
          Grant credits
        </Button>
        <MoreActs user={user} open={(act) => setView({ act })} />
      </PageHead>
      <Suspended user={user} />
      <Money30 user={user} />
      <div className="op-columns">
        <Section title="Account">
          <Facts facts={accountFacts(user)} />
        </Section>
        <Section title="Earnings and disputes">
          <Facts facts={moneyFacts(user)} />
        </Section>
      </div>
      <KeyTable user={user} onLimit={open.key} />
      <AppTable user={user} onAct={open.app} />
      <EventTable user={user} />
      {view.act === 'grant' && <Grant user={user} onClose={close} />}
      {view.act === 'suspend' && <Suspend user={user} onClose={close} />}
      {view.act === 'resume' && <Resume user={user} onClose={close} />}
      {view.act === 'end-sessions' && <EndSessions user={user} onClose={close} />}
      {key && <LimitKey user={user} row={key} onClose={close} />}
      {app && <AppAct app={app} onClose={close} />}
    </>
  )
}

function MoreActs({
  user,
  open,
}: {
  user: UserDetails
  open: (act: (typeof ACTS)[number]) => void
}) {
  return (
    <ActMenu
      label="More acts"
      acts={[
        user.state === 'suspended'
          ? ['Resume the account', () => open('resume')]
          : ['Suspend the account', () => open('suspend')],
        ['End all sessions', () => open('end-sessions')],
      ]}
    />
  )
}

function Suspended({ user: { suspended_at, suspended_reason, closes_at } }: { user: UserDetails }) {
  if (suspended_at === null && closes_at === null) return null
  return (
    <div className="op-notes">
      {suspended_at !== null && (
        <p className="op-note danger">
          Suspended since <Time at={suspended_at} />: {suspended_reason ?? 'no reason given'}
        </p>
      )}
      {closes_at !== null && (
        <p className="op-note">
          The owner closes this account; it ends on <Time at={closes_at} />.
        </p>
      )}
    </div>
  )
}

function Money30({ user }: { user: UserDetails }) {
  const orNone = (credits: number | null) => (credits === null ? '–' : <Money credits={credits} />)
  return (
    <Figures
      figures={[
        { label: 'Balance now', value: orNone(user.balance_credits) },
        { label: 'Of it promotional', value: orNone(user.promotional_credits) },
        { label: 'Held by running calls', value: orNone(user.held_credits) },
        {
          label: 'Spent, last 30 days (UTC)',
          value: <Money credits={user.spent_30_days_credits} />,
        },
        { label: 'Calls, last 30 days (UTC)', value: formatCount(user.requests_30_days) },
      ]}
    />
  )
}

function accountFacts(user: UserDetails): Fact[] {
  const { counts } = user
  const about = encodeURIComponent(user.email)
  return [
    ['Id', <code key="id">{user.id}</code>],
    ['Since', <Time key="since" at={user.created_at} />],
    ['Last sign-in', <MaybeTime key="last" at={user.last_sign_in_at} />],
    ['Open sessions', formatCount(counts.sessions)],
    ['Connected apps', formatCount(counts.connected_apps)],
    [
      'Wallet',
      <Link key="chain" to={`/operate/ledger?tab=chain&account=${user.id}`}>
        The chain of its lines
      </Link>,
    ],
    [
      'Audit',
      <Link key="audit" to={`/operate/audit?subject=${about}`}>
        What operators did to it
      </Link>,
    ],
  ]
}

function moneyFacts({ payouts, disputes }: UserDetails): Fact[] {
  return [
    ['Payouts', payoutWords(payouts)],
    ...(payouts.disabled_reason === null
      ? []
      : [['Why payouts are off', payouts.disabled_reason] as const]),
    [
      'Open disputes',
      disputes.open === 0 ? (
        'None'
      ) : (
        <>
          {formatCount(disputes.open)}, <Money credits={disputes.open_credits} />
        </>
      ),
    ],
    ['Lost disputes', disputes.lost === 0 ? 'None' : formatCount(disputes.lost)],
  ]
}

function payoutWords({ connected, enabled, blocked }: UserDetails['payouts']): string {
  if (!connected) return 'Not connected'
  if (blocked) return 'Blocked: a transfer came back. svc payouts unblock clears it.'
  return enabled ? 'Connected and enabled' : 'Connected, not enabled'
}
