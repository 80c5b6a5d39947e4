// An account with a month behind it, made through the API while the clock of the service walks: two apps with users who
// pay, three keys, calls across models, a webhook that fails, earnings, payouts and top-ups. For pictures and tests.

import assert from 'node:assert/strict'
import { foldUsage } from '../../src/usage/jobs.ts'
import { fanOut } from '../../src/webhooks/fan-out.ts'
import { keepWebhookLog, sendDue } from '../../src/webhooks/jobs.ts'
import { batch, standInAt } from '../payouts/support.ts'
import { PASSWORD, type TestApp } from '../support/app.ts'
import { startEventReceiver } from '../support/event-receiver.ts'
import { eventually } from '../support/eventually.ts'
import { verifyAddress } from '../support/mails.ts'
import { connectHosted, createOAuthApp, type Person } from '../support/oauth.ts'

const DAY_MS = 24 * 3_600_000
const EMAIL = 'ada@lovelace.example'
const PAYOUT_DAYS: readonly number[] = [19, 28]
const TOP_UP_DAYS: readonly number[] = [3, 19]

/** Settings that a month of calls needs. */
export const LIVED_IN_SETTINGS = { WELCOME_CREDITS: '40000000' }

/** Model, tokens of the answer: what is asked for again and again. */
const OWN_CALLS = [
  ['gpt-4o-mini', 9_000],
  ['anthropic/claude-sonnet-4', 30_000],
  ['gpt-4o', 11_000],
  ['google/gemini-2.5-flash', 26_000],
  ['gpt-5', 20_000],
  ['google/gemini-2.5-pro', 12_000],
] as const
const USER_CALLS = [
  ['anthropic/claude-opus-4', 20_000],
  ['anthropic/claude-opus-4', 14_000],
  ['gpt-4o', 9_000],
] as const

export type LivedIn = Awaited<ReturnType<typeof makeLivedInAccount>>

type Listening = TestApp & { address: string }

export async function makeLivedInAccount(
  service: Listening,
  options: { days?: number; scale?: number } = {},
) {
  const { days = 30, scale = 1 } = options
  const begin = { service, random: seeded(7), scale }
  service.clock.advance(-days * DAY_MS)
  const developer = await service.register(EMAIL)
  const belongings = await makeBelongings(service, developer)
  await verifyAddress(service, developer)
  const stripe = await connectStripe(service, developer)
  for (let day = 0; day < days; day++) {
    await liveOneDay(begin, belongings, day)
    if (TOP_UP_DAYS.includes(day)) await topUp(service, stripe, 20)
    if (PAYOUT_DAYS.includes(day)) {
      const { database_url, parts } = service
      await batch(
        { db: parts.db, database_url, stand_in: stripe },
        { now: service.clock.now(), limits: { timeout: 5_000, maxNetworkRetries: 0 } },
      )
    }
    service.clock.advance(DAY_MS)
  }
  await callNow(begin, belongings)
  const person = await signInAgain(service)
  await nearLimit(service, person, belongings.keys.production.id)
  const { parts } = service
  await parts.failed_calls.flush(parts.db)
  await foldUsage({ ...parts, wakeMailSender: () => {} })
  await deliver(service)
  return { ...belongings, person, stripe }
}

async function makeBelongings(service: Listening, developer: Person) {
  const { bearer } = developer
  const apps = {
    poems: await createOAuthApp(service, developer, { name: 'Poem Machine', markup_percent: 50 }),
    inbox: await createOAuthApp(service, developer, { name: 'Inbox Helper', markup_percent: 30 }),
  }
  const in_days = (days: number) =>
    new Date(service.clock.now().getTime() + days * DAY_MS).toISOString()
  const keys = {
    production: await service.createKey(bearer, {
      name: 'production',
      spend_limit_credits: 50_000_000,
      spend_limit_period: 'total',
    }),
    staging: await service.createKey(bearer, { name: 'staging', expires_at: in_days(36) }),
    users: await service.createKey(bearer, { name: 'poem machine', billing_mode: 'user' }),
  }
  const users = ['grace', 'linus', 'margaret']
  for (const [at, name] of users.entries()) {
    const user = await service.register(`${name}@example.com`)
    const app = at < 2 ? apps.poems : apps.inbox
    await connectHosted(service, { app, user, external_user_id: `user-${name}` })
  }
  const healthy = await startEventReceiver()
  const failing = await startEventReceiver((response) => {
    response.statusCode = 503
    response.end('database is starting up')
  })
  const addWebhook = async (client_id: string, url: string) => {
    const wanted = { client_id, url, events: ['usage.completed', 'user.connected'] }
    const reply = await service.post('/v1/webhooks', wanted, bearer)
    assert.equal(reply.statusCode, 201, reply.body)
    return reply.json<{ id: string }>()
  }
  const webhooks = {
    healthy: await addWebhook(apps.poems.client_id, `${healthy.url}/svc/events`),
    failing: await addWebhook(apps.inbox.client_id, `${failing.url}/hooks`),
  }
  return { apps, keys, users, webhooks }
}

type Belongings = Awaited<ReturnType<typeof makeBelongings>>
/** `scale`: how much longer or shorter answers are, and how dear. */
type Begin = { service: Listening; random: () => number; scale: number }

/** Busier in the week than at its end, and a little more every day. */
async function liveOneDay(
  { service, random, scale }: Begin,
  { keys, users }: Belongings,
  day: number,
) {
  const is_weekend = [0, 6].includes(service.clock.now().getUTCDay())
  const pace = scale * (is_weekend ? 0.35 : 1) * (0.6 + day / 60)
  for (const [at, [model, tokens]] of OWN_CALLS.entries()) {
    const key = at % 3 === 2 ? keys.staging : keys.production
    const prompt = `[[sandbox:tokens=${Math.ceil(tokens * pace * (0.5 + random()))}]] Go on.`
    await call(service, key.key, { model, prompt })
  }
  for (const [at, [model, tokens]] of USER_CALLS.entries()) {
    const user = `user-${users[(day + at) % users.length]}`
    const prompt = `[[sandbox:tokens=${Math.ceil(tokens * pace * (0.5 + random()))}]] A poem.`
    await call(service, keys.users.key, { model, prompt, user })
  }
  if (day % 6 === 5) {
    await call(service, keys.staging.key, { model: 'gpt-4o', prompt: '[[sandbox:overloaded]]' })
  }
}

/** What stands on top of the lists. */
async function callNow(begin: Begin, belongings: Belongings): Promise<void> {
  const { service, scale } = begin
  service.clock.advance(-3 * 3_600_000)
  await liveOneDay(begin, belongings, 20)
  service.clock.advance(3_600_000)
  await call(service, belongings.keys.staging.key, { model: 'gpt-4o', prompt: '[[sandbox:429]]' })
  for (const [model, tokens] of OWN_CALLS) {
    service.clock.advance(17 * 60_000)
    const prompt = `[[sandbox:tokens=${Math.ceil((tokens * scale) / 12)}]] And now?`
    await call(service, belongings.keys.production.key, { model, prompt })
  }
  service.clock.advance(2 * 3_600_000 - OWN_CALLS.length * 17 * 60_000)
}

async function call(
  service: Listening,
  key: string,
  asked: { model: string; prompt: string; user?: string },
): Promise<void> {
  const { model, prompt, user } = asked
  await service.post(
    '/v1/chat/completions',
    { model, messages: [{ role: 'user', content: prompt }] },
    { authorization: `Bearer ${key}`, ...(user !== undefined && { 'x-svc-user': user }) },
  )
}

type Stripe = ReturnType<typeof standInAt>

async function connectStripe(service: Listening, developer: Person): Promise<Stripe> {
  const stripe = standInAt(service.sandbox.urls.stripe)
  await stripe.control('/webhooks', { url: `${service.address}/webhooks/stripe` })
  const headers = { cookie: `svc_session=${developer.token}` }
  const url = '/developers/connect/onboard'
  const reply = await service.request({ method: 'POST', url, headers })
  assert.equal(reply.statusCode, 201, reply.body)
  const { stripe_account_id } = reply.json<{ stripe_account_id: string }>()
  await stripe.control(`/accounts/${stripe_account_id}`, { outcome: 'complete' })
  const status = await service.request({ url: '/developers/connect/status', headers })
  assert.equal(status.json().payouts_enabled, true)
  return stripe
}

async function topUp(service: Listening, stripe: Stripe, amount_usd: number): Promise<void> {
  const { bearer } = await signInAgain(service)
  const reply = await service.post('/account/topups', { amount_usd }, bearer)
  assert.equal(reply.statusCode, 200, reply.body)
  const session_id = new URL(reply.json<{ checkout_url: string }>().checkout_url).pathname
    .split('/')
    .at(-1)
  await stripe.control(`/checkout/${session_id}/pay`, { card: 'visa' })
  await stripe.control('/webhooks/wait', { timeout_ms: 10_000 })
}

async function signInAgain(service: Listening) {
  const reply = await service.post('/auth/login', { email: EMAIL, password: PASSWORD })
  const { session_token: token, user } = reply.json<{
    session_token: string
    user: { id: string }
  }>()
  const bearer = { authorization: `Bearer ${token}` }
  return { email: EMAIL, user_id: user.id, token, bearer }
}

/** The limit is set to what 91 % of it have been spent of. */
async function nearLimit(service: Listening, { bearer }: Person, id: string): Promise<void> {
  const list = await service.request({ url: '/developers/keys', headers: bearer })
  const { data } = list.json<{ data: { id: string; spent_period_credits: number }[] }>()
  const spent = data.find((key) => key.id === id)?.spent_period_credits ?? 0
  const reply = await service.request({
    method: 'PATCH',
    url: `/developers/keys/${id}`,
    headers: { ...bearer, 'content-type': 'application/json' },
    payload: JSON.stringify({
      spend_limit_credits: Math.ceil(spent / 0.91),
      spend_limit_period: 'total',
    }),
  })
  assert.equal(reply.statusCode, 200, reply.body)
}

async function deliver({ parts }: Listening): Promise<void> {
  await keepWebhookLog(parts)
  await fanOut(parts)
  await sendDue({ ...parts, wakeMailSender: () => {} })
  await eventually('the dispatcher is idle', () => parts.dispatcher.is_idle, 30_000)
}

/** The same account each time it is made. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}
