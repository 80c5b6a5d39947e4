// /topups: buying credits, by hand and automatically, and what was bought. The checkout leads back here with
// ?result= and ?topup_id=.

import { useEffect, useRef } from 'react'
import { useAccount } from '../queries.ts'
import { Badge, Money, Time } from '../ui/figures.tsx'
import { ProblemNotice, Skeleton } from '../ui/notice.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { oneOf, text, useUrlState } from '../url-state.ts'
import { AutoTopupSection } from './auto-topup.tsx'
import { BuyForm } from './buy-form.tsx'
import { describeFailure } from './failures.ts'
import { ResultNotice } from './result-notice.tsx'
import './topups.css'
import { readPaymentsAgain, type Topup, useTopups } from './topups.ts'

const VIEW = { result: oneOf(['', 'paid', 'canceled'], ''), topup_id: text() }

export default function TopupsPage() {
  const [{ result, topup_id }, setView] = useUrlState(VIEW)
  const account = useAccount()
  const topups = useTopups()
  const returned = topups.pages?.flat().find((topup) => topup.id === topup_id)
  useFreshBalance(returned?.state)
  return (
    <>
      <PageHead
        title="Top-ups"
        lead="Buy credits by hand, or let a saved payment method keep your balance up."
      />
      {result !== '' && topups.pages && (
        <ResultNotice
          result={result}
          topup={returned}
          onClose={() => setView({ result: '', topup_id: '' }, { replace: true })}
        />
      )}
      {account.error && <ProblemNotice problem={account.error} />}
      {account.isPending && <Skeleton />}
      {account.data && <Offer topup={account.data.service.topup} />}
      <section className="bought" aria-labelledby="bought">
        <h2 id="bought">Your top-ups</h2>
        <DataTable
          label="Top-ups"
          columns={COLUMNS}
          list={topups}
          rowKey={topupId}
          empty={<p className="soft">None yet. What you buy is listed here, with its receipt.</p>}
        />
      </section>
    </>
  )
}

type OfferProps = {
  topup: { min_usd: number; max_usd: number; suggested_usd: number[] } | null
}

function Offer({ topup }: OfferProps) {
  if (topup === null) {
    return (
      <p className="result">
        This service has no payment processor set up, so credits cannot be bought here yet. Its
        operator can add it: <code>STRIPE_SECRET_KEY</code> and <code>STRIPE_WEBHOOK_SECRET</code>.
      </p>
    )
  }
  return (
    <div className="topup-parts">
      <section className="topup-part" aria-labelledby="buy">
        <header className="part-title">
          <h2 id="buy">Buy credits</h2>
        </header>
        <BuyForm offer={topup} />
      </section>
      <AutoTopupSection bounds={topup} />
    </div>
  )
}

/** The payment arrived while somebody looked: the balance in the bar is old. */
function useFreshBalance(state: Topup['state'] | undefined): void {
  const before = useRef(state)
  useEffect(() => {
    if (before.current === 'pending' && state === 'paid') void readPaymentsAgain()
    before.current = state
  }, [state])
}

function topupId(topup: Topup): string {
  return topup.id
}

const COLUMNS: Column<Topup>[] = [
  { head: 'When', wide_only: true, cell: ({ created_at }) => <Time at={created_at} /> },
  {
    head: 'How',
    wide_only: true,
    cell: ({ source }) => (source === 'automatic' ? 'Automatically' : 'By hand'),
  },
  {
    head: 'Amount',
    cell: ({ credits, created_at, source }) => (
      <>
        <Money credits={credits} />
        <span className="soft cell-note narrow-only">
          <Time at={created_at} />
          {source === 'automatic' && ', automatically'}
        </span>
      </>
    ),
  },
  { head: 'State', cell: (topup) => <State topup={topup} /> },
  {
    head: 'Receipt',
    align: 'end',
    head_unseen: true,
    cell: ({ receipt_url, credits }) =>
      receipt_url !== null && (
        <a href={receipt_url} target="_blank" rel="noopener">
          Receipt
          <span className="unseen">
            {' '}
            of <Money credits={credits} />, in a new tab
          </span>
        </a>
      ),
  },
]

const STATES = {
  pending: ['plain', 'Waiting for payment'],
  paid: ['good', 'Paid'],
  failed: ['danger', 'Failed'],
  expired: ['plain', 'Not finished'],
} as const

function State({ topup }: { topup: Topup }) {
  const { refunded_credits: refunded, credits, failure_code } = topup
  const [tone, words] = STATES[topup.state]
  if (refunded >= credits && refunded > 0) return <Badge tone="warn">Refunded</Badge>
  return (
    <>
      <Badge tone={tone}>{words}</Badge>
      {refunded > 0 && (
        <span className="soft cell-note">
          <Money credits={refunded} /> refunded
        </span>
      )}
      {failure_code !== null && (
        <span className="soft cell-note">{describeFailure(failure_code)}</span>
      )}
    </>
  )
}
