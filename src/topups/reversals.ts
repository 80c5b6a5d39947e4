// Refunds and disputes of top-ups. A refund takes back what the wallet has; a dispute freezes it until the bank decides.
// Both can end otherwise later: a refund fails, a bank gives the money of a lost dispute back. The top-up is locked by the
// caller, so that all of this happens one after the other.

import { queueNotice } from '../accounts/notices.ts'
import type { Dispute, Refund } from '../payouts/processor.ts'
import type { Tx } from '../platform/db.ts'
import { CREDITS_PER_CENT } from '../platform/money.ts'
import {
  freezeDisputed,
  releaseDisputed,
  type Taken,
  takeDisputed,
  takeRefund,
  undoDisputeLost,
  undoRefund,
} from '../wallet/reversals.ts'
import { switchOff } from './auto-store.ts'
import {
  addRefunded,
  closeDispute,
  type DisputeRow,
  failRefund,
  findDispute,
  insertDispute,
  insertRefund,
  listRefunds,
  type RefundRow,
  setReinstated,
  sumDisputed,
} from './reversal-store.ts'
import type { TopupRow } from './store.ts'
import type { TellingParts } from './topups.ts'

const NOTHING: Taken = { taken: 0n, promotional: 0n }

/**
 * All refunds of the payment, as the processor has them. Each is taken once, and given back once if it failed. Failed is
 * the last that a refund can be, so an older look that comes later changes nothing.
 */
export async function followRefunds(
  parts: TellingParts,
  tx: Tx,
  topup: TopupRow,
  refunds: readonly Refund[],
): Promise<void> {
  const rows = await listRefunds(tx, topup.id)
  const known = new Map(rows.map((row) => [row.stripe_refund_id, row]))
  let left = await leftOf(tx, topup)
  // Those that failed first: what they give back, a second refund may ask for.
  for (const { id } of refunds.filter(({ has_failed }) => has_failed)) {
    const row = known.get(id)
    if (!row) await noteRefund(parts, tx, topup, { id, credits: 0n, ...NOTHING, state: 'failed' })
    if (row?.state !== 'done') continue
    await giveRefundBack(parts, tx, topup, row)
    left += row.credits
  }
  for (const { id, amount_cents } of refunds.filter((refund) => !refund.has_failed)) {
    if (known.has(id)) continue
    const credits = least(amount_cents * CREDITS_PER_CENT, left)
    await takeRefundBack(parts, tx, topup, { id, credits })
    left -= credits
  }
}

async function takeRefundBack(
  parts: TellingParts,
  tx: Tx,
  topup: TopupRow,
  { id, credits }: { id: string; credits: bigint },
): Promise<void> {
  const { id: topup_id, account_id } = topup
  const at = parts.clock.now()
  const { taken, promotional } = await takeRefund(tx, {
    account_id,
    topup_id,
    amount: credits,
    at,
  })
  await noteRefund(parts, tx, topup, { id, credits, taken, promotional, state: 'done' })
  if (credits === 0n) return
  await addRefunded(tx, topup_id, credits)
  // Else the balance that fell would charge the same card again at once.
  await switchOff(tx, account_id, 'refunded')
  await tell(parts, tx, topup, {
    subject: 'A top-up was refunded',
    words: `A payment of yours is being refunded. We took back ${taken} credits. Automatic top-up is switched off.`,
  })
}

/** The payer has neither the money nor, so far, the credits. How they get the money is for an operator to see to. */
async function giveRefundBack(
  parts: TellingParts,
  tx: Tx,
  topup: TopupRow,
  { stripe_refund_id, credits, taken_credits: taken, taken_promotional: promotional }: RefundRow,
): Promise<void> {
  const { id: topup_id, account_id } = topup
  const at = parts.clock.now()
  await undoRefund(tx, { account_id, topup_id, amount: credits, taken, promotional, at })
  await failRefund(tx, stripe_refund_id, at)
  await addRefunded(tx, topup_id, -credits)
  parts.log.error(
    { alarm: 'topups', topup_id, refund_id: stripe_refund_id, credits: Number(taken) },
    'a refund failed: its credits are back in the wallet',
  )
  await tell(parts, tx, topup, {
    subject: 'A refund failed',
    words: `Your bank did not take a refund of ours. ${taken} credits are yours again.`,
  })
}

async function noteRefund(
  { clock }: TellingParts,
  tx: Tx,
  topup: TopupRow,
  refund: Taken & { id: string; credits: bigint; state: RefundRow['state'] },
): Promise<void> {
  const { id: stripe_refund_id, credits, taken: taken_credits, state } = refund
  const taken_promotional = refund.promotional
  const row = { stripe_refund_id, credits, taken_credits, taken_promotional, state }
  await insertRefund(tx, { ...row, topup_id: topup.id, at: clock.now() })
}

export type DisputeNews = Omit<Dispute, 'state'> & { state: DisputeRow['state'] }

/** The news may come in any order. What is decided stays decided, but for money of a lost one that comes back. */
export async function followDispute(
  parts: TellingParts,
  tx: Tx,
  topup: TopupRow,
  news: DisputeNews,
): Promise<void> {
  const known = await findDispute(tx, news.id)
  const dispute = known ?? (await openDispute(parts, tx, topup, news))
  if (dispute.state === 'lost') return await reinstate(parts, tx, topup, { dispute, news })
  if (dispute.state === 'won' && news.state === 'lost') {
    const about = { alarm: 'topups', topup_id: topup.id, dispute_id: news.id }
    parts.log.error(
      about,
      'a dispute that was won is lost: nothing is taken, look at the processor',
    )
  }
  if (dispute.state !== 'open' || news.state === 'open') return
  await close(parts, tx, topup, { dispute, news })
}

type Decided = { dispute: DisputeRow; news: DisputeNews }

async function close(
  parts: TellingParts,
  tx: Tx,
  topup: TopupRow,
  { dispute, news }: Decided,
): Promise<void> {
  const { id: topup_id, account_id } = topup
  const { credits, frozen_credits: frozen, taken_promotional: promotional } = dispute
  const at = parts.clock.now()
  if (news.state === 'won') {
    await closeDispute(tx, news.id, { state: 'won', ...NOTHING, at })
    await releaseDisputed(tx, { account_id, topup_id, amount: frozen, promotional, at })
    await tell(parts, tx, topup, {
      subject: 'A dispute was decided: the payment stands',
      words: `The bank decided that the payment stands. ${frozen} frozen credits are yours again.`,
    })
    return
  }
  const held = { frozen, promotional }
  const lost = await takeDisputed(tx, { account_id, topup_id, amount: credits, ...held, at })
  await closeDispute(tx, news.id, { state: 'lost', ...lost, at })
  await tell(parts, tx, topup, {
    subject: 'A dispute was decided: the payment was returned',
    words: `The bank returned the payment. ${lost.taken} credits that were bought with it are gone.`,
  })
}

/** A lost dispute whose money comes back whole is undone. Of a part nobody can say whose it is: an operator decides. */
async function reinstate(
  parts: TellingParts,
  tx: Tx,
  topup: TopupRow,
  { dispute, news }: Decided,
): Promise<void> {
  const { id: topup_id, account_id } = topup
  const { credits, taken_credits: taken, taken_promotional: promotional } = dispute
  const { reinstated_cents } = news
  const about = { topup_id, dispute_id: news.id, reinstated_cents: Number(reinstated_cents) }
  if (news.state !== 'won' && reinstated_cents < news.amount_cents) {
    if (reinstated_cents <= dispute.reinstated_cents) return
    await setReinstated(tx, news.id, reinstated_cents)
    parts.log.error(
      { alarm: 'topups', ...about },
      'a part of a lost dispute came back: nothing is credited, an operator decides',
    )
    return
  }
  const at = parts.clock.now()
  await undoDisputeLost(tx, { account_id, topup_id, amount: credits, taken, promotional, at })
  await closeDispute(tx, news.id, { state: 'won', ...NOTHING, at })
  await setReinstated(tx, news.id, reinstated_cents)
  parts.log.warn(about, 'a lost dispute was reversed: its credits are back in the wallet')
  await tell(parts, tx, topup, {
    subject: 'A dispute was reversed: the payment stands after all',
    words: `The bank gave the payment back to us. ${taken} credits are yours again.`,
  })
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
  const is_open = news.state === 'open'
  // One that is decided when we first hear of it has nothing left to freeze.
  const amount = is_open ? credits : 0n
  const { frozen, promotional } = await freezeDisputed(tx, { account_id, topup_id, amount, at })
  await insertDispute(tx, { id: news.id, topup, credits, frozen, promotional, at })
  // The card may be a stolen one: it is not charged again because the balance fell.
  if (news.state !== 'won') await switchOff(tx, account_id, 'disputed')
  if (is_open) {
    await tell(parts, tx, topup, {
      subject: 'A payment of yours is disputed',
      words: `Your bank asked for a payment back. Until it decides, ${frozen} credits are frozen. Automatic top-up is switched off.`,
    })
  }
  const undecided = { taken_credits: 0n, reinstated_cents: 0n, state: 'open' } as const
  return { credits, frozen_credits: frozen, taken_promotional: promotional, ...undecided }
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
