// What the customer does on the Checkout page: pays, is declined, pays with money that comes later,
// or saves a card.

import type { TestCard } from './cards.ts'
import { cardOf, createCustomer, createMethod, saveMethod } from './customers.ts'
import type { CheckoutSession, PaymentIntent, PaymentMethod } from './objects.ts'
import { makeIntent } from './payment-intents.ts'
import { charge } from './payments.ts'
import type { SessionRow, World } from './world.ts'

/** A sentence for the customer when the bank says no; undefined when the session is complete. */
export function pay(
  world: World,
  row: SessionRow,
  customer: { card: TestCard; email: string },
): string | undefined {
  const { session } = row
  const method = createMethod(world, customer.card)
  if (session.mode === 'setup') return saveCard(world, row, method)
  const intent = findOrMakeIntent(world, row)
  const refusal = charge(world, {
    intent,
    method,
    present: true,
    onDecided: (succeeded) => tellDecision(world, session, succeeded),
  })
  if (refusal !== undefined) return refusal.message
  if (row.payment.save) {
    session.customer ??= createCustomer(world, { email: customer.email }).id
    intent.customer = session.customer
    saveMethod(world, method, session.customer)
  }
  complete(world, session, customer.email)
  return undefined
}

/** Stripe makes the PaymentIntent at the first attempt, and keeps it for the next ones. */
function findOrMakeIntent(world: World, { session, payment, id }: SessionRow): PaymentIntent {
  const known = world.payment_intents.get(session.payment_intent ?? '')
  if (known !== undefined) return known
  const intent = makeIntent(world, {
    amount: session.amount_total ?? 0,
    currency: session.currency ?? 'usd',
    customer: session.customer,
    description: payment.description,
    metadata: { ...payment.metadata },
    receipt_email: null,
    setup_future_usage: payment.save ? 'off_session' : null,
    transfer_group: payment.transfer_group,
  })
  session.payment_intent = intent.id
  const row = world.sessions.get(id)
  if (row !== undefined) world.sessions.reindex(row, 'payment_intent')
  world.events.emit('payment_intent.created', intent)
  return intent
}

function complete(world: World, session: CheckoutSession, email: string): void {
  const intent = world.payment_intents.get(session.payment_intent ?? '')
  if (intent !== undefined)
    session.payment_status = intent.status === 'succeeded' ? 'paid' : 'unpaid'
  session.status = 'complete'
  session.url = null
  session.customer_details = {
    address: null,
    email,
    name: null,
    phone: null,
    tax_exempt: 'none',
    tax_ids: [],
  }
  world.events.emit('checkout.session.completed', session)
}

function tellDecision(world: World, session: CheckoutSession, succeeded: boolean): void {
  if (succeeded) session.payment_status = 'paid'
  const result = succeeded ? 'async_payment_succeeded' : 'async_payment_failed'
  world.events.emit(`checkout.session.${result}`, session)
}

function saveCard(world: World, row: SessionRow, method: PaymentMethod): string | undefined {
  const { session } = row
  const answer = cardOf(method)?.present
  if (answer === 'declined' || answer === 'insufficient_funds') return 'Your card was declined.'
  const intent = world.setup_intents.insert({
    id: world.ids.make('seti'),
    object: 'setup_intent',
    application: null,
    client_secret: null,
    created: world.clock.nowSeconds(),
    customer: session.customer,
    description: row.payment.description,
    last_setup_error: null,
    livemode: false,
    metadata: { ...row.payment.metadata },
    next_action: null,
    payment_method: method.id,
    payment_method_types: ['card', 'us_bank_account'],
    status: 'succeeded',
    usage: 'off_session',
  })
  session.setup_intent = intent.id
  if (session.customer !== null) saveMethod(world, method, session.customer)
  world.events.emit('setup_intent.succeeded', intent)
  complete(world, session, session.customer_email ?? '')
  return undefined
}
