// Journal transactions that touch no wallet: what the service owes, moves from one of its accounts to another.

import type { Tx } from '../platform/db.ts'
import { bucketOf } from './bucket.ts'
import { INSERT_LINES } from './store.ts'

export type Line = {
  account: 'dev_payable' | 'dev_reserve' | 'payout_clearing' | 'stripe_cash' | 'rounding'
  owner: string
  amount: bigint
}

export type LineKind = 'payout_claim' | 'payout_paid' | 'payout_failed' | 'payout_reversed'

/** Lines of zero credits are left out. The caller sees to it that the same thing is not posted twice. */
export async function postLines(
  tx: Tx,
  posting: { id: string; kind: LineKind; lines: readonly Line[] },
): Promise<void> {
  const lines = posting.lines.filter(({ amount }) => amount !== 0n)
  if (lines.reduce((sum, { amount }) => sum + amount, 0n) !== 0n) {
    throw new Error(`the lines of ${posting.kind} ${posting.id} do not sum to zero`)
  }
  await tx.run(INSERT_LINES, [
    bucketOf(posting.id),
    posting.id,
    posting.kind,
    lines.map(({ account }) => account),
    lines.map(({ owner }) => owner),
    lines.map(({ amount }) => amount),
  ])
}
