// /statement: every movement of the wallet, to the credit, each with the balance after it. ?kind=, ?from= and ?to= narrow
// it; days are those of UTC.

import { Link } from 'wouter'
import { formatCredits, formatDollars } from '../format.ts'
import { Button, LinkButton } from '../ui/button.tsx'
import { DayFields, timesOf } from '../ui/day-range.tsx'
import { CreditAmount, Time } from '../ui/figures.tsx'
import { EmptyState } from '../ui/notice.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { text, useUrlState } from '../url-state.ts'
import './statement.css'
import {
  csvAddress,
  describeMovement,
  KIND_CHOICES,
  type Movement,
  readKind,
  useStatement,
} from './statement.ts'

const VIEW = { kind: text(), from: text(), to: text() }
const EVERYTHING = { kind: '', from: '', to: '' }

export default function StatementPage() {
  const [view, setView] = useUrlState(VIEW)
  const kind = readKind(view.kind)
  const filter = { ...(kind && { kind }), ...timesOf(view) }
  const statement = useStatement(filter)
  const is_narrowed = Object.keys(filter).length > 0
  const clear = () => setView(EVERYTHING)
  return (
    <>
      <PageHead
        title="Statement"
        lead="Every movement of your balance, newest first. In credits; $1.00 is 1,000,000."
      >
        <a className="button plain" href={csvAddress(filter)} download>
          Download as CSV
        </a>
      </PageHead>
      <div className="list-filters statement-filters" role="group" aria-label="Filters">
        <select
          aria-label="Kind of movement"
          value={kind ?? ''}
          onChange={({ target }) => setView({ kind: target.value })}
        >
          {KIND_CHOICES.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
        <DayFields from={view.from} to={view.to} onChange={setView} />
        {is_narrowed && (
          <Button kind="quiet" onClick={clear}>
            Clear filters
          </Button>
        )}
      </div>
      <DataTable
        label="Statement"
        columns={COLUMNS}
        list={statement}
        rowKey={movementId}
        empty={is_narrowed ? <NothingFound onClear={clear} /> : <NothingMoved />}
      />
    </>
  )
}

function NothingFound({ onClear }: { onClear: () => void }) {
  return (
    <EmptyState title="No such movement" action={<Button onClick={onClear}>Show all</Button>}>
      <p>Nothing of this kind moved on these days. Days are those of UTC.</p>
    </EmptyState>
  )
}

function NothingMoved() {
  return (
    <EmptyState
      title="Nothing has moved yet"
      action={
        <LinkButton to="/topups" kind="primary">
          Top up
        </LinkButton>
      }
    >
      <p>What you buy and what calls cost is listed here, each with the balance after it.</p>
    </EmptyState>
  )
}

function movementId(row: Movement): string {
  return row.id
}

const COLUMNS: Column<Movement>[] = [
  { head: 'When', wide_only: true, cell: ({ created_at }) => <Time at={created_at} /> },
  { head: 'What', cell: (row) => <What row={row} /> },
  {
    head: 'App',
    wide_only: true,
    cell: ({ app_name, client_id }) =>
      app_name ?? (client_id === null ? '' : <code>{client_id}</code>),
  },
  {
    head: 'Model',
    wide_only: true,
    cell: ({ generation_id, description }) => generation_id !== null && description,
  },
  { head: 'Amount', align: 'end', cell: ({ amount }) => <Amount credits={amount} /> },
  {
    head: 'Balance after',
    align: 'end',
    cell: ({ balance_after }) => <CreditAmount credits={balance_after} />,
  },
]

/** On a phone the time, app and model stand below it. */
function What({ row }: { row: Movement }) {
  const { generation_id, app_name, created_at } = row
  const { title, note } = describeMovement(row)
  return (
    <>
      {generation_id === null ? (
        <span className="cell-title">{title}</span>
      ) : (
        <Link to={`/usage?call=${encodeURIComponent(generation_id)}`} className="cell-title">
          {title}
          <span className="unseen">, open its receipt</span>
        </Link>
      )}
      {generation_id === null && note !== '' && <span className="soft cell-note">{note}</span>}
      <span className="soft cell-note narrow-only">
        {generation_id !== null && note}
        {app_name !== null && ` · ${app_name}`}
      </span>
      <span className="soft cell-note narrow-only">
        <Time at={created_at} />
      </span>
    </>
  )
}

/** What came in has a plus, so that the sign never has to be guessed. */
function Amount({ credits }: { credits: number }) {
  return (
    <span className={credits > 0 ? 'came-in' : undefined} title={formatDollars(credits)}>
      {credits > 0 && '+'}
      {formatCredits(credits)}
    </span>
  )
}
