// Money through a real service and a real browser: onboarding and a top-up on the sandbox's pages, with nothing set but
// the mode; and a service that is killed while it is told of payments.

import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { startSandbox } from '../../sandbox/main.ts'
import { atEnd } from '../support/cleanup.ts'
import { createDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { openPage } from '../support/oauth-browser.ts'
import { freePort } from '../support/redis.ts'
import { call, makeFolder, register, startServer } from '../support/service.ts'
import { skipWithout } from '../support/system-parts.ts'

const WELCOME = 1_000_000
const LONG = process.env['SVC_LONG'] === '1'

async function balanceOf(base: string, token: string): Promise<number> {
  const reply = await call(base, '/auth/me', { bearer: token })
  return reply.json<{ balance: number }>().balance
}

test('a newcomer onboards and tops up by clicking, and the receipt arrives', {
  skip: skipWithout('chromium'),
}, async () => {
  // A port of its own, known beforehand: the processor's pages lead back to PUBLIC_URL.
  const PORT = String(await freePort())
  const DATABASE_URL = await createDatabase()
  const DATA_DIR = makeFolder()
  const server = await startServer({ DATA_DIR, DATABASE_URL, PORT, HOST: '0.0.0.0' })
  const { token } = await register(server.url)
  const cookie = { cookie: `svc_session=${token}` }
  const { page, context, complaints } = await openPage()
  await context.addCookies([{ name: 'svc_session', value: token, domain: 'localhost', path: '/' }])

  const onboarding = await call(server.url, '/developers/connect/onboard', {
    method: 'POST',
    headers: cookie,
  })
  assert.equal(onboarding.status, 201, onboarding.text)
  const { onboarding_url } = onboarding.json<{ onboarding_url: string }>()
  await page.goto(onboarding_url)
  await page.getByRole('heading', { name: 'Set up payouts' }).waitFor()
  // Links open once: the second visit is led through us to a fresh one.
  await page.goto(onboarding_url)
  await page.getByLabel('Everything is in order').check()
  await page.getByRole('button', { name: 'Submit' }).click()
  await page.getByRole('heading', { name: 'Back from Stripe' }).waitFor()
  const status = await call(server.url, '/developers/connect/status', { headers: cookie })
  assert.equal(status.json<{ onboarding_completed: boolean }>().onboarding_completed, true)
  const dashboard = await call(server.url, '/developers/connect/dashboard-link', {
    method: 'POST',
    headers: cookie,
  })
  await page.goto(dashboard.json<{ dashboard_url: string }>().dashboard_url)
  assert.match(await page.content(), /Balance/i)

  const topup = await call(server.url, '/account/topups', {
    body: { amount_usd: 25 },
    bearer: token,
  })
  assert.equal(topup.status, 200, topup.text)
  await page.goto(topup.json<{ checkout_url: string }>().checkout_url)
  await page.getByLabel('Visa 0002').check()
  await page.getByRole('button', { name: 'Pay $25.00' }).click()
  assert.match((await page.getByRole('alert').textContent()) ?? '', /declined/)
  await page.getByLabel('Visa 4242').check()
  await page.getByRole('button', { name: 'Pay $25.00' }).click()
  await page.getByRole('heading', { name: 'Thank you' }).waitFor()
  await eventually(
    'the payment is credited',
    async () => (await balanceOf(server.url, token)) === WELCOME + 25_000_000,
  )
  const mail_folder = path.join(DATA_DIR, 'mail')
  await eventually('the receipt is sent', () => {
    if (!existsSync(mail_folder)) return false
    const mails = readdirSync(mail_folder).map((file) =>
      readFileSync(path.join(mail_folder, file), 'utf8'),
    )
    return mails.some((mail) => mail.includes('Receipt: 25000000 credits'))
  })
  assert.deepEqual(complaints, [])
  await server.stop()
})

test('a service that is killed while it is told of payments credits each once', async () => {
  const sandbox = await startSandbox({ port: 0 })
  atEnd(() => sandbox.close())
  const control = async (path: string, body: object) => {
    const reply = await call(`${sandbox.urls.stripe}/_sandbox/stripe`, path, { body })
    assert.equal(reply.status, 200, reply.text)
    return reply.json<{ statuses: number[] }>()
  }
  const settings = {
    DATA_DIR: makeFolder(),
    DATABASE_URL: await createDatabase(),
    STRIPE_SECRET_KEY: 'sk_test_sandbox',
    STRIPE_BASE_URL: sandbox.urls.stripe,
    STRIPE_WEBHOOK_SECRET: 'whsec_sandbox_account',
    STRIPE_CONNECT_WEBHOOK_SECRET: 'whsec_sandbox_connect',
  }
  const first = await startServer(settings)
  const { token } = await register(first.url)
  await control('/webhooks', { url: `${first.url}/webhooks/stripe`, hold: true })
  const TOPUPS = LONG ? 100 : 10
  for (let i = 0; i < TOPUPS; i++) {
    const reply = await call(first.url, '/account/topups', {
      body: { amount_usd: 5 },
      bearer: token,
    })
    const session_id = reply.json<{ checkout_url: string }>().checkout_url.split('/').at(-1)
    await control(`/checkout/${session_id}/pay`, { card: 'visa' })
  }
  await control('/webhooks/release', { order: 'shuffled', copies: 2 })
  await wait(60)
  await first.kill()
  await control('/webhooks', { url: null })

  const second = await startServer(settings)
  await control('/webhooks', { url: `${second.url}/webhooks/stripe`, hold: false })
  const { data } = (
    await call(sandbox.urls.stripe, '/v1/events?type=checkout.session.completed&limit=100', {
      bearer: 'sk_test_sandbox',
    })
  ).json<{ data: { id: string }[] }>()
  assert.equal(data.length, TOPUPS)
  for (const event of data) {
    const { statuses } = await control(`/events/${event.id}/send`, {})
    assert.deepEqual(statuses, [200])
  }
  await control('/webhooks/wait', { timeout_ms: 5_000 })
  assert.equal(await balanceOf(second.url, token), WELCOME + TOPUPS * 5_000_000)
  await second.stop()
})
