// GET /account/attention: keys and webhooks of one's own that need a look, and no others.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { createOAuthApp } from '../support/oauth.ts'

const service = await createApp({ settings: { WELCOME_CREDITS: '50000000' } })
const DAY_MS = 24 * 3_600_000

type Attention = { keys: Record<string, unknown>[]; webhooks: Record<string, unknown>[] }

async function read(headers: Record<string, string>): Promise<Attention> {
  const reply = await service.request({ url: '/account/attention', headers })
  assert.equal(reply.statusCode, 200, reply.body)
  return reply.json<Attention>()
}

async function chat(key: string) {
  const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Say hello.' }] }
  return await service.post('/v1/chat/completions', body, { authorization: `Bearer ${key}` })
}

test('keys near their limit or their end are named, and those with room are not', async () => {
  const { bearer } = await service.register()
  const inDays = (days: number) =>
    new Date(service.clock.now().getTime() + days * DAY_MS).toISOString()
  const spent = await service.createKey(bearer, { name: 'production' })
  const first = await chat(spent.key)
  assert.equal(first.statusCode, 200, first.body)
  const limited = await service.createKey(bearer, {
    name: 'limited',
    spend_limit_credits: 1_000_000,
    spend_limit_period: 'month',
  })
  assert.equal((await chat(limited.key)).statusCode, 200)
  await service.createKey(bearer, { name: 'soon', expires_at: inDays(13) })
  await service.createKey(bearer, { name: 'later', expires_at: inDays(15) })
  assert.deepEqual(
    (await read(bearer)).keys.map((key) => key['name']),
    ['soon'],
  )
  await sql(service.database_url, 'update spend_counter set spent = 850000 where owner_id = $1', [
    limited.id,
  ])
  const { keys } = await read(bearer)
  assert.deepEqual(
    keys.map((key) => [key['name'], key['is_near_limit'], key['spent_period_credits']]),
    [
      ['soon', false, null],
      ['limited', true, 850_000],
    ],
  )
  assert.deepEqual(await read((await service.register()).bearer), { keys: [], webhooks: [] })
})

test('webhooks whose attempts fail, or that were switched off, are named', async () => {
  const developer = await service.register()
  const app = await createOAuthApp(service, developer)
  const addWebhook = async (url: string) => {
    const wanted = { client_id: app.client_id, url, events: ['usage.completed'] }
    const reply = await service.post('/v1/webhooks', wanted, developer.bearer)
    assert.equal(reply.statusCode, 201, reply.body)
    return reply.json<{ id: string }>().id
  }
  const count = (name: string, delivered: number, failed: number) =>
    sql(
      service.database_url,
      `insert into webhook_stat (half_hour, delivered, failed, failed_events, webhook_id, durations)
       values (date_trunc('hour', ledger_now()), $2, $3, $3, $1, '{}')`,
      [name.slice(3).replace(/(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'), delivered, failed],
    )
  const failing = await addWebhook('https://hooks.example/failing')
  const healthy = await addWebhook('https://hooks.example/healthy')
  const off = await addWebhook('https://hooks.example/off')
  await count(failing, 9, 1)
  await count(healthy, 91, 9)
  await sql(
    service.database_url,
    'update webhook set active = false, switched_off_at = ledger_now() where url = $1',
    ['https://hooks.example/off'],
  )
  const { webhooks } = await read(developer.bearer)
  assert.deepEqual(
    webhooks.map((row) => [
      row['id'],
      row['delivered'],
      row['failed'],
      row['switched_off_at'] !== null,
    ]),
    [
      [off, 0, 0, true],
      [failing, 9, 1, false],
    ],
  )
})
