// /operate/payouts: what was paid, what is in doubt, and paying: ?run=true is the dry run, ?status= filters.

import { Link } from 'wouter'
import { formatCents, formatCount } from '../../format.ts'
import { Button } from '../../ui/button.tsx'
import { Badge, Money, Time } from '../../ui/figures.tsx'
import { SelectField } from '../../ui/form.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { type Column, DataTable } from '../../ui/table.tsx'
import { flag, oneOf, useUrlState } from '../../url-state.ts'
import { Section } from '../parts.tsx'
import { type Payout, type Run, usePayouts, useRuns } from './payouts.ts'
import { RunPayouts } from './run-payouts.tsx'

const STATUSES = [
  ['all', 'All'],
  ['pending', 'In doubt'],
  ['failed', 'Failed'],
  ['paid', 'Paid'],
] as const
const VIEW = { run: flag(), status: oneOf(['all', 'pending', 'failed', 'paid'], 'all') }

export default function PayoutsPage() {
  const [view, setView] = useUrlState(VIEW)
  const { runs, next_run_at } = useRuns()
  return (
    <>
      <PageHead
        title="Payouts"
        lead={
          next_run_at !== undefined && (
            <>
              The next daily run is <Time at={next_run_at} as="distance" />, at{' '}
              <Time at={next_run_at} />.
            </>
          )
        }
      >
        <Button kind="primary" onClick={() => setView({ run: true })}>
          Dry run
        </Button>
      </PageHead>
      <InDoubt />
      <Section title="Runs" note="Daily and by operators, newest first.">
        <DataTable
          label="Payout runs"
          columns={RUN_COLUMNS}
          list={runs}
          rowKey={idOf}
          empty={
            <EmptyState title="No run was made yet">
              <p>A dry run says who is due and how much. It changes nothing.</p>
            </EmptyState>
          }
        />
      </Section>
      <PayoutList
        status={view.status}
        onStatus={(given) =>
          setView({ status: STATUSES.find(([status]) => status === given)?.[0] ?? 'all' })
        }
      />
      {view.run && <RunPayouts onClose={() => setView({ run: false }, { replace: true })} />}
    </>
  )
}

/** First of all, and only if there are any: the next run asks the processor what became of them. */
function InDoubt() {
  const pending = usePayouts('pending')
  if (!pending.pages?.some((page) => page.length > 0)) return null
  return (
    <Section
      title="In doubt"
      note="No answer came to these transfers. The next run asks again and pays nothing twice."
    >
      <DataTable
        label="Payouts in doubt"
        columns={PAYOUT_COLUMNS}
        list={pending}
        rowKey={idOf}
        empty={null}
      />
    </Section>
  )
}

type Shown = (typeof STATUSES)[number][0]

function PayoutList({ status, onStatus }: { status: Shown; onStatus: (status: string) => void }) {
  const payouts = usePayouts(status)
  return (
    <Section
      title="Payouts"
      note="Of everybody, newest first."
      actions={
        <SelectField
          name="status"
          label="Status"
          value={status}
          choices={STATUSES}
          onChange={(event) => onStatus(event.target.value)}
        />
      }
    >
      <DataTable
        label="Payouts"
        columns={PAYOUT_COLUMNS}
        list={payouts}
        rowKey={idOf}
        empty={
          status === 'all' ? (
            <p className="soft">Nobody was paid yet.</p>
          ) : (
            <EmptyState
              title="No payout has this status"
              action={<Button onClick={() => onStatus('all')}>Show all</Button>}
            >
              <p>Others are not shown.</p>
            </EmptyState>
          )
        }
      />
    </Section>
  )
}

function idOf({ id }: { id: string }): string {
  return id
}

const RUN_COLUMNS: Column<Run>[] = [
  { head: 'Started', cell: ({ started_at }) => <Time at={started_at} /> },
  {
    head: 'By',
    wide_only: true,
    cell: ({ started_by }) => <span className="op-id">{started_by ?? 'daily'}</span>,
  },
  { head: 'Outcome', cell: ({ outcome }) => <Outcome outcome={outcome} /> },
  { head: 'Paid', align: 'end', wide_only: true, cell: ({ paid }) => orNone(paid) },
  { head: 'Failed', align: 'end', wide_only: true, cell: ({ failed }) => orNone(failed) },
  { head: 'In doubt', align: 'end', wide_only: true, cell: ({ pending }) => orNone(pending) },
  {
    head: 'Sum',
    align: 'end',
    cell: ({ paid_cents }) => (paid_cents === null ? '–' : formatCents(paid_cents)),
  },
]

function orNone(count: number | null): string {
  return count === null ? '–' : formatCount(count)
}

function Outcome({ outcome }: { outcome: string | null }) {
  if (outcome === null) return <Badge tone="warn">Running</Badge>
  if (outcome === 'done') return <Badge tone="good">Done</Badge>
  return <Badge tone="danger">{outcome.replaceAll('_', ' ')}</Badge>
}

const STATUS_TONES = { pending: 'warn', paid: 'good', failed: 'danger' } as const
const STATUS_WORDS = { pending: 'In doubt', paid: 'Paid', failed: 'Failed' }

const PAYOUT_COLUMNS: Column<Payout>[] = [
  {
    head: 'Developer',
    cell: ({ developer_id, developer_email, created_at }) => (
      <>
        <Link to={`/operate/users/${developer_id}`} className="op-id" title={developer_id}>
          {developer_email ?? developer_id}
        </Link>
        <span className="soft cell-note">
          <Time at={created_at} />
        </span>
      </>
    ),
  },
  {
    head: 'Status',
    cell: ({ status, failure_message, failure_code }) => (
      <>
        <Badge tone={STATUS_TONES[status]}>{STATUS_WORDS[status]}</Badge>
        {failure_code !== null && (
          <span className="soft cell-note">{failure_message ?? failure_code}</span>
        )}
      </>
    ),
  },
  {
    head: 'Earned',
    align: 'end',
    wide_only: true,
    cell: ({ gross_credits }) => <Money credits={gross_credits} />,
  },
  {
    head: 'Reserve',
    align: 'end',
    wide_only: true,
    cell: ({ reserve_credits }) => <Money credits={reserve_credits} />,
  },
  {
    head: 'Transfer',
    wide_only: true,
    cell: ({ stripe_transfer_id }) =>
      stripe_transfer_id === null ? (
        <span className="soft">None</span>
      ) : (
        <code className="op-id">{stripe_transfer_id}</code>
      ),
  },
  { head: 'Paid out', align: 'end', cell: ({ amount_cents }) => formatCents(amount_cents) },
]
