// Who is connected to the app, what they may spend and what they used.

import { Button } from '../../ui/button.tsx'
import { LimitMeter, Money, Time } from '../../ui/figures.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { type Column, DataTable } from '../../ui/table.tsx'
import { type AppUser, useAppUsers } from '../apps.ts'

const SHOWN_ID_LENGTH = 8

export function UsersTab({ app_id, onConnect }: { app_id: string; onConnect: () => void }) {
  const users = useAppUsers(app_id)
  return (
    <DataTable
      label="Connected users"
      columns={COLUMNS}
      list={users}
      rowKey={userId}
      empty={
        <EmptyState
          title="Nobody is connected yet"
          action={
            <Button kind="primary" onClick={onConnect}>
              Connect your users
            </Button>
          }
        >
          <p>A user stands here as soon as they have allowed the app and you exchanged the code.</p>
        </EmptyState>
      }
    />
  )
}

function userId(user: AppUser): string {
  return user.user_id
}

const COLUMNS: readonly Column<AppUser>[] = [
  { head: 'User', cell: (user) => <Names user={user} /> },
  { head: 'Spent of cap', cell: (user) => <Spent user={user} /> },
  {
    head: 'In all',
    align: 'end',
    wide_only: true,
    cell: (user) => <Money credits={user.spent_total_credits} />,
  },
  {
    head: 'You earned',
    align: 'end',
    wide_only: true,
    cell: (user) => <Money credits={user.earned_credits} />,
  },
  { head: 'Calls', align: 'end', wide_only: true, cell: (user) => String(user.requests) },
  {
    head: 'Last use',
    cell: ({ last_used_at }) =>
      last_used_at === null ? (
        <span className="soft">Never</span>
      ) : (
        <Time at={last_used_at} as="distance" />
      ),
  },
]

/** Your own names for them, if there are any: the long id is on hover. */
function Names({ user: { external_user_ids, user_id, connected_at } }: { user: AppUser }) {
  const names = external_user_ids.join(', ')
  return (
    <>
      <strong className="cell-title" title={user_id}>
        {names === '' ? <code>{user_id.slice(0, SHOWN_ID_LENGTH)}…</code> : <bdi>{names}</bdi>}
      </strong>
      <span className="soft cell-note">
        since <Time at={connected_at} as="day" />
      </span>
    </>
  )
}

function Spent({ user }: { user: AppUser }) {
  const { cap_credits, cap_period, spent_credits: spent } = user
  if (cap_credits === null) {
    return (
      <>
        <Money credits={spent} /> this month, no cap
      </>
    )
  }
  // What was spent is of this month; a cap of a day would need the day's sum.
  return (
    <span className="app-spent">
      <span>
        <Money credits={spent} /> {cap_period === 'day' && 'this month; '}of{' '}
        <Money credits={cap_credits} /> a {cap_period}
      </span>
      {cap_period === 'month' && (
        <LimitMeter used={spent} limit={cap_credits} label="Spent of the cap" />
      )}
    </span>
  )
}
