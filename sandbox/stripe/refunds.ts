// Charges as they can be read, and refunds, whole or in parts.

import type { JsonObject } from '../json.ts'
import { badRequest, missing, missingParam } from './errors.ts'
import { accepted, type Fields } from './fields.ts'
import type { Charge, Refund } from './objects.ts'
import { readMetadata, readPage, readRange, readText, readWhole } from './params.ts'
import { get, idOf, list, post, type Route, toList } from './route.ts'
import type { World } from './world.ts'

const REFUND_FIELDS: Fields = {
  ...accepted('instructions_email refund_application_fee reverse_transfer'),
  amount: { type: 'whole', min: 1 },
  charge: { type: 'text' },
  metadata: { type: 'metadata' },
  payment_intent: { type: 'text' },
  reason: { type: 'text', choices: ['duplicate', 'fraudulent', 'requested_by_customer'] },
}

export const REFUND_ROUTES: readonly Route[] = [
  get('/v1/charges/:id', (world, call) => findCharge(world, idOf(call))),
  list(
    '/v1/charges',
    (world, { params }) => {
      const payment_intent = readText(params, 'payment_intent')
      const customer = readText(params, 'customer')
      const fits = readRange(params)
      const under =
        payment_intent === undefined
          ? customer && { name: 'customer', key: customer }
          : { name: 'payment_intent', key: payment_intent }
      const page = world.charges.page(readPage(params), {
        ...(under && { under }),
        keep: (row) => fits(row.created),
      })
      return toList(page, '/v1/charges')
    },
    { created: { type: 'moment' }, customer: { type: 'text' }, payment_intent: { type: 'text' } },
  ),
  post('/v1/refunds', (world, { params }) => createRefund(world, params), REFUND_FIELDS),
  list(
    '/v1/refunds',
    (world, { params }) => {
      const payment_intent = readText(params, 'payment_intent')
      const charge = readText(params, 'charge')
      const fits = readRange(params)
      const under =
        charge === undefined
          ? payment_intent && { name: 'payment_intent', key: payment_intent }
          : { name: 'charge', key: charge }
      const page = world.refunds.page(readPage(params), {
        ...(under && { under }),
        keep: (row) => fits(row.created),
      })
      return toList(page, '/v1/refunds')
    },
    { charge: { type: 'text' }, created: { type: 'moment' }, payment_intent: { type: 'text' } },
  ),
  get('/v1/refunds/:id', (world, call) => {
    const refund = world.refunds.get(idOf(call))
    if (refund === undefined) throw missing('refund', idOf(call), 'id')
    return refund
  }),
]

export function findCharge(world: World, id: string): Charge {
  const charge = world.charges.get(id)
  if (charge === undefined) throw missing('charge', id, 'id')
  return charge
}

function createRefund(world: World, params: JsonObject): Refund {
  const charge = chooseCharge(world, params)
  if (charge.refunded) {
    throw badRequest(`Charge ${charge.id} has already been refunded.`, {
      code: 'charge_already_refunded',
    })
  }
  if (charge.disputed) {
    throw badRequest(`Charge ${charge.id} has been charged back; cannot issue a refund.`, {
      code: 'charge_disputed',
    })
  }
  const open = charge.amount - charge.amount_refunded
  const amount = readWhole(params, 'amount') ?? open
  if (amount > open) {
    throw badRequest(
      `Refund amount (${amount}) is greater than unrefunded amount on charge (${open})`,
      { param: 'amount' },
    )
  }
  const refund = world.refunds.insert({
    id: world.ids.make('re'),
    object: 'refund',
    amount,
    balance_transaction: world.ids.make('txn'),
    charge: charge.id,
    created: world.clock.nowSeconds(),
    currency: charge.currency,
    destination_details: { type: 'card', card: { type: 'refund' } },
    metadata: readMetadata(params),
    payment_intent: charge.payment_intent,
    payment_method: charge.payment_method,
    reason: readText(params, 'reason') ?? null,
    receipt_number: null,
    source_transfer_reversal: null,
    status: 'succeeded',
    transfer_reversal: null,
  })
  const previous_attributes = { amount_refunded: charge.amount_refunded, refunded: charge.refunded }
  charge.amount_refunded += amount
  charge.refunded = charge.amount_refunded === charge.amount
  world.platform.available.add(charge.currency, -amount)
  world.events.emit('refund.created', refund)
  world.events.emit('charge.refunded', charge, { previous_attributes })
  return refund
}

/** The bank sends the money of a refund back, days later: the charge counts as not refunded. */
export function failRefund(world: World, id: string): Refund {
  const refund = world.refunds.get(id)
  if (refund === undefined) throw missing('refund', id, 'id')
  if (refund.status === 'failed') return refund
  const charge = findCharge(world, refund.charge)
  refund.status = 'failed'
  refund['failure_reason'] = 'lost_or_stolen_card'
  refund['failure_balance_transaction'] = world.ids.make('txn')
  charge.amount_refunded -= refund.amount
  charge.refunded = false
  world.platform.available.add(refund.currency, refund.amount)
  world.events.emit('refund.failed', refund)
  world.events.emit('refund.updated', refund)
  world.events.emit('charge.refund.updated', refund)
  return refund
}

function chooseCharge(world: World, params: JsonObject): Charge {
  const intent_id = readText(params, 'payment_intent')
  const charge_id = readText(params, 'charge')
  if ((intent_id === undefined) === (charge_id === undefined)) {
    throw badRequest(
      'One of the following params should be provided for this request: payment_intent or charge.',
    )
  }
  const intent = intent_id === undefined ? undefined : world.payment_intents.get(intent_id)
  if (intent_id !== undefined && intent === undefined) {
    throw missingParam('payment_intent', intent_id, 'payment_intent')
  }
  const id = charge_id ?? intent?.latest_charge ?? ''
  const charge = world.charges.get(id)
  if (charge === undefined && charge_id !== undefined) throw missingParam('charge', id, 'charge')
  if (charge === undefined || charge.status !== 'succeeded') {
    throw badRequest('This PaymentIntent does not have a successful charge to refund.', {
      code: 'payment_intent_unexpected_state',
      param: 'payment_intent',
    })
  }
  return charge
}
