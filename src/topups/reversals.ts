// Refunds and disputes of top-ups. A refund takes back what the wallet has; a dispute freezes it until the bank decides.
// The top-up is locked by the caller, so that all of this happens one after the other.

import { queueNotice } from '../accounts/notices.ts'
import type { Tx } from '../platform/db.ts'
import { CREDITS_PER_CENT } from '../platform/money.ts'
import { freezeDisputed, releaseDisputed, takeDisputed, takeRefund } from '../wallet/reversals.ts'
import { switchOff } from './auto-store.ts'
import {
  addRefunded,
  closeDispute,
  type DisputeRow,
  findDispute,
  insertDispute,
  sumDisputed,
  type TopupRow,
} from './store.ts'
import type { TellingParts } from './topups.ts'

/** `refunded_cents` is all that was refunded so far: an event that comes late tells nothing new. */
export async function refundTopup(
  parts: TellingParts,
  tx: Tx,
  topup: TopupRow,
  refunded_cents: bigint,
): Promise<void> {
  const told = refunded_cents * CREDITS_PER_CENT - topup.refunded_credits
  const amount = least(told, await leftOf(tx, topup))
  if (amount <= 0n) return
  const { id: topup_id, account_id } = topup
  const at = parts.clock.now()
  const { taken } = await takeRefund(tx, { account_id, topup_id, amount, at })
  await addRefunded(tx, topup_id, amount)
  await tell(parts, tx, topup, {
    subject: 'A top-up was refunded',
    words: `A payment of yours is being refunded. We took back ${taken} credits.`,
  })
}

export type DisputeNews = { id: string; amount_cents: bigint; outcome: DisputeRow['state'] }

/** The news may come in any order: what is decided stays decided. */
export async function followDispute(
  parts: TellingParts,
  tx: Tx,
  topup: TopupRow,
  news: DisputeNews,
): Promise<void> {
  const known = await findDispute(tx, news.id)
  const dispute = known ?? (await openDispute(parts, tx, topup, news))
  if (dispute.state !== 'open' || news.outcome === 'open') return
  const { id: topup_id, account_id } = topup
  const { credits, frozen_credits: frozen } = dispute
  const at = parts.clock.now()
  await closeDispute(tx, news.id, { state: news.outcome, at })
  if (news.outcome === 'won') {
    await releaseDisputed(tx, { account_id, topup_id, amount: frozen, at })
    await tell(parts, tx, topup, {
      subject: 'A dispute was decided: the payment stands',
      words: `The bank decided that the payment stands. ${frozen} frozen credits are yours again.`,
    })
  } else {
    const { taken } = await takeDisputed(tx, { account_id, topup_id, amount: credits, frozen, at })
    await tell(parts, tx, topup, {
      subject: 'A dispute was decided: the payment was returned',
      words: `The bank returned the payment. ${taken} credits that were bought with it are gone.`,
    })
  }
}

async function openDispute(
  parts: TellingParts,
  tx: Tx,
  topup: TopupRow,
  news: DisputeNews,
): Promise<DisputeRow> {
  const { id: topup_id, account_id } = topup
  const at = parts.clock.now()
  const credits = least(news.amount_cents * CREDITS_PER_CENT, await leftOf(tx, topup))
  const is_open = news.outcome === 'open'
  // One that is decided when we first hear of it has nothing left to freeze.
  const amount = is_open ? credits : 0n
  const { frozen } = await freezeDisputed(tx, { account_id, topup_id, amount, at })
  await insertDispute(tx, { id: news.id, topup, credits, frozen, at })
  // The card may be a stolen one: it is not charged again because the balance fell.
  if (news.outcome !== 'won') await switchOff(tx, account_id, 'disputed')
  if (is_open) {
    await tell(parts, tx, topup, {
      subject: 'A payment of yours is disputed',
      words: `Your bank asked for a payment back. Until it decides, ${frozen} credits are frozen. Automatic top-up is switched off.`,
    })
  }
  return { credits, frozen_credits: frozen, state: 'open' }
}

/** What is neither refunded nor disputed. */
async function leftOf(tx: Tx, topup: TopupRow): Promise<bigint> {
  return topup.credits - topup.refunded_credits - (await sumDisputed(tx, topup.id))
}

async function tell(
  parts: TellingParts,
  tx: Tx,
  { id, account_id }: TopupRow,
  notice: { subject: string; words: string },
): Promise<void> {
  const words = `${notice.words}\n\nIt is about top-up ${id}.`
  await queueNotice(tx, { account_id, subject: notice.subject, words, at: parts.clock.now() })
  tx.afterCommit(parts.wakeMailSender)
}

function least(left: bigint, right: bigint): bigint {
  return left < right ? left : right
}
