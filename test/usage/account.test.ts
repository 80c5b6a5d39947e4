// What /account says beside the wallet: by which way its owner came, and what the pages have to know of the service.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp, PASSWORD, type TestApp } from '../support/app.ts'
import { LIVE_SETTINGS } from '../support/live-settings.ts'
import { createOAuthApp, Visitor } from '../support/oauth.ts'

type Account = { came_from: string; mode: string; service: Record<string, unknown> }

async function readAccount(service: TestApp, headers: Record<string, string>): Promise<Account> {
  const reply = await service.request({ url: '/account', headers })
  assert.equal(reply.statusCode, 200, reply.body)
  return reply.json<Account>()
}

test('who registered on the way to an app is known from who came by themselves', async () => {
  const service = await createApp()
  const developer = await service.register()
  const app = await createOAuthApp(service, developer)
  const cameFrom = async (email: string, query: string) => {
    const visitor = new Visitor(service)
    const entered = await visitor.fill(`/oauth/register${query}`, { email, password: PASSWORD })
    assert.equal(entered.statusCode, 303)
    const cookie = `svc_session=${visitor.cookies.get('svc_session')}`
    return (await readAccount(service, { cookie })).came_from
  }
  assert.equal((await readAccount(service, developer.bearer)).came_from, 'registration')
  assert.equal(await cameFrom('self@example.com', ''), 'registration')
  assert.equal(await cameFrom('sent@example.com', `?client_id=${app.client_id}`), 'consent')
})

test('the pages learn the mode, the currency, what a top-up may cost and who can be called', async () => {
  const sandbox = await createApp({ settings: { TOPUP_MIN_USD: '10', TOPUP_MAX_USD: '60' } })
  const { bearer } = await sandbox.register()
  const { mode, service } = await readAccount(sandbox, bearer)
  assert.equal(mode, 'sandbox')
  assert.deepEqual(service, {
    public_url: sandbox.parts.config.PUBLIC_URL,
    currency: 'usd',
    credits_per_usd: 1_000_000,
    topup: { min_usd: 10, max_usd: 60, suggested_usd: [10, 20, 50] },
    providers: ['openai', 'anthropic', 'google', 'elevenlabs'],
  })
})

test('nobody is offered a top-up or a provider that does not work here', async () => {
  const settings = { ...LIVE_SETTINGS, STRIPE_SECRET_KEY: '', OPENAI_API_KEY: '' }
  const live = await createApp({ settings })
  const { mode, service } = await readAccount(live, (await live.register()).bearer)
  assert.equal(mode, 'live')
  assert.equal(service['topup'], null)
  assert.deepEqual(service['providers'], ['anthropic', 'google', 'elevenlabs'])
})
