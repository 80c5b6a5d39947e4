// Buying credits: a checkout at the processor, and the credits once it has the money. A payment is credited once, however
// often and in whatever order it is told: the top-up's row is locked, and its state changes with the posting.

import { requireAccount } from '../accounts/accounts.ts'
import { queueNotice } from '../accounts/notices.ts'
import { readCursor, toPage } from '../http/schemas.ts'
import {
  forPerson,
  ProcessorError,
  requireProcessor,
  type WithProcessor,
} from '../payouts/processor.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import { CREDITS_PER_CENT } from '../platform/money.ts'
import { isUuid, mintId } from '../platform/tokens.ts'
import { mintWalletId } from '../wallet/bucket.ts'
import { topUp } from '../wallet/postings.ts'
import { formatCents, parseUsd } from './dollars.ts'
import {
  closeUnpaid,
  findPaidTopup,
  insertTopup,
  listTopups,
  markPaid,
  setSession,
  type TopupRow,
} from './store.ts'

export type TopupParts = WithProcessor & {
  db: Db
  clock: Clock
  log: Log
  public_url: string
  min_cents: bigint
  max_cents: bigint
  wakeMailSender: () => void
}

/** What every change that is told to its owner needs. */
export type TellingParts = Pick<TopupParts, 'clock' | 'log' | 'wakeMailSender'>

export async function startTopup(
  parts: TopupParts,
  account_id: string,
  wanted: { amount_usd: number; save_payment_method: boolean; return_to?: string },
): Promise<{ id: string; checkout_url: string }> {
  const processor = requireProcessor(parts)
  const amount_cents = parseUsd(wanted.amount_usd, { ...parts, name: 'amount_usd' })
  const { email } = await requireAccount(parts.db, account_id)
  const at = parts.clock.now()
  const { save_payment_method } = wanted
  const id = mintId({ at })
  await insertTopup(parts.db, {
    id,
    account_id,
    amount_cents,
    credits: amount_cents * CREDITS_PER_CENT,
    source: 'checkout',
    save_payment_method,
    at,
  })
  const way_back = `${parts.public_url}${wanted.return_to ?? '/account/topups/return'}`
  const making = processor.createCheckout({
    amount_cents,
    email,
    topup_id: id,
    save_payment_method,
    success_url: `${way_back}?result=paid&topup_id=${id}`,
    cancel_url: `${way_back}?result=canceled&topup_id=${id}`,
  })
  const checkout = await forPerson(
    making.catch(async (error: unknown) => {
      const code = error instanceof ProcessorError ? error.code : 'internal_error'
      await closeUnpaid(parts.db, id, { state: 'failed', code, at })
      throw error
    }),
  )
  await setSession(parts.db, id, checkout.id)
  return { id, checkout_url: checkout.url }
}

/** The paid top-up of that id, and who paid it. */
export async function readOwnReceipt(
  { db }: Pick<TopupParts, 'db'>,
  account_id: string,
  id: string,
): Promise<{ topup: TopupRow; email: string }> {
  const topup = isUuid(id) ? await findPaidTopup(db, { id, account_id }) : undefined
  if (!topup) throw new ApiError('not_found', { message: 'You have no paid top-up of that id.' })
  const { email } = await requireAccount(db, account_id)
  return { topup, email }
}

export async function listOwnTopups(
  { db }: Pick<TopupParts, 'db'>,
  account_id: string,
  page: { cursor: string | undefined; limit: number },
) {
  const before_id = readCursor(page.cursor)
  const rows = await listTopups(db, account_id, { before_id, count: page.limit + 1 })
  return toPage(rows, page.limit, (row) => row.id)
}

export type Money = { id: string; amount_cents: bigint; currency: string }

/**
 * The processor has the money. Also credits what was given up before: money that came is owed. The top-up is locked by
 * the caller. Answers whether it stands credited now.
 */
export async function creditTopup(
  parts: TellingParts,
  tx: Tx,
  topup: TopupRow,
  payment: Money,
): Promise<boolean> {
  if (topup.state === 'paid') {
    if (payment.id === topup.stripe_payment_intent_id) return true
    parts.log.error(
      { alarm: 'topups', topup_id: topup.id, payment_id: payment.id },
      'a top-up was paid a second time: nothing is credited, refund the payment',
    )
    return false
  }
  if (payment.amount_cents !== topup.amount_cents || payment.currency !== 'usd') {
    parts.log.error(
      { alarm: 'topups', topup_id: topup.id, payment_id: payment.id },
      'another amount was paid than was asked for: nothing is credited',
    )
    return false
  }
  const at = parts.clock.now()
  const dollars = formatCents(topup.amount_cents)
  const is_automatic = topup.source === 'automatic'
  // The id is of today and not of the day of the checkout: a month that is sealed since would refuse it.
  const posted = await topUp(tx, {
    id: mintWalletId(topup.account_id, at),
    account_id: topup.account_id,
    amount: topup.credits,
    description: `${is_automatic ? 'Automatic top-up' : 'Top-up'} ${dollars}`,
  })
  await markPaid(tx, topup.id, { payment_id: payment.id, at })
  const has_owner = await queueNotice(tx, {
    account_id: topup.account_id,
    subject: `Receipt: ${topup.credits} credits for ${dollars}`,
    words: [
      is_automatic
        ? `Your balance fell below the threshold you set, so we charged ${dollars} to your saved payment method.`
        : `Thank you. We have received ${dollars}.`,
      `${topup.credits} credits were added. Your balance is now ${posted.balance_after} credits.`,
      `Top-up ${topup.id}, transaction ${posted.id}, ${at.toISOString()}.`,
    ].join('\n\n'),
    at,
  })
  if (!has_owner) {
    parts.log.error(
      { alarm: 'topups', topup_id: topup.id, payment_id: payment.id },
      'a payment came for an account that is deleted: nobody can spend it, refund it',
    )
  }
  tx.afterCommit(parts.wakeMailSender)
  return true
}
