// Customers, and the payment methods they have saved.

import type { JsonObject } from '../json.ts'
import { findCard, type TestCard } from './cards.ts'
import { badRequest, missing, missingParam, StripeError } from './errors.ts'
import { accepted, type Fields } from './fields.ts'
import type { Customer, PaymentMethod } from './objects.ts'
import { mergeMetadata, readMetadata, readObject, readPage, readRange, readText } from './params.ts'
import { type ApiCall, get, idOf, list, post, type Route, remove, toList } from './route.ts'
import type { World } from './world.ts'

const CUSTOMER_FIELDS: Fields = {
  ...accepted(
    'address balance business_name cash_balance individual_name invoice_prefix next_invoice_sequence phone preferred_locales shipping source tax tax_exempt tax_id_data test_clock validate',
  ),
  description: { type: 'text', clearable: true },
  email: { type: 'text', max: 512, clearable: true },
  invoice_settings: { type: 'anything' },
  metadata: { type: 'metadata' },
  name: { type: 'text', max: 256, clearable: true },
  payment_method: { type: 'text' },
}
const METHOD_LIST_FIELDS: Fields = {
  ...accepted('allow_redisplay'),
  customer: { type: 'text' },
  type: { type: 'text' },
}

export const CUSTOMER_ROUTES: readonly Route[] = [
  post('/v1/customers', (world, { params }) => createCustomer(world, params), CUSTOMER_FIELDS),
  list(
    '/v1/customers',
    (world, { params }) => {
      const email = readText(params, 'email')
      const fits = readRange(params)
      const keep = (row: Customer) =>
        (email === undefined || row.email === email) && fits(row.created)
      return toList(world.customers.page(readPage(params), { keep }), '/v1/customers')
    },
    { created: { type: 'moment' }, email: { type: 'text' } },
  ),
  get('/v1/customers/:id', (world, call) => findCustomer(world, idOf(call))),
  post(
    '/v1/customers/:id',
    (world, call) => {
      const customer = findCustomer(world, idOf(call))
      customer.metadata = mergeMetadata(customer.metadata, call.params)
      return fillCustomer(customer, call.params)
    },
    CUSTOMER_FIELDS,
  ),
  remove('/v1/customers/:id', (world, call) => {
    const { id } = findCustomer(world, idOf(call))
    for (const method of world.payment_methods.under('customer', id)) method.customer = null
    world.customers.remove(id)
    return { id, object: 'customer', deleted: true }
  }),
  list(
    '/v1/customers/:id/payment_methods',
    (world, call) => {
      const { id } = findCustomer(world, idOf(call))
      return listMethods(world, call, id)
    },
    METHOD_LIST_FIELDS,
  ),
  get('/v1/customers/:id/payment_methods/:method', (world, call) => {
    const method = findMethod(world, idOf(call, 'method'))
    if (method.customer !== idOf(call)) throw missing('PaymentMethod', method.id, 'payment_method')
    return method
  }),
  list(
    '/v1/payment_methods',
    (world, call) => listMethods(world, call, readText(call.params, 'customer')),
    METHOD_LIST_FIELDS,
  ),
  get('/v1/payment_methods/:id', (world, call) => findMethod(world, idOf(call))),
  post('/v1/payment_methods/:id/attach', attach, { customer: { type: 'text', required: true } }),
  post('/v1/payment_methods/:id/detach', detach),
]

export function findCustomer(world: World, id: string): Customer {
  const customer = world.customers.get(id)
  if (customer === undefined) throw missing('customer', id, 'id')
  return customer
}

export function createCustomer(world: World, params: JsonObject): Customer {
  const customer: Customer = {
    id: world.ids.make('cus'),
    object: 'customer',
    address: null,
    balance: 0,
    created: world.clock.nowSeconds(),
    currency: null,
    default_source: null,
    delinquent: false,
    description: null,
    discount: null,
    email: null,
    invoice_settings: {
      custom_fields: null,
      default_payment_method: null,
      footer: null,
      rendering_options: null,
    },
    livemode: false,
    metadata: readMetadata(params),
    name: null,
    phone: null,
    preferred_locales: [],
    shipping: null,
    tax_exempt: 'none',
    test_clock: null,
  }
  world.customers.insert(fillCustomer(customer, params))
  const method = readText(params, 'payment_method')
  if (method !== undefined) saveMethod(world, takeMethod(world, method), customer.id)
  world.events.emit('customer.created', customer)
  return customer
}

function fillCustomer(customer: Customer, params: JsonObject): Customer {
  for (const name of ['email', 'name', 'description'] as const) {
    if (params[name] !== undefined) customer[name] = readText(params, name) ?? null
  }
  const chosen = readText(readObject(params, 'invoice_settings'), 'default_payment_method')
  if (chosen !== undefined) customer.invoice_settings.default_payment_method = chosen
  return customer
}

export function findMethod(world: World, id: string): PaymentMethod {
  const method = world.payment_methods.get(id)
  if (method === undefined) throw missing('PaymentMethod', id, 'payment_method')
  return method
}

/** A known payment method, or a new one for the name of a test card such as pm_card_visa. */
export function takeMethod(world: World, id: string): PaymentMethod {
  const known = world.payment_methods.get(id)
  if (known !== undefined) return known
  const card = findCard({ token: id })
  if (card === undefined) throw missingParam('PaymentMethod', id, 'payment_method')
  return createMethod(world, card)
}

export function createMethod(world: World, card: TestCard): PaymentMethod {
  return world.payment_methods.insert({
    id: world.ids.make('pm'),
    object: 'payment_method',
    allow_redisplay: 'unspecified',
    billing_details: { address: null, email: null, name: null, phone: null, tax_id: null },
    ...(card.type === 'card'
      ? { card: describeCard(card) }
      : {
          us_bank_account: {
            account_holder_type: 'individual',
            account_type: 'checking',
            bank_name: card.brand,
            last4: card.last4,
            routing_number: '110000000',
          },
        }),
    created: world.clock.nowSeconds(),
    customer: null,
    livemode: false,
    metadata: {},
    type: card.type,
  })
}

export function describeCard(card: TestCard) {
  return {
    brand: card.brand,
    checks: { address_line1_check: null, address_postal_code_check: null, cvc_check: 'pass' },
    country: 'US',
    display_brand: card.brand,
    exp_month: 12,
    exp_year: 2034,
    fingerprint: `sandbox${card.last4}`,
    funding: 'credit',
    last4: card.last4,
    networks: { available: [card.brand], preferred: null },
    three_d_secure_usage: { supported: true },
    wallet: null,
  }
}

export function cardOf(method: PaymentMethod): TestCard | undefined {
  return findCard({ last4: method.card?.last4 ?? method.us_bank_account?.last4 ?? '' })
}

export function saveMethod(world: World, method: PaymentMethod, customer: string): void {
  if (method.customer === customer) return
  method.customer = customer
  world.payment_methods.reindex(method, 'customer')
  world.events.emit('payment_method.attached', method)
}

function listMethods(world: World, { params }: ApiCall, customer: string | undefined): object {
  const type = readText(params, 'type')
  const page = world.payment_methods.page(readPage(params), {
    ...(customer !== undefined && { under: { name: 'customer', key: customer } }),
    keep: (row) => type === undefined || row.type === type,
  })
  return toList(
    page,
    customer === undefined ? '/v1/payment_methods' : `/v1/customers/${customer}/payment_methods`,
  )
}

function attach(world: World, call: ApiCall): object {
  const customer = readText(call.params, 'customer') ?? ''
  if (world.customers.get(customer) === undefined)
    throw missingParam('customer', customer, 'customer')
  const method = takeMethod(world, idOf(call))
  if (method.customer !== null && method.customer !== customer) {
    throw badRequest('The payment method you provided has already been attached to a customer.')
  }
  if (cardOf(method)?.present === 'declined') {
    throw new StripeError(402, 'card_error', {
      message: 'Your card was declined.',
      code: 'card_declined',
      decline_code: 'generic_decline',
    })
  }
  saveMethod(world, method, customer)
  return method
}

function detach(world: World, call: ApiCall): object {
  const method = findMethod(world, idOf(call))
  if (method.customer === null) {
    throw badRequest(
      'The payment method you provided is not attached to a customer so detachment is impossible.',
    )
  }
  const previous_attributes = { customer: method.customer }
  method.customer = null
  world.events.emit('payment_method.detached', method, { previous_attributes })
  return method
}
