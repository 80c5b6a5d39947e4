// The list of calls. A press on its time opens the receipt; while one is open, the arrow keys walk the rows.

import { createContext, type ReactNode, useContext, useMemo } from 'react'
import { formatCount } from '../format.ts'
import { colorOfModel } from '../model-colors.ts'
import type { List } from '../queries.ts'
import { Badge, CreditAmount, Time } from '../ui/figures.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import type { Call, Names } from './usage.ts'

/** Rows are made once: which of them is open reaches them by this. */
const Opened = createContext<{ id: string; open: (id: string) => void }>({
  id: '',
  open: () => {},
})

type TableProps = {
  list: List<Call>
  label: string
  names: Names
  opened: string
  onOpen: (id: string) => void
  empty: ReactNode
}

export function CallsTable({ list, label, names, opened, onOpen, empty }: TableProps) {
  const columns = useMemo(() => columnsOf(names), [names])
  const context = useMemo(() => ({ id: opened, open: onOpen }), [opened, onOpen])
  return (
    <Opened value={context}>
      <DataTable label={label} columns={columns} list={list} rowKey={callId} empty={empty} />
    </Opened>
  )
}

function callId(call: Call): string {
  return call.id
}

function OpenCall({ id, children }: { id: string; children: ReactNode }) {
  const opened = useContext(Opened)
  return (
    <button
      type="button"
      className="link"
      data-call={id}
      aria-current={opened.id === id || undefined}
      title="Open the receipt"
      onClick={() => opened.open(id)}
    >
      {children}
    </button>
  )
}

function columnsOf(names: Names): Column<Call>[] {
  return [
    {
      head: 'Time',
      cell: (call) => (
        <OpenCall id={call.id}>
          <Time at={call.created_at} />
        </OpenCall>
      ),
    },
    { head: 'Model', cell: (call) => <ModelName call={call} /> },
    { head: 'Made with', wide_only: true, cell: (call) => <MadeWith call={call} names={names} /> },
    {
      head: 'In',
      align: 'end',
      wide_only: true,
      cell: (call) =>
        formatCount(call.input_tokens + call.cached_input_tokens + call.cache_write_tokens),
    },
    {
      head: 'Out',
      align: 'end',
      wide_only: true,
      cell: (call) => formatCount(call.output_tokens),
    },
    {
      head: 'First token',
      align: 'end',
      wide_only: true,
      cell: ({ first_token_ms: ms }) =>
        ms === null ? <span className="soft">–</span> : `${formatCount(ms)} ms`,
    },
    {
      head: 'Credits',
      align: 'end',
      cell: (call) => <CreditAmount credits={call.credits_used} />,
    },
    {
      head: 'Balance after',
      align: 'end',
      wide_only: true,
      cell: ({ balance_after }) =>
        balance_after === null ? (
          <span className="soft">–</span>
        ) : (
          <CreditAmount credits={balance_after} />
        ),
    },
  ]
}

function ModelName({ call }: { call: Call }) {
  return (
    <>
      <span className="model-name">
        <span className="swatch" style={{ background: colorOfModel(call.model) }} />
        <span>{call.model}</span>
      </span>
      <CallStatus call={call} />
    </>
  )
}

export function CallStatus({ call }: { call: Pick<Call, 'status' | 'error_code'> }) {
  if (call.status === 'ok') return null
  if (call.status === 'cut') return <Badge tone="warn">cut short</Badge>
  return <Badge tone="danger">{call.error_code ?? 'failed'}</Badge>
}

function MadeWith({ call, names }: { call: Call; names: Names }) {
  const { key_id, client_id, external_user_id, source } = call
  const what = () => {
    if (source === 'playground') return 'Playground'
    if (key_id !== null) return names.get(key_id) ?? `Key ${key_id.slice(0, 8)}…`
    return client_id === null ? 'API' : 'An app you connected'
  }
  return (
    <>
      {what()}
      {external_user_id !== null && <span className="soft cell-note">for {external_user_id}</span>}
    </>
  )
}
