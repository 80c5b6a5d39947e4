// Charges saved payment methods when balances are low. One charge of an account is open at a time: its row is there before
// the processor is asked, and stays pending until it is known what became of it. A repeat asks with the same key.

import { queueNotice } from '../accounts/notices.ts'
import {
  type Payment,
  type Processor,
  ProcessorError,
  type SavedCharge,
} from '../payouts/processor.ts'
import type { Tx } from '../platform/db.ts'
import { CREDITS_PER_CENT } from '../platform/money.ts'
import { mintId } from '../platform/tokens.ts'
import { readBalance } from '../wallet/postings.ts'
import {
  type AutoTopupRow,
  claimOpen,
  listDue,
  lockAuto,
  noteCeilingTold,
  sumAutomatic,
  switchOff,
} from './auto-store.ts'
import { formatCents } from './dollars.ts'
import { closeUnpaid, insertTopup, lockTopup, type TopupRow } from './store.ts'
import { creditTopup, type TellingParts, type TopupParts } from './topups.ts'

export type ChargeParts = Pick<TopupParts, 'db' | 'clock' | 'log' | 'wakeMailSender' | 'processor'>

const NO_ID = '00000000-0000-0000-0000-000000000000'
const AT_ONCE = 8
const ROUNDS_MAX = 1_000
/** Whoever made the row charges it; after this, others ask what became of it. */
const FIRST_LOOK_MS = 60_000
/** The processor forgets keys after a day: a repeat then would be a second charge. */
const KEY_LIFE_MS = 23 * 3_600_000

export async function chargeDue(parts: ChargeParts, signal: AbortSignal): Promise<void> {
  const { processor, db, clock } = parts
  if (!processor) return
  let after_id = NO_ID
  for (let round = 0; round < ROUNDS_MAX && !signal.aborted; round++) {
    const due = await listDue(db, { after_id, at: clock.now(), count: AT_ONCE })
    const last = due.at(-1)
    if (last === undefined) return
    after_id = last
    await Promise.all(due.map((account_id) => chargeOne(parts, processor, account_id)))
  }
}

/** Asks what became of charges that got no clear answer. */
export async function followOpen(parts: ChargeParts, signal: AbortSignal): Promise<void> {
  const { processor, db, clock } = parts
  if (!processor) return
  for (let round = 0; round < ROUNDS_MAX && !signal.aborted; round++) {
    const open = await claimOpen(db, clock.now(), AT_ONCE)
    if (open.length === 0) return
    await Promise.all(
      open.map((topup) => settle(parts, topup, () => look(parts, processor, topup))),
    )
  }
}

async function chargeOne(
  parts: ChargeParts,
  processor: Processor,
  account_id: string,
): Promise<void> {
  const topup = await parts.db.transaction((tx) => openCharge(parts, tx, account_id))
  if (topup) await settle(parts, topup, () => processor.chargeSaved(chargeOf(topup)))
}

/** Undefined: it is not due any more, one is open already, or the ceiling is reached. */
async function openCharge(
  parts: ChargeParts,
  tx: Tx,
  account_id: string,
): Promise<TopupRow | undefined> {
  const at = parts.clock.now()
  const wish = await lockAuto(tx, account_id)
  const wallet = await readBalance(tx, account_id)
  const is_low = wallet !== undefined && wallet.balance < (wish?.threshold_credits ?? 0n)
  if (!wish?.enabled || !is_low) return undefined
  const { stripe_customer_id, stripe_payment_method_id, amount_cents } = wish
  if (stripe_customer_id === null || stripe_payment_method_id === null) return undefined
  const charged = await sumAutomatic(tx, account_id, at)
  if (charged + amount_cents > wish.monthly_ceiling_cents) {
    await tellCeiling(parts, tx, account_id, wish)
    return undefined
  }
  return await insertTopup(tx, {
    id: mintId({ at }),
    account_id,
    amount_cents,
    credits: amount_cents * CREDITS_PER_CENT,
    source: 'automatic',
    stripe_customer_id,
    stripe_payment_method_id,
    next_look_at: new Date(at.getTime() + FIRST_LOOK_MS),
    at,
  })
}

async function look(
  parts: ChargeParts,
  processor: Processor,
  topup: TopupRow,
): Promise<Payment | 'never_made'> {
  const found = await processor.findPayment(chargeOf(topup), topup.created_at)
  if (found) return found
  const age_ms = parts.clock.now().getTime() - topup.created_at.getTime()
  return age_ms < KEY_LIFE_MS ? await processor.chargeSaved(chargeOf(topup)) : 'never_made'
}

async function settle(
  parts: ChargeParts,
  topup: TopupRow,
  ask: () => Promise<Payment | 'never_made'>,
): Promise<void> {
  try {
    const answer = await ask()
    if (answer === 'never_made') await failCharge(parts, topup.id, 'no_answer')
    else await settlePayment(parts, topup.id, answer)
  } catch (error) {
    if (!(error instanceof ProcessorError)) throw error
    parts.log.warn({ err: error, topup_id: topup.id }, 'automatic top-up')
    if (saysNo(error)) await failCharge(parts, topup.id, error.code)
  }
}

/** An operator's wrong credential is no fault of the owner: what they set stays on, and it is tried again. */
function saysNo({ reason }: ProcessorError): boolean {
  return reason !== 'unknown' && reason !== 'unauthorized'
}

async function settlePayment(parts: ChargeParts, id: string, payment: Payment): Promise<void> {
  if (payment.status === 'open') return
  if (payment.status === 'failed') {
    await failCharge(parts, id, payment.failure_code ?? 'failed')
    return
  }
  await parts.db.transaction(async (tx) => {
    const topup = await lockTopup(tx, id)
    if (topup) await creditTopup(parts, tx, topup, payment)
  })
}

async function failCharge(parts: ChargeParts, id: string, code: string): Promise<void> {
  await parts.db.transaction(async (tx) => {
    const topup = await lockTopup(tx, id)
    if (topup) await declineAutomatic(parts, tx, topup, code)
  })
}

/** What was declined is not tried again: the owner is told, and decides. The top-up is locked by the caller. */
export async function declineAutomatic(
  parts: TellingParts,
  tx: Tx,
  topup: TopupRow,
  code: string,
): Promise<void> {
  const at = parts.clock.now()
  if (!(await closeUnpaid(tx, topup.id, { state: 'failed', code, at }))) return
  await switchOff(tx, topup.account_id, code)
  await queueNotice(tx, {
    account_id: topup.account_id,
    subject: 'An automatic top-up failed',
    words: [
      `We could not charge ${formatCents(topup.amount_cents)} to your saved payment method (${code}).`,
      'Automatic top-up is switched off, and your balance stays as it is.',
      'Top up by hand with another payment method, have it saved, and switch automatic top-up on again.',
    ].join('\n\n'),
    at,
  })
  tx.afterCommit(parts.wakeMailSender)
}

async function tellCeiling(
  parts: ChargeParts,
  tx: Tx,
  account_id: string,
  wish: AutoTopupRow,
): Promise<void> {
  const at = parts.clock.now()
  await noteCeilingTold(tx, account_id, at)
  await queueNotice(tx, {
    account_id,
    subject: 'Automatic top-up has reached its monthly ceiling',
    words: [
      `Your balance is below the threshold, but another ${formatCents(wish.amount_cents)} would exceed the ceiling of ${formatCents(wish.monthly_ceiling_cents)} a month that you set.`,
      'Nothing was charged. It goes on next month, or when you raise the ceiling.',
    ].join('\n\n'),
    at,
  })
  tx.afterCommit(parts.wakeMailSender)
}

function chargeOf(topup: TopupRow): SavedCharge {
  return {
    topup_id: topup.id,
    amount_cents: topup.amount_cents,
    customer_id: topup.stripe_customer_id ?? '',
    payment_method_id: topup.stripe_payment_method_id ?? '',
  }
}
