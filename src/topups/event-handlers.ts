// What events of payments do: credit, give up, refund, freeze.

import type { Stripe } from 'stripe'
import { type Payment, requireProcessor } from '../payouts/processor.ts'
import type { EventHandlers, EventWork } from '../payouts/stripe-events.ts'
import { disputeState, idOf, toPayment } from '../payouts/stripe-shapes.ts'
import type { Tx } from '../platform/db.ts'
import { isUuid } from '../platform/tokens.ts'
import { savePaymentMethod } from './auto-store.ts'
import { declineAutomatic } from './automatic-charges.ts'
import { followDispute, followRefunds } from './reversals.ts'
import { closeUnpaid, findTopupOfPayment, lockTopup, type TopupRow } from './store.ts'
import { creditTopup, type TopupParts } from './topups.ts'

export type TopupEventParts = Pick<
  TopupParts,
  'db' | 'clock' | 'log' | 'wakeMailSender' | 'processor'
>

export function topupEventHandlers(parts: TopupEventParts): EventHandlers {
  const checkout = (end?: 'failed' | 'expired') => ({
    from: 'platform' as const,
    prepare: ({ data }: { data: { object: Stripe.Checkout.Session } }) =>
      end === undefined ? paid(parts, data.object) : unpaid(parts, data.object, end),
  })
  const payment = {
    from: 'platform' as const,
    prepare: ({ data }: { data: { object: Stripe.PaymentIntent } }) =>
      automaticDecided(parts, toPayment(data.object)),
  }
  const refund = {
    from: 'platform' as const,
    prepare: ({ data }: { data: { object: Stripe.Charge | Stripe.Refund } }) =>
      refunded(parts, idOf(data.object.payment_intent)),
  }
  const dispute = {
    from: 'platform' as const,
    prepare: ({ data }: { data: { object: Stripe.Dispute } }) => disputed(parts, data.object),
  }
  return {
    'checkout.session.completed': checkout(),
    'checkout.session.async_payment_succeeded': checkout(),
    'checkout.session.async_payment_failed': checkout('failed'),
    'checkout.session.expired': checkout('expired'),
    'payment_intent.succeeded': payment,
    'payment_intent.payment_failed': payment,
    'charge.refunded': refund,
    'refund.updated': refund,
    'refund.failed': refund,
    'charge.dispute.created': dispute,
    'charge.dispute.funds_withdrawn': dispute,
    'charge.dispute.funds_reinstated': dispute,
    'charge.dispute.closed': dispute,
  }
}

/** A bank debit completes its checkout before the money is there: that is told by another event. */
async function paid(
  parts: TopupEventParts,
  session: Stripe.Checkout.Session,
): Promise<EventWork | undefined> {
  const topup_id = topupOf(session)
  const payment_id = idOf(session.payment_intent)
  if (topup_id === undefined || payment_id === undefined) return undefined
  if (session.payment_status !== 'paid') return undefined
  // What is saved is known to the payment only.
  const saves = idOf(session.customer) !== undefined
  const payment = saves ? await requireProcessor(parts).readPayment(payment_id) : undefined
  return async (tx) => {
    const topup = await lockTopup(tx, topup_id)
    if (!topup) return
    const money = {
      id: payment_id,
      amount_cents: BigInt(session.amount_total ?? 0),
      currency: session.currency ?? '',
    }
    const is_credited = await creditTopup(parts, tx, topup, money)
    if (is_credited && payment) await keepPaymentMethod(tx, topup, payment)
  }
}

async function keepPaymentMethod(tx: Tx, topup: TopupRow, payment: Payment): Promise<void> {
  const { customer_id, payment_method_id, payment_method_label: label } = payment
  if (!topup.save_payment_method || customer_id === undefined || payment_method_id === undefined) {
    return
  }
  await savePaymentMethod(tx, topup.account_id, { customer_id, payment_method_id, label })
}

async function unpaid(
  { clock }: TopupEventParts,
  session: Stripe.Checkout.Session,
  state: 'failed' | 'expired',
): Promise<EventWork | undefined> {
  const id = topupOf(session)
  if (id === undefined) return undefined
  return async (tx) => {
    await closeUnpaid(tx, id, { state, at: clock.now() })
  }
}

/** Of payments on a page the checkout tells: there a declined card may be followed by another one. */
async function automaticDecided(
  parts: TopupEventParts,
  payment: Payment,
): Promise<EventWork | undefined> {
  const id = topupIdOf(payment.topup_id)
  if (id === undefined) return undefined
  return async (tx) => {
    const topup = await lockTopup(tx, id)
    if (topup?.source !== 'automatic') return
    if (payment.status === 'succeeded') await creditTopup(parts, tx, topup, payment)
    if (payment.status === 'failed') {
      await declineAutomatic(parts, tx, topup, payment.failure_code ?? 'failed')
    }
  }
}

/** A refund can fail after it was told as done, so the processor is asked how each of them stands. */
async function refunded(
  parts: TopupEventParts,
  payment_id: string | undefined,
): Promise<EventWork | undefined> {
  return await onCredited(parts, payment_id, async (id) => {
    const refunds = await requireProcessor(parts).listRefunds(id)
    return (tx, topup) => followRefunds(parts, tx, topup, refunds)
  })
}

async function disputed(
  parts: TopupEventParts,
  dispute: Stripe.Dispute,
): Promise<EventWork | undefined> {
  if (disputeState(dispute.status) === 'asked') return undefined
  return await onCredited(parts, idOf(dispute.payment_intent), async () => {
    const { state, ...now } = await requireProcessor(parts).readDispute(dispute.id)
    if (state === 'asked') return undefined
    return (tx, topup) => followDispute(parts, tx, topup, { ...now, state })
  })
}

type TopupWork = (tx: Tx, topup: TopupRow) => Promise<void>

/**
 * Of a payment whose success we have not heard of yet, the processor is asked: it is credited first, so that whatever
 * order events come in, the end is the same. Payments that are no top-ups of ours are ignored.
 */
async function onCredited(
  parts: TopupEventParts,
  payment_id: string | undefined,
  ask: (payment_id: string) => Promise<TopupWork | undefined>,
): Promise<EventWork | undefined> {
  if (payment_id === undefined) return undefined
  const known = await findTopupOfPayment(parts.db, payment_id)
  const payment = known ? undefined : await requireProcessor(parts).readPayment(payment_id)
  const id = known ?? topupIdOf(payment?.topup_id)
  const work = id === undefined ? undefined : await ask(payment_id)
  if (id === undefined || !work) return undefined
  return async (tx) => {
    const topup = await lockTopup(tx, id)
    if (!topup) return
    const is_credited =
      topup.stripe_payment_intent_id === payment_id ||
      (payment?.status === 'succeeded' && (await creditTopup(parts, tx, topup, payment)))
    if (is_credited) await work(tx, topup)
  }
}

/**
 * By what we wrote into it. The `client_reference_id` alone proves nothing: whoever pays by a payment link of the same
 * account of the processor chooses it.
 */
function topupOf({ metadata }: Stripe.Checkout.Session): string | undefined {
  return topupIdOf(metadata?.['topup_id'])
}

/** Others may use the same account of the processor: their references are not ours. */
function topupIdOf(reference: string | null | undefined): string | undefined {
  return typeof reference === 'string' && isUuid(reference) ? reference : undefined
}
