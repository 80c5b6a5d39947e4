// /account/security-log: what happened to the safety of the account, newest first.

import { Link } from 'wouter'
import { formatDollars, formatTime } from '../../format.ts'
import { Badge, Time } from '../../ui/figures.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { type Column, DataTable } from '../../ui/table.tsx'
import { type SecurityEvent, useSecurityEvents } from '../account.ts'
import { AccountNav } from '../account-nav.tsx'

export default function SecurityLogPage() {
  const events = useSecurityEvents()
  return (
    <>
      <PageHead
        title="Security log"
        lead={
          <>
            Kept for 400 days. Something that was not you?{' '}
            <Link to="/account/sessions?end=others">Sign out everywhere else</Link>, then{' '}
            <Link to="/account?change_password=true">change the password</Link>.
          </>
        }
      />
      <AccountNav />
      <DataTable
        label="Security log"
        columns={COLUMNS}
        list={events}
        rowKey={eventId}
        empty={<p className="soft">Nothing has happened yet.</p>}
      />
    </>
  )
}

function eventId(event: SecurityEvent): string {
  return event.id
}

const COLUMNS: Column<SecurityEvent>[] = [
  {
    head: 'What',
    cell: ({ says, details }) => (
      <>
        <span className="cell-title">{says}</span>
        <span className="soft cell-note">{describeDetails(details)}</span>
      </>
    ),
  },
  { head: 'When', cell: ({ at }) => <Time at={at} /> },
  {
    head: 'From',
    wide_only: true,
    cell: ({ ip, device, current }) => (
      <>
        <span className="cell-title">
          {device} {current && <Badge tone="good">This browser</Badge>}
        </span>
        <span className="soft cell-note">{ip}</span>
      </>
    ),
  },
]

/** Ids and names, as the service wrote them down; sums and times as people read them. */
function describeDetails(details: Record<string, unknown>): string {
  return Object.entries(details)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${nameOf(name)}: ${describe(name, value)}`)
    .join(', ')
}

function nameOf(name: string): string {
  return name.replace(/_(credits|at)$/, '').replaceAll('_', ' ')
}

function describe(name: string, value: unknown): string {
  if (name.endsWith('_credits') && typeof value === 'number') return formatDollars(value)
  if (name.endsWith('_at') && typeof value === 'string') return formatTime(value)
  return String(value)
}
