// People who pay: with top-ups at the sandbox's Stripe, and with apps that they have connected.

import assert from 'node:assert/strict'
import type { TestApp } from '../support/app.ts'
import { connect, createOAuthApp, type Person } from '../support/oauth.ts'

export type Payments = Awaited<ReturnType<typeof openPayments>>

/** The sandbox's Stripe tells this service of payments. */
export async function openPayments(service: TestApp & { address: string }) {
  const control = async <Body = Record<string, unknown>>(
    path: string,
    body: object,
  ): Promise<Body> => {
    const response = await fetch(`${service.sandbox.urls.stripe}/_sandbox/stripe${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    assert.equal(response.status, 200, text)
    return JSON.parse(text)
  }
  await control('/webhooks', { url: `${service.address}/webhooks/stripe` })
  const settle = () => control('/webhooks/wait', { timeout_ms: 10_000 })
  /** A top-up that is paid with this card, without a browser. */
  const buy = async (person: Person, amount_usd: number, card = 'visa') => {
    service.clock.advance(1)
    const wish = { amount_usd, save_payment_method: true }
    const reply = await service.post('/account/topups', wish, person.bearer)
    assert.equal(reply.statusCode, 200, reply.body)
    const session_id = reply.json<{ checkout_url: string }>().checkout_url.split('/').at(-1)
    await control(`/checkout/${session_id}/pay`, { card })
    await settle()
  }
  /** What Stripe's dashboard does to the newest payment. */
  const refundLast = async (amount_cents: number) => {
    const headers = { authorization: 'Bearer sk_test_sandbox' }
    const stripe = `${service.sandbox.urls.stripe}/v1`
    const reply = await fetch(`${stripe}/payment_intents?limit=1`, { headers })
    const { data } = (await reply.json()) as { data: { id: string }[] }
    const body = new URLSearchParams({
      payment_intent: data[0]?.id ?? '',
      amount: String(amount_cents),
    })
    const refund = await fetch(`${stripe}/refunds`, { method: 'POST', headers, body })
    assert.equal(refund.status, 200, await refund.text())
    await settle()
  }
  return { control, settle, buy, refundLast }
}

/** An app of somebody else's that may spend $5 a month of the person's, and a way to call through it. */
export async function connectApp(
  service: TestApp,
  user: Person,
  wish: { name?: string; markup_percent?: number } = {},
) {
  const developer = await service.register()
  const app = await createOAuthApp(service, developer, wish)
  const fields = { cap: 'monthly', cap_usd: '5' }
  const { access_token } = await connect(service, { app, user, fields })
  const call = async () => {
    const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Say hello.' }] }
    const bearer = { authorization: `Bearer ${access_token}` }
    const reply = await service.post('/v1/chat/completions', body, bearer)
    return reply.statusCode
  }
  return { app, developer, call }
}
