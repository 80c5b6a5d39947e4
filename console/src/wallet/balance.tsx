// What the account has: to spend now, held by running calls, and given. With the quickest way to more.

import { useState } from 'react'
import { Link } from 'wouter'
import { goToCheckout } from '../topups/topups.ts'
import { Button } from '../ui/button.tsx'
import { Money } from '../ui/figures.tsx'
import { ProblemNotice } from '../ui/notice.tsx'
import type { Account } from './wallet.ts'

export function Balance({ account }: { account: Account }) {
  const { available, held, promotional, balance, low_balance_credits: low } = account
  return (
    <section className="balance" aria-labelledby="balance">
      <h2 id="balance" className="unseen">
        Balance
      </h2>
      <dl className="balance-sums">
        <div className="balance-main">
          <dt>Available</dt>
          <dd>
            <Money credits={available} />
          </dd>
        </div>
        <div>
          <dt>Balance</dt>
          <dd>
            <Money credits={balance} />
          </dd>
        </div>
        <div>
          <dt>Held by running calls</dt>
          <dd>
            <Money credits={held} />
          </dd>
        </div>
        <div>
          <dt>Promotional, spent first</dt>
          <dd>
            <Money credits={promotional} />
          </dd>
        </div>
      </dl>
      <QuickTopup topup={account.service.topup} />
      <p className="soft">
        {low === null ? (
          'No mail when the balance is low.'
        ) : (
          <>
            A mail comes when the balance falls below <Money credits={low} />.
          </>
        )}{' '}
        <Link to="/wallet?low_balance=true">Change</Link>
      </p>
    </section>
  )
}

function QuickTopup({ topup }: { topup: Account['service']['topup'] }) {
  const [busy, setBusy] = useState<number | undefined>()
  const [problem, setProblem] = useState<unknown>()
  if (topup === null) return null
  const buy = async (amount_usd: number) => {
    setBusy(amount_usd)
    setProblem(undefined)
    try {
      await goToCheckout({ amount_usd, save_payment_method: false })
    } catch (error) {
      setProblem(error)
      setBusy(undefined)
    }
  }
  return (
    <div className="quick">
      <h3>Top up</h3>
      <div className="row">
        {topup.suggested_usd.map((usd) => (
          <Button key={usd} busy={busy !== undefined} onClick={() => void buy(usd)}>
            ${usd}
          </Button>
        ))}
        <Link to="/topups">Another amount</Link>
      </div>
      <p className="soft">
        Leads to the payment page. <Link to="/topups">Automatic top-up</Link> does it for you.
      </p>
      {problem !== undefined && <ProblemNotice problem={problem} />}
    </div>
  )
}
