// Every payout: for which time, what it was made of, and what became of it.

import { formatCents } from '../format.ts'
import { Badge, Money, Time } from '../ui/figures.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { type Payout, usePayouts } from './earnings.ts'

export function PayoutsTable() {
  const payouts = usePayouts()
  return (
    // Unnamed: the table has the name already, and is a landmark while it scrolls.
    <section>
      <h2 className="section-title">Payouts</h2>
      <DataTable
        label="Payouts"
        columns={COLUMNS}
        list={payouts}
        rowKey={payoutId}
        empty={
          <p className="soft">
            None yet. The first goes out once $10.00 have been earned and are seven days old.
          </p>
        }
      />
    </section>
  )
}

function payoutId(payout: Payout): string {
  return payout.id
}

const COLUMNS: readonly Column<Payout>[] = [
  { head: 'Made', cell: ({ created_at }) => <Time at={created_at} as="day" /> },
  {
    head: 'Earned',
    wide_only: true,
    cell: ({ period_start, period_end }) => (
      <>
        <Time at={period_start} as="day" /> to <Time at={period_end} as="day" />
      </>
    ),
  },
  {
    head: 'Gross',
    align: 'end',
    wide_only: true,
    cell: ({ gross_amount_credits }) => <Money credits={gross_amount_credits} />,
  },
  {
    head: 'Reserve',
    align: 'end',
    wide_only: true,
    cell: ({ reserve_amount_credits, reserve_release_at }) => (
      <>
        <Money credits={reserve_amount_credits} />
        {reserve_release_at !== null && (
          <span className="soft cell-note">
            released <Time at={reserve_release_at} as="day" />
          </span>
        )}
      </>
    ),
  },
  {
    head: 'Transferred',
    align: 'end',
    cell: ({ amount_cents }) => formatCents(amount_cents),
  },
  { head: 'Status', cell: (payout) => <PayoutStatus payout={payout} /> },
]

const TONES = { paid: 'good', pending: 'warn', failed: 'danger' } as const

function PayoutStatus({ payout }: { payout: Payout }) {
  const { status, failure_reason, failure_code } = payout
  return (
    <>
      <Badge tone={TONES[status]}>{status}</Badge>
      {status === 'failed' && (
        <span className="cell-note">
          {failure_reason ?? failure_code} What was in it goes out with the next payout.
        </span>
      )}
    </>
  )
}
