// What a call came to: an estimate while it runs, then the exact figure, and the balance before and after.

import { Link } from 'wouter'
import { formatCount, formatCredits } from '../format.ts'
import { CreditAmount } from '../ui/figures.tsx'
import type { Charge } from './chat-call.ts'

export function RunningCost({ credits, before }: { credits: number; before: number | undefined }) {
  return (
    <p className="cost soft" data-ticker={credits}>
      <span>≈ {formatCredits(credits)} credits</span>
      {before !== undefined && (
        <span>
          Balance {formatCredits(before)} → ≈ {formatCredits(before - credits)}
        </span>
      )}
    </p>
  )
}

export function ExactCost(props: {
  charge: Charge
  first_token_ms?: number | undefined
  generation_id?: string | undefined
}) {
  const { charge, first_token_ms, generation_id } = props
  return (
    <p className="cost" data-exact={charge.credits_used}>
      <span>
        <strong className="settled">
          <CreditAmount credits={charge.credits_used} />
        </strong>{' '}
        credits
      </span>
      <span className="soft">
        Balance <CreditAmount credits={charge.balance_before} /> →{' '}
        <CreditAmount credits={charge.balance_after} />
      </span>
      {first_token_ms !== undefined && (
        <span className="soft">First token after {formatCount(first_token_ms)} ms</span>
      )}
      {generation_id !== undefined && (
        <Link to={`/usage?call=${encodeURIComponent(generation_id)}`}>Receipt</Link>
      )}
    </p>
  )
}
