// Compares our payouts with the processor's list of transfers, both ways, and names every difference.

import type { Stripe } from 'stripe'
import type { Db } from '../platform/db.ts'
import { isUuid } from '../platform/tokens.ts'
import { type PayoutRow, SELECT_PAYOUTS_BY_ID, SELECT_PAYOUTS_IN_STATUS } from './store.ts'

const PAGE = 100

export type Reconciliation = {
  transfers: number
  payouts: number
  /** Less what came back. */
  transferred_cents: bigint
  paid_cents: bigint
  differences: string[]
}

export async function reconcile(
  { db, stripe }: { db: Db; stripe: Stripe },
  onProgress: (done: number) => void = () => {},
): Promise<Reconciliation> {
  const result: Reconciliation = {
    transfers: 0,
    payouts: 0,
    transferred_cents: 0n,
    paid_cents: 0n,
    differences: [],
  }
  // Ids only: a million of them are some ten megabytes.
  const seen = new Set<string>()
  for await (const page of transferPages(stripe)) {
    const ids = page.map(payoutIdOf).filter((id) => id !== undefined)
    const rows = await db.run(SELECT_PAYOUTS_BY_ID, [ids])
    const payouts = new Map(rows.map((row) => [row.id, row]))
    for (const transfer of page) {
      seen.add(transfer.id)
      result.transfers++
      result.transferred_cents += BigInt(transfer.amount - transfer.amount_reversed)
      const difference = compare(transfer, payouts.get(payoutIdOf(transfer) ?? ''))
      if (difference !== undefined) result.differences.push(difference)
    }
    onProgress(result.transfers)
  }
  await comparePayouts(db, seen, result)
  return result
}

async function* transferPages(stripe: Stripe): AsyncGenerator<Stripe.Transfer[]> {
  let starting_after: string | undefined
  for (;;) {
    const after = starting_after === undefined ? {} : { starting_after }
    const { data, has_more } = await stripe.transfers.list({ limit: PAGE, ...after })
    yield data
    starting_after = data.at(-1)?.id
    if (!has_more || starting_after === undefined) return
  }
}

function payoutIdOf(transfer: Stripe.Transfer): string | undefined {
  const id = transfer.metadata['payout_id']
  return id !== undefined && isUuid(id) ? id : undefined
}

function compare(transfer: Stripe.Transfer, payout: PayoutRow | undefined): string | undefined {
  const name = `transfer ${transfer.id} of ${transfer.amount} cents`
  if (!payout) return `${name}: no payout of ours`
  const of = `${name}: payout ${payout.id}`
  if (BigInt(transfer.amount) !== payout.amount_cents) return `${of} is of ${payout.amount_cents}`
  if (transfer.currency !== payout.currency) return `${of} is in ${payout.currency}`
  if (transfer.destination !== payout.stripe_account_id) {
    return `${of} was for ${payout.stripe_account_id}`
  }
  if (transfer.id !== (payout.stripe_transfer_id ?? transfer.id)) {
    return `${of} was paid by ${payout.stripe_transfer_id}`
  }
  if (payout.status === 'pending') return `${of} is pending here`
  const came_back = transfer.amount_reversed === transfer.amount
  if (payout.status === 'failed' && !came_back) return `${of} has failed here`
  if (payout.status === 'paid' && transfer.amount_reversed > 0) {
    return `${of} is paid here, and ${transfer.amount_reversed} cents came back`
  }
  return undefined
}

async function comparePayouts(
  db: Db,
  seen: ReadonlySet<string>,
  result: Reconciliation,
): Promise<void> {
  let before: string | null = null
  for (;;) {
    const page: PayoutRow[] = await db.run(SELECT_PAYOUTS_IN_STATUS, [before, PAGE, 'paid'])
    for (const { id, amount_cents, stripe_transfer_id } of page) {
      result.payouts++
      result.paid_cents += amount_cents
      if (stripe_transfer_id !== null && seen.has(stripe_transfer_id)) continue
      result.differences.push(
        `payout ${id} of ${amount_cents} cents: the processor has no transfer ${stripe_transfer_id}`,
      )
    }
    before = page.at(-1)?.id ?? null
    if (page.length < PAGE) return
  }
}
