// Checkout sessions: what is to be paid or which card is to be saved, and the page where that is done.

import type { JsonObject } from '../json.ts'
import { badRequest, missing, missingParam } from './errors.ts'
import { accepted, type Fields, missingField } from './fields.ts'
import { checkItem, LINE_ITEMS, makeItem } from './line-items.ts'
import type { CheckoutSession } from './objects.ts'
import {
  readMetadata,
  readObject,
  readObjects,
  readPage,
  readRange,
  readText,
  readWhole,
} from './params.ts'
import { checkAmount } from './payment-intents.ts'
import { type ApiCall, get, idOf, list, post, type Route, toList } from './route.ts'
import type { SessionRow, World } from './world.ts'

const DAY_S = 86_400
const SHORTEST_LIFE_S = 30 * 60

const CREATE_FIELDS: Fields = {
  ...accepted(
    'adaptive_pricing after_expiration allow_promotion_codes allowed_payment_method_types automatic_tax billing_address_collection branding_settings consent_collection custom_fields custom_text customer_creation customer_update excluded_payment_method_types integration_identifier invoice_creation locale name_collection origin_context payment_method_collection payment_method_configuration payment_method_data payment_method_options permissions phone_number_collection saved_payment_method_options submit_type tax_id_collection wallet_options',
  ),
  cancel_url: { type: 'url' },
  client_reference_id: { type: 'text', max: 200 },
  currency: { type: 'currency' },
  customer: { type: 'text' },
  customer_email: { type: 'text' },
  expires_at: { type: 'whole' },
  line_items: LINE_ITEMS,
  metadata: { type: 'metadata' },
  mode: { type: 'text', choices: ['payment', 'setup', 'subscription'] },
  payment_intent_data: {
    type: 'object',
    fields: {
      ...accepted(
        'capture_method receipt_email shipping statement_descriptor statement_descriptor_suffix',
      ),
      description: { type: 'text' },
      metadata: { type: 'metadata' },
      setup_future_usage: { type: 'text', choices: ['off_session', 'on_session'] },
      transfer_group: { type: 'text' },
    },
  },
  setup_intent_data: {
    type: 'object',
    fields: { description: { type: 'text' }, metadata: { type: 'metadata' } },
  },
  success_url: { type: 'url' },
  ui_mode: { type: 'text', choices: ['hosted_page'] },
}

export const CHECKOUT_ROUTES: readonly Route[] = [
  { ...post('/v1/checkout/sessions', createSession, CREATE_FIELDS), check: checkSession },
  list('/v1/checkout/sessions', listSessions, {
    created: { type: 'moment' },
    customer: { type: 'text' },
    payment_intent: { type: 'text' },
    status: { type: 'text', choices: ['complete', 'expired', 'open'] },
  }),
  get('/v1/checkout/sessions/:id', (world, call) => findSession(world, idOf(call)).session),
  post('/v1/checkout/sessions/:id/expire', (world, call) => {
    const row = findSession(world, idOf(call))
    if (row.session.status !== 'open') {
      throw badRequest(
        `Only Checkout Sessions with a status in ["open"] can be expired. This Checkout Session has a status of ${row.session.status}.`,
      )
    }
    expireSession(world, row)
    return row.session
  }),
  list('/v1/checkout/sessions/:id/line_items', (world, call) => {
    return listLineItems(findSession(world, idOf(call)))
  }),
]

export function findSession(world: World, id: string): SessionRow {
  const row = world.sessions.get(id)
  if (row === undefined) throw missing('checkout.session', id, 'session')
  return row
}

export function listLineItems(row: SessionRow): object {
  return toList(
    { data: row.line_items, has_more: false },
    `/v1/checkout/sessions/${row.id}/line_items`,
  )
}

export function expireSession(world: World, { session }: SessionRow): void {
  if (session.status !== 'open') return
  session.status = 'expired'
  session.url = null
  world.events.emit('checkout.session.expired', session)
}

/** What Stripe asks of a session before it begins to make one. */
function checkSession(params: JsonObject): void {
  const mode = readText(params, 'mode')
  if (mode === undefined) throw missingField('mode')
  if (mode === 'subscription') {
    throw badRequest('The sandbox has no subscriptions.', { param: 'mode' })
  }
  if (readText(params, 'success_url') === undefined) throw missingField('success_url')
  const items = readObjects(params, 'line_items')
  if (mode === 'payment' && items.length === 0) throw missingField('line_items')
  if (mode === 'setup' && params['line_items'] !== undefined) {
    throw badRequest('You can not pass `line_items` in `setup` mode.', { param: 'line_items' })
  }
  if (
    mode === 'setup' &&
    params['currency'] === undefined &&
    params['allowed_payment_method_types'] === undefined
  ) {
    throw missingField('currency')
  }
  for (const [at, item] of items.entries()) checkItem(item, `line_items[${at}]`)
}

function createSession(world: World, { params, origin }: ApiCall): CheckoutSession {
  const mode = readText(params, 'mode') === 'setup' ? 'setup' : 'payment'
  const customer = readText(params, 'customer') ?? null
  if (customer !== null && world.customers.get(customer) === undefined) {
    throw missingParam('customer', customer, 'customer')
  }
  const line_items = readObjects(params, 'line_items').map((item) => makeItem(world, item))
  const total = line_items.reduce((sum, item) => sum + item.amount_total, 0)
  const currency = line_items[0]?.currency ?? readText(params, 'currency')?.toLowerCase() ?? null
  if (line_items.some((item) => item.currency !== currency)) {
    throw badRequest('All line items must have the same currency.', { param: 'line_items' })
  }
  if (mode === 'payment') checkAmount(total, currency ?? 'usd', 'line_items')
  const expires_at = readExpiry(world, params)
  const id = world.ids.make('cs_test')
  const session: CheckoutSession = {
    id,
    object: 'checkout.session',
    amount_subtotal: mode === 'payment' ? total : null,
    amount_total: mode === 'payment' ? total : null,
    automatic_tax: { enabled: false, liability: null, status: null },
    cancel_url: readText(params, 'cancel_url') ?? null,
    client_reference_id: readText(params, 'client_reference_id') ?? null,
    client_secret: null,
    created: world.clock.nowSeconds(),
    currency,
    customer,
    customer_creation: mode === 'payment' && customer === null ? 'if_required' : null,
    customer_details: null,
    customer_email: readText(params, 'customer_email') ?? null,
    expires_at,
    livemode: false,
    locale: null,
    metadata: readMetadata(params),
    mode,
    payment_intent: null,
    payment_link: null,
    payment_method_types: ['card', 'us_bank_account'],
    payment_status: mode === 'payment' ? 'unpaid' : 'no_payment_required',
    setup_intent: null,
    status: 'open',
    submit_type: null,
    success_url: readText(params, 'success_url') ?? null,
    total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 0 },
    ui_mode: 'hosted_page',
    url: `${origin}/stripe/pay/${id}`,
  }
  const row: SessionRow = {
    id,
    created: session.created,
    session,
    line_items,
    payment: readPayment(params),
  }
  world.sessions.insert(row)
  world.schedule.add(expires_at * 1000, () => expireSession(world, row))
  return session
}

function readPayment(params: JsonObject): SessionRow['payment'] {
  const setup = readText(params, 'mode') === 'setup'
  const data = readObject(params, setup ? 'setup_intent_data' : 'payment_intent_data')
  return {
    metadata: readMetadata(data),
    save: readText(data, 'setup_future_usage') !== undefined,
    description: readText(data, 'description') ?? null,
    transfer_group: readText(data, 'transfer_group') ?? null,
  }
}

function readExpiry(world: World, params: JsonObject): number {
  const now = world.clock.nowSeconds()
  const expires_at = readWhole(params, 'expires_at') ?? now + DAY_S
  if (expires_at < now + SHORTEST_LIFE_S - 60 || expires_at > now + DAY_S) {
    throw badRequest(
      'The `expires_at` timestamp must be between 30 minutes and 24 hours from Checkout Session creation.',
      { param: 'expires_at' },
    )
  }
  return expires_at
}

function listSessions(world: World, { params }: ApiCall): object {
  const customer = readText(params, 'customer')
  const payment_intent = readText(params, 'payment_intent')
  const status = readText(params, 'status')
  const fits = readRange(params)
  const under =
    payment_intent === undefined
      ? customer && { name: 'customer', key: customer }
      : { name: 'payment_intent', key: payment_intent }
  const page = world.sessions.page(readPage(params), {
    ...(under && { under }),
    keep: (row) => (status === undefined || row.session.status === status) && fits(row.created),
  })
  return toList({ ...page, data: page.data.map((row) => row.session) }, '/v1/checkout/sessions')
}
