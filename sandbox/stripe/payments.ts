// What happens when somebody is charged: the money comes, the bank says no, or it is a matter of
// days. PaymentIntents and Checkout both end here.

import type { PayOutcome, TestCard } from './cards.ts'
import { cardOf } from './customers.ts'
import { openDispute } from './disputes.ts'
import type { Charge, PaymentIntent, PaymentMethod } from './objects.ts'
import type { World } from './world.ts'

export type Refusal = { code: string; decline_code: string; message: string }

const DECLINED: Refusal = {
  code: 'card_declined',
  decline_code: 'generic_decline',
  message: 'Your card was declined.',
}
const INSUFFICIENT: Refusal = {
  code: 'card_declined',
  decline_code: 'insufficient_funds',
  message: 'Your card has insufficient funds.',
}
const MUST_AUTHENTICATE: Refusal = {
  code: 'authentication_required',
  decline_code: 'authentication_required',
  message: 'Your card was declined. This transaction requires authentication.',
}
const DEBIT_FAILED: Refusal = {
  code: 'payment_method_bank_account_insufficient_funds',
  decline_code: 'insufficient_funds',
  message: 'The customer’s bank account has insufficient funds.',
}

export type Attempt = {
  intent: PaymentIntent
  method: PaymentMethod
  /** Whether the customer is there to answer their bank. */
  present: boolean
  /** When a delayed payment is decided, after the intent is. */
  onDecided?: (succeeded: boolean) => void
}

/** Undefined when the money came or is on its way. */
export function charge(world: World, attempt: Attempt): Refusal | undefined {
  const { intent, method } = attempt
  const card = cardOf(method)
  intent.payment_method = method.id
  const outcome = card === undefined ? 'declined' : decide(card, attempt.present)
  switch (outcome) {
    case 'succeeds':
    case 'asks':
      succeed(world, attempt, card)
      return undefined
    case 'later_succeeds':
    case 'later_fails':
      wait(world, attempt, outcome)
      return undefined
    case 'authentication_required':
      return fail(world, attempt, MUST_AUTHENTICATE)
    case 'insufficient_funds':
      return fail(world, attempt, INSUFFICIENT)
    case 'declined':
      return fail(world, attempt, DECLINED)
  }
}

function decide(card: TestCard, present: boolean): PayOutcome | 'authentication_required' {
  return present ? card.present : card.off_session
}

function succeed(world: World, { intent, method }: Attempt, card: TestCard | undefined): void {
  const charge = makeCharge(world, intent, method, 'succeeded')
  intent.status = 'succeeded'
  intent.amount_received = intent.amount
  intent.last_payment_error = null
  world.platform.available.add(intent.currency, intent.amount)
  world.events.emit('charge.succeeded', charge)
  world.events.emit('payment_intent.succeeded', intent)
  if (card?.disputed !== true) return
  const due_ms = world.clock.nowMs() + world.platform.settle_after_s * 1000
  world.schedule.add(due_ms, () => void openDispute(world, charge, 'fraudulent'))
}

function wait(world: World, attempt: Attempt, outcome: 'later_succeeds' | 'later_fails'): void {
  const { intent, method } = attempt
  const charge = makeCharge(world, intent, method, 'pending')
  intent.status = 'processing'
  world.events.emit('charge.pending', charge)
  world.events.emit('payment_intent.processing', intent)
  const due_ms = world.clock.nowMs() + world.platform.settle_after_s * 1000
  world.schedule.add(due_ms, () => {
    settle(world, intent, outcome === 'later_succeeds')
    attempt.onDecided?.(outcome === 'later_succeeds')
  })
}

function settle(world: World, intent: PaymentIntent, succeeded: boolean): void {
  const charge = world.charges.get(intent.latest_charge ?? '')
  if (charge === undefined) return
  if (succeeded) {
    charge.status = 'succeeded'
    charge.paid = true
    intent.status = 'succeeded'
    intent.amount_received = intent.amount
    world.platform.available.add(intent.currency, intent.amount)
    world.events.emit('charge.succeeded', charge)
    world.events.emit('payment_intent.succeeded', intent)
    return
  }
  recordFailure(world, { intent, charge }, DEBIT_FAILED)
}

function fail(world: World, { intent, method }: Attempt, refusal: Refusal): Refusal {
  const charge = makeCharge(world, intent, method, 'failed')
  recordFailure(world, { intent, charge }, refusal)
  return refusal
}

function recordFailure(
  world: World,
  { intent, charge }: { intent: PaymentIntent; charge: Charge },
  refusal: Refusal,
): void {
  charge.status = 'failed'
  charge.paid = false
  charge.failure_code = refusal.code
  charge.failure_message = refusal.message
  intent.status = 'requires_payment_method'
  intent.last_payment_error = {
    ...refusal,
    charge: charge.id,
    doc_url: `https://stripe.com/docs/error-codes/${refusal.code.replaceAll('_', '-')}`,
    payment_method: world.payment_methods.get(charge.payment_method) ?? null,
    type: 'card_error',
  }
  intent.payment_method = null
  world.events.emit('charge.failed', charge)
  world.events.emit('payment_intent.payment_failed', intent)
}

function makeCharge(
  world: World,
  intent: PaymentIntent,
  method: PaymentMethod,
  status: Charge['status'],
): Charge {
  const id = world.ids.make('ch')
  const paid = status === 'succeeded'
  const charge = world.charges.insert({
    id,
    object: 'charge',
    amount: intent.amount,
    amount_captured: paid ? intent.amount : 0,
    amount_refunded: 0,
    application_fee: null,
    application_fee_amount: null,
    balance_transaction: paid ? world.ids.make('txn') : null,
    billing_details: method['billing_details'],
    captured: status !== 'failed',
    created: world.clock.nowSeconds(),
    currency: intent.currency,
    customer: intent.customer,
    description: intent.description,
    disputed: false,
    failure_code: null,
    failure_message: null,
    livemode: false,
    metadata: { ...intent.metadata },
    outcome: {
      network_status: paid ? 'approved_by_network' : null,
      type: paid ? 'authorized' : null,
    },
    paid,
    payment_intent: intent.id,
    payment_method: method.id,
    payment_method_details: { type: method.type, [method.type]: method[method.type] },
    receipt_email: intent.receipt_email,
    receipt_url: null,
    refunded: false,
    status,
    transfer_group: intent.transfer_group,
  })
  intent.latest_charge = charge.id
  return charge
}
