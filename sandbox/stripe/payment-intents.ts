// PaymentIntents without a page: what automatic top-ups use to charge a saved payment method while
// the customer is away.

import type { JsonObject } from '../json.ts'
import { findCustomer, saveMethod, takeMethod } from './customers.ts'
import { badRequest, missing, missingParam, StripeError } from './errors.ts'
import { accepted, type Fields } from './fields.ts'
import type { PaymentIntent } from './objects.ts'
import { readFlag, readMetadata, readPage, readRange, readText, readWhole } from './params.ts'
import { charge } from './payments.ts'
import { type ApiCall, get, idOf, list, post, type Route, toList } from './route.ts'
import type { World } from './world.ts'

const LEAST_CENTS = 50
const MOST_CENTS = 99_999_999

const IGNORED = accepted(
  'allowed_payment_method_types amount_details automatic_payment_methods capture_method confirmation_method error_on_requires_action excluded_payment_method_types mandate mandate_data payment_method_configuration payment_method_options radar_options return_url shipping statement_descriptor statement_descriptor_suffix use_stripe_sdk payment_details hooks',
)
const CREATE_FIELDS: Fields = {
  ...IGNORED,
  amount: { type: 'whole', min: 1, required: true },
  confirm: { type: 'flag' },
  currency: { type: 'currency', required: true },
  customer: { type: 'text' },
  description: { type: 'text' },
  metadata: { type: 'metadata' },
  off_session: { type: 'anything' },
  payment_method: { type: 'text' },
  receipt_email: { type: 'text' },
  setup_future_usage: { type: 'text', choices: ['off_session', 'on_session'] },
  transfer_group: { type: 'text' },
}
const CONFIRM_FIELDS: Fields = {
  ...IGNORED,
  off_session: { type: 'anything' },
  payment_method: { type: 'text' },
  setup_future_usage: { type: 'text' },
}

export const PAYMENT_INTENT_ROUTES: readonly Route[] = [
  {
    ...post('/v1/payment_intents', (world, { params }) => create(world, params), CREATE_FIELDS),
    check(params) {
      if (params['off_session'] !== undefined && params['confirm'] !== 'true') {
        throw badRequest('You can only set `off_session` when `confirm` is true.', {
          param: 'off_session',
        })
      }
    },
  },
  list(
    '/v1/payment_intents',
    (world, { params }) => {
      const customer = readText(params, 'customer')
      const fits = readRange(params)
      const page = world.payment_intents.page(readPage(params), {
        ...(customer !== undefined && { under: { name: 'customer', key: customer } }),
        keep: (row) => fits(row.created),
      })
      return toList(page, '/v1/payment_intents')
    },
    { created: { type: 'moment' }, customer: { type: 'text' } },
  ),
  get('/v1/payment_intents/:id', (world, call) => findIntent(world, idOf(call))),
  post(
    '/v1/payment_intents/:id/confirm',
    (world, call) => {
      return confirm(world, findIntent(world, idOf(call)), call.params)
    },
    CONFIRM_FIELDS,
  ),
  post('/v1/payment_intents/:id/cancel', cancel, { cancellation_reason: { type: 'text' } }),
]

export function findIntent(world: World, id: string): PaymentIntent {
  const intent = world.payment_intents.get(id)
  if (intent === undefined) throw missing('payment_intent', id, 'intent')
  return intent
}

export function checkAmount(amount: number, currency: string, param: string): void {
  if (amount < LEAST_CENTS) {
    throw badRequest(`Amount must be at least $0.50 ${currency}`, {
      code: 'amount_too_small',
      param,
    })
  }
  if (amount > MOST_CENTS) {
    throw badRequest(`Amount must be no more than $999,999.99`, { code: 'amount_too_large', param })
  }
}

export type IntentWish = Pick<
  PaymentIntent,
  | 'amount'
  | 'currency'
  | 'customer'
  | 'description'
  | 'metadata'
  | 'setup_future_usage'
  | 'transfer_group'
  | 'receipt_email'
>

export function makeIntent(world: World, wish: IntentWish): PaymentIntent {
  const id = world.ids.make('pi')
  return world.payment_intents.insert({
    id,
    object: 'payment_intent',
    ...wish,
    amount_capturable: 0,
    amount_received: 0,
    application: null,
    application_fee_amount: null,
    automatic_payment_methods: { allow_redirects: 'always', enabled: true },
    canceled_at: null,
    cancellation_reason: null,
    capture_method: 'automatic_async',
    client_secret: `${id}_secret_${world.ids.make('secret').slice('secret_'.length)}`,
    confirmation_method: 'automatic',
    created: world.clock.nowSeconds(),
    last_payment_error: null,
    latest_charge: null,
    livemode: false,
    next_action: null,
    on_behalf_of: null,
    payment_method: null,
    payment_method_options: {},
    payment_method_types: ['card', 'us_bank_account'],
    processing: null,
    review: null,
    shipping: null,
    source: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status: 'requires_payment_method',
    transfer_data: null,
  })
}

function create(world: World, params: JsonObject): PaymentIntent {
  const currency = (readText(params, 'currency') ?? '').toLowerCase()
  const amount = readWhole(params, 'amount') ?? 0
  checkAmount(amount, currency, 'amount')
  const customer = readText(params, 'customer') ?? null
  if (customer !== null && world.customers.get(customer) === undefined) {
    throw missingParam('customer', customer, 'customer')
  }
  const method = readText(params, 'payment_method')
  if (method !== undefined) checkMethod(world, method, customer)
  const intent = makeIntent(world, {
    amount,
    currency,
    customer,
    description: readText(params, 'description') ?? null,
    metadata: readMetadata(params),
    receipt_email: readText(params, 'receipt_email') ?? null,
    setup_future_usage: readText(params, 'setup_future_usage') ?? null,
    transfer_group: readText(params, 'transfer_group') ?? null,
  })
  if (method !== undefined) {
    intent.payment_method = takeMethod(world, method).id
    intent.status = 'requires_confirmation'
  }
  world.events.emit('payment_intent.created', intent)
  return readFlag(params, 'confirm') ? confirm(world, intent, params) : intent
}

/** A saved method belongs to one customer, and only that customer can be charged with it. */
function checkMethod(world: World, id: string, customer: string | null): void {
  const owner = world.payment_methods.get(id)?.customer ?? null
  if (owner === customer || (owner === null && world.payment_methods.get(id) === undefined)) return
  throw badRequest(
    `The customer does not have a payment method with the ID ${id}. The payment method must be attached to the customer.`,
    { code: 'resource_missing', param: 'payment_method' },
  )
}

function confirm(world: World, intent: PaymentIntent, params: JsonObject): PaymentIntent {
  if (intent.status !== 'requires_confirmation' && intent.status !== 'requires_payment_method') {
    throw badRequest(
      `You cannot confirm this PaymentIntent because it has a status of ${intent.status}.`,
      { code: 'payment_intent_unexpected_state' },
    )
  }
  const id = readText(params, 'payment_method') ?? intent.payment_method
  if (id === null) {
    throw badRequest(
      "You cannot confirm this PaymentIntent because it's missing a payment method.",
      { code: 'payment_intent_unexpected_state' },
    )
  }
  checkMethod(world, id, intent.customer)
  const method = takeMethod(world, id)
  const off_session = params['off_session'] !== undefined && params['off_session'] !== 'false'
  const refusal = charge(world, { intent, method, present: !off_session })
  if (refusal !== undefined) {
    throw new StripeError(402, 'card_error', {
      ...refusal,
      charge: intent.latest_charge ?? '',
      payment_intent: structuredClone(intent),
      payment_method: structuredClone(method),
    })
  }
  if (intent.setup_future_usage !== null && intent.customer !== null) {
    saveMethod(world, method, findCustomer(world, intent.customer).id)
  }
  return intent
}

function cancel(world: World, call: ApiCall): PaymentIntent {
  const intent = findIntent(world, idOf(call))
  if (
    intent.status === 'succeeded' ||
    intent.status === 'canceled' ||
    intent.status === 'processing'
  ) {
    throw badRequest(
      `You cannot cancel this PaymentIntent because it has a status of ${intent.status}.`,
      { code: 'payment_intent_unexpected_state' },
    )
  }
  intent.status = 'canceled'
  intent['canceled_at'] = world.clock.nowSeconds()
  intent['cancellation_reason'] = readText(call.params, 'cancellation_reason') ?? null
  world.events.emit('payment_intent.canceled', intent)
  return intent
}
