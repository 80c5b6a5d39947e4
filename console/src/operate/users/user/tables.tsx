// The keys, apps and last events of one account.

import { useMemo } from 'react'
import { formatCount } from '../../../format.ts'
import { Button } from '../../../ui/button.tsx'
import { Time } from '../../../ui/figures.tsx'
import { type Column, DataTable } from '../../../ui/table.tsx'
import { fixedList } from '../../operate.ts'
import { MaybeTime, Section } from '../../parts.tsx'
import { actColumn, MARKUP_COLUMN, NAME_COLUMN, STATE_COLUMN } from '../app-list.tsx'
import type { UserApp, UserDetails, UserKey } from '../users.ts'

type Event = UserDetails['events'][number]

/** How many are shown of how many there are. */
function shown(count: number, all: number): string | undefined {
  return count < all ? `The newest ${formatCount(count)} of ${formatCount(all)}.` : undefined
}

export function KeyTable({ user, onLimit }: { user: UserDetails; onLimit: (id: string) => void }) {
  const columns = useMemo(() => keyColumns(onLimit), [onLimit])
  return (
    <Section title="API keys" note={shown(user.keys.length, user.counts.keys)}>
      <DataTable
        label="API keys"
        columns={columns}
        list={fixedList(user.keys)}
        rowKey={keyId}
        empty={<p className="soft">This account has no key.</p>}
      />
    </Section>
  )
}

function keyColumns(onLimit: (id: string) => void): Column<UserKey>[] {
  return [
    {
      head: 'Name',
      cell: ({ name, prefix }) => (
        <>
          <strong className="cell-title">{name}</strong>
          <span className="soft cell-note">{prefix}…</span>
        </>
      ),
    },
    {
      head: 'Who pays',
      wide_only: true,
      cell: ({ billing_mode }) => (billing_mode === 'user' ? 'Users' : 'Developer'),
    },
    {
      head: 'Last used',
      wide_only: true,
      cell: ({ last_used_at }) => <MaybeTime at={last_used_at} />,
    },
    {
      head: 'Calls a minute',
      align: 'end',
      cell: ({ rate_limit_per_minute: limit }) =>
        limit === null ? <span className="soft">As all keys</span> : formatCount(limit),
    },
    {
      head: 'Acts',
      head_unseen: true,
      align: 'end',
      cell: ({ id, name }) => (
        <Button aria-label={`Limit ${name}`} onClick={() => onLimit(id)}>
          Limit
        </Button>
      ),
    },
  ]
}

function keyId({ id }: UserKey): string {
  return id
}

export function AppTable({ user, onAct }: { user: UserDetails; onAct: (id: string) => void }) {
  const columns = useMemo(
    () => [NAME_COLUMN, MARKUP_COLUMN, STATE_COLUMN, actColumn(onAct)],
    [onAct],
  )
  return (
    <Section title="Apps" note={shown(user.apps.length, user.counts.apps)}>
      <DataTable
        label="Apps"
        columns={columns}
        list={fixedList(user.apps)}
        rowKey={clientId}
        empty={<p className="soft">This account has no app.</p>}
      />
    </Section>
  )
}

function clientId({ client_id }: UserApp): string {
  return client_id
}

const EVENT_COLUMNS: Column<Event>[] = [
  { head: 'Event', cell: ({ kind }) => kind.replaceAll('_', ' ') },
  { head: 'When', cell: ({ at }) => <Time at={at} /> },
  { head: 'From', wide_only: true, cell: ({ ip }) => ip ?? <span className="soft">Unknown</span> },
]

export function EventTable({ user }: { user: UserDetails }) {
  return (
    <Section title="Security log" note="The newest 20.">
      <DataTable
        label="Security log"
        columns={EVENT_COLUMNS}
        list={fixedList(user.events)}
        rowKey={eventId}
        empty={<p className="soft">Nothing yet.</p>}
      />
    </Section>
  )
}

function eventId({ id }: Event): string {
  return id
}
