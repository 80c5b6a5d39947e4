// The mail that says that a balance runs low.

import { queueNotice } from '../accounts/notices.ts'
import type { Tx } from '../platform/db.ts'
import { formatDollars } from '../platform/money.ts'
import type { LowBalance } from './store.ts'

export async function tellLowBalance(
  tx: Tx,
  { account_id, balance, threshold }: LowBalance,
  at: Date,
): Promise<void> {
  await queueNotice(tx, {
    account_id,
    at,
    subject: `Your balance is below ${describe(threshold)}`,
    words: [
      `Your wallet has ${describe(balance)} left. Calls are refused when it is empty.`,
      'Top up with POST /account/topups, or let PUT /account/auto-topup do it.',
      'You are told once each time the balance falls below this amount. PATCH /account with "low_balance_credits" changes the amount; null stops these mails.',
    ].join('\n\n'),
  })
}

function describe(credits: number): string {
  return `${credits.toLocaleString('en')} credits (${formatDollars(BigInt(credits))})`
}
