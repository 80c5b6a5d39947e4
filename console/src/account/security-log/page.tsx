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
    cell: ({ says, details, at, ip, device }) => (
      <>
        <span className="cell-title">{says}</span>
        <span className="soft cell-note">{describeDetails(details)}</span>
        <span className="soft cell-note narrow-only">
          <Time at={at} />
        </span>
        <span className="soft cell-note narrow-only">
          {[device, ip].filter((part) => part !== null).join(', ')}
        </span>
      </>
    ),
  },
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
  {
    head: 'When',
    wide_only: true,
    width: '13rem',
    cell: ({ at }) => (
      <span className="no-wrap">
        <Time at={at} />
      </span>
    ),
  },
]

/** Names first, without their label. Ids only where there is no name to know it by. */
function describeDetails(details: Record<string, unknown>): string {
  const told = Object.entries(details).filter(([, value]) => value !== null)
  const isName = ([field]: [string, unknown]) => /(^|_)name$/.test(field)
  const names = told.filter(isName)
  const rest = told
    .filter((entry) => !isName(entry))
    .filter(([field]) => names.length === 0 || !field.endsWith('_id'))
  return [
    ...names.map(([, value]) => String(value)),
    ...rest.map(([field, value]) => `${nameField(field)}: ${describeValue(field, value)}`),
  ].join(', ')
}

function nameField(field: string): string {
  return field.replace(/_(credits|at)$/, '').replaceAll('_', ' ')
}

function describeValue(field: string, value: unknown): string {
  if (field.endsWith('_credits') && typeof value === 'number') return formatDollars(value)
  if (field.endsWith('_at') && typeof value === 'string') return formatTime(value)
  return String(value)
}
