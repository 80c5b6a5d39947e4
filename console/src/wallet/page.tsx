// /wallet: what the account has, and the apps that may spend of it. Each dialog is an address: ?cap= and ?disconnect=
// with a client id, ?low_balance=true.

import { useMemo } from 'react'
import { Link } from 'wouter'
import { useAccount } from '../queries.ts'
import { usePaysOnly } from '../shell/landing.ts'
import { ActMenu, actsColumn } from '../ui/act-menu.tsx'
import { LimitMeter, Money, Time } from '../ui/figures.tsx'
import { ProblemNotice, Skeleton } from '../ui/notice.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { flag, text, useUrlState } from '../url-state.ts'
import { Balance } from './balance.tsx'
import { ChangeCap, Disconnect, LowBalance } from './change-connection.tsx'
import './wallet.css'
import { type Connection, useConnections } from './wallet.ts'

const VIEW = { cap: text(), disconnect: text(), low_balance: flag() }
const CLOSED = { cap: '', disconnect: '', low_balance: false }

export default function WalletPage() {
  const [view, setView] = useUrlState(VIEW)
  const account = useAccount()
  const connections = useConnections()
  const pays_only = usePaysOnly()
  const columns = useMemo(
    () => [...COLUMNS, connectionActs((name, id) => setView({ [name]: id }))],
    [setView],
  )
  const close = () => setView(CLOSED, { replace: true })
  const find = (client_id: string) =>
    connections.pages?.flat().find((row) => row.client_id === client_id)
  const [capped, ended] = [find(view.cap), find(view.disconnect)]
  return (
    <>
      <PageHead title="Balance and apps" lead={pays_only ? <BuilderLine /> : undefined} />
      {account.error && (
        <ProblemNotice problem={account.error} onRetry={() => void account.refetch()} />
      )}
      {account.isPending && <Skeleton />}
      {account.data && <Balance account={account.data} />}
      <h2 className="part-head">Connected apps</h2>
      <DataTable
        label="Connected apps"
        columns={columns}
        list={connections}
        rowKey={clientId}
        empty={<NoApps />}
      />
      {capped && <ChangeCap row={capped} onClose={close} />}
      {ended && <Disconnect row={ended} onClose={close} />}
      {view.low_balance && account.data && <LowBalance account={account.data} onClose={close} />}
    </>
  )
}

/** Who came here to pay for an app may still want to build one. */
function BuilderLine() {
  return (
    <>
      Building something? <Link to="/">Start here</Link>
    </>
  )
}

function NoApps() {
  return (
    <p className="soft no-apps">
      None yet. When an app offers to sign in and pay with your own credits, you see here what it
      spends, set the most that it may spend, and can end it at any time.
    </p>
  )
}

function clientId(row: Connection): string {
  return row.client_id
}

const COLUMNS: Column<Connection>[] = [
  {
    head: 'App',
    cell: (row) => (
      <>
        <strong className="cell-title">{row.name}</strong>
        <span className="soft cell-note">
          Since <Time at={row.connected_at} as="day" />
          {row.external_user_ids.length > 0 && (
            <>
              , knows you as <bdi>{row.external_user_ids.join(', ')}</bdi>
            </>
          )}
        </span>
      </>
    ),
  },
  { head: 'Spent', cell: (row) => <Spent row={row} /> },
  {
    head: 'May',
    wide_only: true,
    cell: ({ scopes }) =>
      scopes.includes('credits.spend') ? 'Spend, and see your balance' : 'See your balance',
  },
  {
    head: 'Markup',
    wide_only: true,
    align: 'end',
    cell: ({ markup_percent }) =>
      markup_percent === 0 ? <span className="soft">None</span> : `${markup_percent} %`,
  },
  {
    head: 'Last used',
    wide_only: true,
    cell: ({ last_used_at }) =>
      last_used_at === null ? (
        <span className="soft">Never</span>
      ) : (
        <Time at={last_used_at} as="distance" />
      ),
  },
]

function Spent({ row }: { row: Connection }) {
  const { spent_credits: spent, cap_credits: cap, cap_period } = row
  if (!row.scopes.includes('credits.spend')) return <span className="soft">Spends nothing</span>
  if (cap === null) {
    return (
      <>
        <Money credits={spent} /> {cap_period === 'day' ? 'today' : 'this month'}
        <span className="soft cell-note">No cap</span>
      </>
    )
  }
  return (
    <span className="app-spent">
      <span>
        <Money credits={spent} /> of <Money credits={cap} /> a {cap_period}
      </span>
      <LimitMeter used={spent} limit={cap} label={`Spent by ${row.name}`} />
      {row.period_resets_at !== null && (
        <span className="soft cell-note">
          Starts anew <Time at={row.period_resets_at} as="distance" />
        </span>
      )}
    </span>
  )
}

function connectionActs(
  open: (view: 'cap' | 'disconnect', client_id: string) => void,
): Column<Connection> {
  return actsColumn(({ name, client_id, scopes }) => (
    <ActMenu
      label={`Change ${name}`}
      acts={[
        scopes.includes('credits.spend') && ['Change the cap', () => open('cap', client_id)],
        ['Disconnect', () => open('disconnect', client_id)],
      ]}
    />
  ))
}
