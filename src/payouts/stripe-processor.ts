// Stripe as our payment processor: how each thing we want is asked of it.

import type { Stripe } from 'stripe'
import type { Checkout, Processor, Refund, SavedCharge } from './processor.ts'
import { stripeErrors } from './stripe-client.ts'
import { call, toAccount, toDispute, toPayment, toRefund } from './stripe-shapes.ts'

/** Events of Stripe are signed with a time; those that are older are refused. */
const TOLERANCE_S = 300
/** Most payments of one customer that are looked through for one of ours. */
const PAYMENTS_MAX = 100
/** The longest page that Stripe answers, and most pages of refunds of one payment. */
const PAGE = 100
const REFUND_PAGES_MAX = 20

export function createProcessor(stripe: Stripe, timeout_ms: number): Processor {
  // A person waits: two tries within the time of one.
  const soon = { timeout: Math.ceil(timeout_ms / 2), maxNetworkRetries: 1 }
  return {
    ...accountCalls(stripe, soon),
    ...paymentCalls(stripe, soon),
    listRefunds: (payment_id) => call(() => listRefunds(stripe, payment_id, soon)),
    readDispute: (id) => call(async () => toDispute(await stripe.disputes.retrieve(id, {}, soon))),
    readEvent: (body, signature, secrets) => readSignedEvent(stripe, body, signature, secrets),
  }
}

type Options = { timeout: number; maxNetworkRetries: number }

function accountCalls(stripe: Stripe, soon: Options) {
  return {
    createAccount: (account: { email: string; developer_id: string; idempotency_key: string }) =>
      call(async () => {
        const made = await stripe.accounts.create(
          {
            email: account.email,
            controller: {
              stripe_dashboard: { type: 'express' },
              fees: { payer: 'application' },
              losses: { payments: 'application' },
              requirement_collection: 'stripe',
            },
            capabilities: { transfers: { requested: true } },
            metadata: { developer_id: account.developer_id },
          },
          { ...soon, idempotencyKey: account.idempotency_key },
        )
        return toAccount(made)
      }),
    readAccount: (id: string) =>
      call(async () => toAccount(await stripe.accounts.retrieve(id, {}, soon))),
    createAccountLink: (link: { account_id: string; refresh_url: string; return_url: string }) =>
      call(async () => {
        const { account_id: account, refresh_url, return_url } = link
        const wish = { account, refresh_url, return_url, type: 'account_onboarding' } as const
        return (await stripe.accountLinks.create(wish, soon)).url
      }),
    createLoginLink: (id: string) =>
      call(async () => (await stripe.accounts.createLoginLink(id, {}, soon)).url),
  }
}

function paymentCalls(stripe: Stripe, soon: Options) {
  return {
    createCheckout: (checkout: Checkout) => call(() => createCheckout(stripe, checkout, soon)),
    readPayment: (id: string) =>
      call(async () =>
        toPayment(await stripe.paymentIntents.retrieve(id, { expand: ['payment_method'] }, soon)),
      ),
    findPayment: ({ customer_id, topup_id }: SavedCharge, since: Date) =>
      call(async () => {
        const created = { gte: Math.floor(since.getTime() / 1000) - 3600 }
        const wanted = { customer: customer_id, created, limit: PAYMENTS_MAX }
        const { data } = await stripe.paymentIntents.list(wanted)
        return data.map(toPayment).find((payment) => payment.topup_id === topup_id)
      }),
    chargeSaved: (charge: SavedCharge) =>
      call(async () => {
        const made = await stripe.paymentIntents.create(
          {
            amount: Number(charge.amount_cents),
            currency: 'usd',
            customer: charge.customer_id,
            payment_method: charge.payment_method_id,
            off_session: true,
            confirm: true,
            // Nobody is there to be sent to a page.
            automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
            metadata: { topup_id: charge.topup_id },
            description: 'Automatic top-up of credits',
          },
          { idempotencyKey: `topup_${charge.topup_id}` },
        )
        return toPayment(made)
      }),
  }
}

async function listRefunds(stripe: Stripe, payment_intent: string, soon: Options) {
  const refunds: Refund[] = []
  let after = {}
  for (let page = 0; page < REFUND_PAGES_MAX; page++) {
    const wanted = { payment_intent, limit: PAGE, ...after }
    const { data, has_more } = await stripe.refunds.list(wanted, soon)
    refunds.push(...data.map(toRefund))
    const starting_after = data.at(-1)?.id
    if (!has_more || starting_after === undefined) return refunds
    after = { starting_after }
  }
  throw new Error(`payment ${payment_intent} has more refunds than are looked at`)
}

async function createCheckout(stripe: Stripe, checkout: Checkout, soon: Options) {
  const { topup_id, save_payment_method } = checkout
  const session = await stripe.checkout.sessions.create(
    {
      mode: 'payment',
      client_reference_id: topup_id,
      metadata: { topup_id },
      customer_email: checkout.email,
      line_items: [
        {
          quantity: 1,
          price_data: {
            currency: 'usd',
            unit_amount: Number(checkout.amount_cents),
            product_data: { name: 'Credits' },
          },
        },
      ],
      payment_intent_data: {
        metadata: { topup_id },
        ...(save_payment_method && { setup_future_usage: 'off_session' as const }),
      },
      // A saved payment method belongs to a customer, which the processor makes.
      ...(save_payment_method && { customer_creation: 'always' as const }),
      success_url: checkout.success_url,
      cancel_url: checkout.cancel_url,
    },
    { ...soon, idempotencyKey: `topup_${topup_id}` },
  )
  if (!session.url) throw new Error('a checkout has a page')
  return { id: session.id, url: session.url }
}

async function readSignedEvent(
  stripe: Stripe,
  body: string,
  signature: string,
  secrets: readonly string[],
): Promise<Stripe.Event | undefined> {
  for (const secret of secrets) {
    try {
      return await stripe.webhooks.constructEventAsync(body, signature, secret, TOLERANCE_S)
    } catch (error) {
      // What is signed and no JSON is no event either.
      const is_refusal =
        error instanceof stripeErrors().StripeSignatureVerificationError ||
        error instanceof SyntaxError
      if (!is_refusal) throw error
    }
  }
  return undefined
}
