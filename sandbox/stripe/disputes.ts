// Disputes: a customer asks their bank for the money back. The amount leaves the platform's balance at
// once, and returns if the dispute is won.

import { missing } from './errors.ts'
import type { Charge, Dispute } from './objects.ts'
import { readPage, readRange, readText } from './params.ts'
import { get, idOf, list, post, type Route, toList } from './route.ts'
import type { World } from './world.ts'

const ANSWER_DAYS = 7

export const DISPUTE_ROUTES: readonly Route[] = [
  list(
    '/v1/disputes',
    (world, { params }) => {
      const charge = readText(params, 'charge')
      const payment_intent = readText(params, 'payment_intent')
      const fits = readRange(params)
      const keep = (row: Dispute) =>
        (charge === undefined || row.charge === charge) &&
        (payment_intent === undefined || row.payment_intent === payment_intent) &&
        fits(row.created)
      return toList(world.disputes.page(readPage(params), { keep }), '/v1/disputes')
    },
    { charge: { type: 'text' }, created: { type: 'moment' }, payment_intent: { type: 'text' } },
  ),
  get('/v1/disputes/:id', (world, call) => findDispute(world, idOf(call))),
  post('/v1/disputes/:id/close', (world, call) => {
    return closeDispute(world, findDispute(world, idOf(call)), 'lost')
  }),
]

export function findDispute(world: World, id: string): Dispute {
  const dispute = world.disputes.get(id)
  if (dispute === undefined) throw missing('dispute', id, 'dispute')
  return dispute
}

export function openDispute(
  world: World,
  charge: Charge,
  reason: string,
  amount: number = charge.amount - charge.amount_refunded,
): Dispute {
  const now = world.clock.nowSeconds()
  const dispute = world.disputes.insert({
    id: world.ids.make('du'),
    object: 'dispute',
    amount,
    balance_transactions: [moved(world, -amount, charge.currency)],
    charge: charge.id,
    created: now,
    currency: charge.currency,
    enhanced_eligibility_types: [],
    evidence: {},
    evidence_details: {
      due_by: now + ANSWER_DAYS * 86_400,
      has_evidence: false,
      past_due: false,
      submission_count: 0,
    },
    is_charge_refundable: false,
    livemode: false,
    metadata: {},
    payment_intent: charge.payment_intent,
    payment_method_details: {
      card: { brand: 'visa', case_type: 'chargeback', network_reason_code: '10.4' },
      type: 'card',
    },
    reason,
    status: 'needs_response',
  })
  charge.disputed = true
  world.platform.available.add(charge.currency, -amount)
  world.events.emit('charge.dispute.created', dispute)
  world.events.emit('charge.dispute.funds_withdrawn', dispute)
  return dispute
}

/** Closing twice changes nothing. */
export function closeDispute(world: World, dispute: Dispute, outcome: 'won' | 'lost'): Dispute {
  if (dispute.status === 'won' || dispute.status === 'lost') return dispute
  dispute.status = outcome
  if (outcome === 'won') {
    reinstate(world, dispute, dispute.amount)
  }
  world.events.emit('charge.dispute.closed', dispute)
  return dispute
}

/** The bank changes its mind after the platform lost: all of the money comes back, or a part of it. */
export function reinstateLost(world: World, dispute: Dispute, amount = dispute.amount): Dispute {
  if (dispute.status !== 'lost') return dispute
  if (amount === dispute.amount) dispute.status = 'won'
  reinstate(world, dispute, amount)
  return dispute
}

function reinstate(world: World, dispute: Dispute, amount: number): void {
  dispute.balance_transactions.push(moved(world, amount, dispute.currency))
  world.platform.available.add(dispute.currency, amount)
  world.events.emit('charge.dispute.funds_reinstated', dispute)
}

function moved(world: World, amount: number, currency: string): object {
  const reporting_category = amount < 0 ? 'dispute' : 'dispute_reversal'
  return {
    id: world.ids.make('txn'),
    object: 'balance_transaction',
    amount,
    created: world.clock.nowSeconds(),
    currency,
    fee: 0,
    net: amount,
    reporting_category,
    type: 'adjustment',
  }
}
