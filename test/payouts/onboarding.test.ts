// The payout account of a developer: every status and code, and Stripe failing in every way.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { LIVE_SETTINGS } from '../support/live-settings.ts'
import { openShop, type Person, registerPerson } from './shop.ts'

const shop = await openShop({ STRIPE_TIMEOUT_MS: '2000' })
const { service } = shop

const PATHS = [
  ['POST', '/developers/connect/onboard'],
  ['POST', '/developers/connect/onboard/refresh'],
  ['GET', '/developers/connect/status'],
  ['POST', '/developers/connect/dashboard-link'],
] as const

type Started = { onboarding_url: string; stripe_account_id: string }

function ask(person: Person, method: 'GET' | 'POST', path: string) {
  return service.request({ method, url: `/developers/connect${path}`, headers: person.cookie })
}

async function onboard(person: Person): Promise<Started> {
  const reply = await ask(person, 'POST', '/onboard')
  assert.equal(reply.statusCode, 201, reply.body)
  return reply.json<Started>()
}

async function statusOf(person: Person) {
  const reply = await ask(person, 'GET', '/status')
  assert.equal(reply.statusCode, 200, reply.body)
  return reply.json<Record<string, unknown>>()
}

function setOutcome(id: string, outcome: string) {
  return shop.control('POST', `/accounts/${id}`, { outcome })
}

async function mirrorOf({ user_id }: Person) {
  const [row] = await sql<Record<string, unknown>>(
    service.database_url,
    'select * from payout_account where developer_id = $1',
    [user_id],
  )
  return row
}

test('payout endpoints take the session cookie and nothing else', async () => {
  const person = await registerPerson(shop)
  const { key } = await service.createKey(person.bearer)
  const credentials = [
    {},
    person.bearer,
    { 'x-api-key': key },
    { cookie: 'svc_session=sess_wrong' },
  ]
  for (const [method, url] of PATHS) {
    for (const headers of credentials) {
      const reply = await service.request({ method, url, headers })
      assert.equal(reply.statusCode, 401, `${url} ${JSON.stringify(headers)}`)
      assert.equal(reply.json().error.code, 'unauthorized')
    }
    const reply = await service.request({ method, url, headers: person.cookie })
    assert.notEqual(reply.statusCode, 401)
  }
})

test('a write that a page of another site asks for is refused', async () => {
  const person = await registerPerson(shop)
  const headers = { ...person.cookie, 'sec-fetch-site': 'cross-site' }
  const url = '/developers/connect/onboard'
  const reply = await service.request({ method: 'POST', url, headers })
  assert.equal(reply.statusCode, 403)
})

test('without an account there is nothing to refresh, to open or to tell', async () => {
  const person = await registerPerson(shop)
  assert.deepEqual(await statusOf(person), { connected: false })
  for (const path of ['/onboard/refresh', '/dashboard-link']) {
    const reply = await ask(person, 'POST', path)
    assert.equal(reply.statusCode, 404)
    assert.equal(reply.json().error.code, 'not_found')
  }
})

test('from no account to a finished one: link, 409, refresh, dashboard', async () => {
  const person = await registerPerson(shop)
  const { onboarding_url, stripe_account_id } = await onboard(person)
  assert.match(onboarding_url, /^http/)

  const again = await ask(person, 'POST', '/onboard')
  assert.equal(again.statusCode, 409)
  assert.equal(again.json().error.code, 'already_connected')
  const refreshed = await ask(person, 'POST', '/onboard/refresh')
  assert.equal(refreshed.statusCode, 200)
  assert.notEqual(refreshed.json<Started>().onboarding_url, onboarding_url)

  const early = await ask(person, 'POST', '/dashboard-link')
  assert.equal(early.statusCode, 400)
  assert.equal(early.json().error.code, 'onboarding_incomplete')
  assert.equal((await statusOf(person))['onboarding_completed'], false)

  await setOutcome(stripe_account_id, 'complete')
  assert.deepEqual(await statusOf(person), {
    connected: true,
    stripe_account_id,
    charges_enabled: true,
    payouts_enabled: true,
    details_submitted: true,
    onboarding_completed: true,
    country: 'US',
    default_currency: 'usd',
    disabled_reason: null,
    requirements_due: [],
  })
  const opened = await ask(person, 'POST', '/dashboard-link')
  assert.equal(opened.statusCode, 200, opened.body)
  assert.match(opened.json<{ dashboard_url: string }>().dashboard_url, /^http/)
})

test('details without payouts are no finished onboarding, and the reason is told', async () => {
  const person = await registerPerson(shop)
  const { stripe_account_id } = await onboard(person)
  await setOutcome(stripe_account_id, 'rejected')
  const status = await statusOf(person)
  assert.equal(status['details_submitted'], true)
  assert.equal(status['onboarding_completed'], false)
  assert.equal(status['disabled_reason'], 'rejected.fraud')
})

test('what the processor still wants is told by its names, and is gone once it has it', async () => {
  const person = await registerPerson(shop)
  const { stripe_account_id } = await onboard(person)
  const due = async () => (await statusOf(person))['requirements_due']
  const at_first = await due()
  assert.ok(Array.isArray(at_first) && at_first.includes('external_account'))
  await setOutcome(stripe_account_id, 'needs_document')
  assert.deepEqual(await due(), ['individual.verification.document'])
  await setOutcome(stripe_account_id, 'complete')
  assert.deepEqual(await due(), [])
})

test('ten requests at once make one account', async () => {
  const person = await registerPerson(shop)
  const replies = await Promise.all(
    Array.from({ length: 10 }, () => ask(person, 'POST', '/onboard')),
  )
  const made = replies.filter((reply) => reply.statusCode === 201)
  assert.equal(made.length, 1)
  for (const reply of replies) assert.ok([201, 409].includes(reply.statusCode), reply.body)
  const key = `connect_account_${person.user_id}_0`
  const { keys } = await shop.control<{ keys: { executed: number }[] }>('GET', `/keys?key=${key}`)
  assert.deepEqual(
    keys.map((one) => one.executed),
    [1],
  )
})

for (const fault of [
  { fault: 'status', status: 500, times: 2 },
  { fault: 'status', status: 500, when: 'after', times: 2 },
  { fault: 'status', status: 429 },
  { fault: 'status', status: 401 },
  { fault: 'reset', times: 2 },
  { fault: 'timeout', times: 2 },
  { fault: 'cut', when: 'after' },
  { fault: 'garbage', times: 2 },
]) {
  const name = [fault.fault, fault.status, fault.when].filter(Boolean).join(' ')
  test(`Stripe fails (${name}): 502 stripe_error, and a repeat makes the one account`, async () => {
    const person = await registerPerson(shop)
    await shop.fail('/v1/accounts', fault)
    const failed = await ask(person, 'POST', '/onboard')
    await shop.heal()
    assert.equal(failed.statusCode, 502, failed.body)
    assert.equal(failed.json().error.code, 'stripe_error')
    await onboard(person)
    const { keys } = await shop.control<{ keys: { succeeded: number }[] }>(
      'GET',
      `/keys?key=connect_account_${person.user_id}_0`,
    )
    assert.equal(keys[0]?.succeeded, 1)
  })
}

test('an error that Stripe has saved under the key is left behind at the second try', async () => {
  const person = await registerPerson(shop)
  await shop.fail('/v1/accounts', { fault: 'status', status: 500, when: 'during', times: 1 })
  assert.equal((await ask(person, 'POST', '/onboard')).statusCode, 502)
  await onboard(person)
})

test('a link that cannot be made leaves nothing behind: the repeat is 201', async () => {
  const person = await registerPerson(shop)
  await shop.fail('/v1/account_links', { fault: 'status', status: 500, times: 2 })
  assert.equal((await ask(person, 'POST', '/onboard')).statusCode, 502)
  await shop.heal()
  await onboard(person)
})

for (const fault of ['timeout', 'reset', 'garbage']) {
  test(`the status comes from the mirror when Stripe fails (${fault})`, async () => {
    const person = await registerPerson(shop)
    const { stripe_account_id } = await onboard(person)
    await setOutcome(stripe_account_id, 'complete')
    await shop.settle()
    const before = await statusOf(person)
    await shop.fail('/v1/accounts/*', { fault, times: 4 }, 'GET')
    const began = performance.now()
    assert.deepEqual(await statusOf(person), before)
    assert.ok(performance.now() - began < 10_000)
    const opened = await ask(person, 'POST', '/dashboard-link')
    await shop.heal()
    assert.equal(opened.statusCode, 502)
    assert.equal(opened.json().error.code, 'stripe_error')
  })
}

test('events keep the mirror: updated, reordered, twice, and never back to what was', async () => {
  const person = await registerPerson(shop)
  const { stripe_account_id } = await onboard(person)
  await shop.settle()
  await shop.control('POST', '/webhooks', { hold: true })
  await setOutcome(stripe_account_id, 'pending')
  await setOutcome(stripe_account_id, 'complete')
  await shop.control('POST', '/webhooks/release', { order: 'reversed', copies: 2 })
  await shop.settle()
  await shop.control('POST', '/webhooks', { hold: false })
  const row = await mirrorOf(person)
  assert.equal(row?.['payouts_enabled'], true)
  assert.equal(row?.['details_submitted'], true)
  assert.ok(row?.['onboarding_completed_at'])
})

test('an event leads to one look at the account, however often it comes; an older one to none', async () => {
  const person = await registerPerson(shop)
  const { stripe_account_id: id } = await onboard(person)
  await setOutcome(id, 'pending')
  await shop.settle()
  const looks = async () => Number((await mirrorOf(person))?.['looks_begun'])
  type Told = { event: { id: string; created: number } }
  const tell = (type: string) =>
    shop.control<Told>('POST', '/events', { type, object: { id }, account: id })
  const older = await tell('account.updated')
  await shop.settle()
  await shop.control('POST', '/clock', { advance_s: 60 })
  const newer = await tell('account.updated')
  await shop.settle()
  const before = await looks()
  assert.ok(newer.event.created > older.event.created)
  const again = { times: 3 }
  await shop.control('POST', `/events/${newer.event.id}/send`, again)
  await shop.control('POST', `/events/${older.event.id}/send`, again)
  assert.equal(await looks(), before)
  // Not done before, and older than what was: as an event that was long on its way.
  await sql(service.database_url, 'delete from stripe_event where id = $1', [older.event.id])
  await shop.control('POST', `/events/${older.event.id}/send`, again)
  assert.equal(await looks(), before)
  for (const wrong of [{ secret: 'whsec_wrong' }, { age_s: 301 }]) {
    const sent = await shop.control<{ statuses: number[] }>(
      'POST',
      `/events/${newer.event.id}/send`,
      wrong,
    )
    assert.deepEqual(sent.statuses, [400])
  }
})

test('an event that cannot be done yet is refused, and done when Stripe repeats it', async () => {
  const person = await registerPerson(shop)
  const { stripe_account_id } = await onboard(person)
  await shop.settle()
  await shop.fail('/v1/accounts/*', { fault: 'status', status: 500, times: 2 }, 'GET')
  await setOutcome(stripe_account_id, 'complete')
  await shop.settle()
  await shop.heal()
  assert.equal((await mirrorOf(person))?.['payouts_enabled'], true)
})

test('who cuts us off has no account any more, and may begin again with another', async () => {
  const person = await registerPerson(shop)
  const { stripe_account_id } = await onboard(person)
  await setOutcome(stripe_account_id, 'complete')
  await statusOf(person)
  await shop.control('POST', `/accounts/${stripe_account_id}/deauthorize`)
  await shop.settle()
  assert.equal((await mirrorOf(person))?.['payouts_enabled'], false)
  assert.deepEqual(await statusOf(person), { connected: false })
  const next = await onboard(person)
  assert.notEqual(next.stripe_account_id, stripe_account_id)
})

test('in live mode without keys payments answer 503, and the status still works', async () => {
  const live = await createApp({
    settings: {
      ...LIVE_SETTINGS,
      STRIPE_SECRET_KEY: '',
      STRIPE_WEBHOOK_SECRET: '',
      STRIPE_CONNECT_WEBHOOK_SECRET: '',
    },
  })
  const { token, bearer } = await live.register()
  const headers = { cookie: `svc_session=${token}` }
  for (const [method, url] of PATHS) {
    if (method === 'GET') continue
    const reply = await live.request({ method, url, headers })
    assert.equal(reply.statusCode, 503)
    assert.equal(reply.json().error.code, 'provider_misconfigured')
  }
  const status = await live.request({ url: '/developers/connect/status', headers })
  assert.deepEqual(status.json(), { connected: false })
  const event = await live.post('/webhooks/stripe', {}, { 'stripe-signature': 't=1,v1=00' })
  assert.equal(event.statusCode, 503)
  assert.equal((await live.request({ url: '/auth/me', headers: bearer })).statusCode, 200)
})

test('a page of Stripe that is too old leads back to a fresh one', async () => {
  const person = await registerPerson(shop)
  const { onboarding_url } = await onboard(person)
  const reply = await service.request({
    url: '/developers/connect/refresh',
    headers: person.cookie,
  })
  assert.equal(reply.statusCode, 303)
  assert.notEqual(reply.headers.location, onboarding_url)
  const stranger = await service.request({ url: '/developers/connect/refresh' })
  assert.equal(stranger.statusCode, 401)
  const back = await service.request({ url: '/developers/connect/return' })
  assert.equal(back.statusCode, 200)
})

test('a browser comes back from onboarding to the page of the console that it left, and to no other site', async () => {
  const person = await registerPerson(shop)
  const start = (path: string, return_to: string) =>
    service.post(`/developers/connect${path}`, { return_to }, person.cookie)
  const leave = async ({ onboarding_url }: Started) => {
    const form = await fetch(onboarding_url)
    const [, action] = /action="([^"]+)"/.exec(await form.text()) ?? []
    const left = await fetch(new URL(action ?? '', form.url), {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams({ action: 'leave' }),
    })
    return left.headers.get('location')
  }
  const page = `${service.parts.config.PUBLIC_URL}/console/earnings`
  for (const path of ['/onboard', '/onboard/refresh']) {
    assert.equal((await start(path, 'https://evil.example')).statusCode, 400)
    const started = await start(path, '/console/earnings')
    assert.ok(started.statusCode < 300, started.body)
    assert.equal(await leave(started.json<Started>()), page)
  }
  const without = await ask(person, 'POST', '/onboard/refresh')
  assert.match(String(await leave(without.json<Started>())), /\/developers\/connect\/return$/)
})
