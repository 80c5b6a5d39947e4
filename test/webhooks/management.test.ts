// /v1/webhooks over HTTP: what it takes, what it refuses and whose it is.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sql } from '../support/database.ts'
import { createOAuthApp } from '../support/oauth.ts'
import { ALL_EVENTS, createWebhookService } from '../support/webhooks.ts'

const service = await createWebhookService()
const { developer, app, webhook, ask, post, receiver } = await service.owner({
  low_balance_threshold: 100_000,
})
const { client_id, id: app_id } = app
const URL = 'https://example.com/hook'

type Failure = { error: { code: string; message: string; hint?: string } }

async function createWith(body: object, bearer = developer.bearer) {
  const reply = await service.post('/v1/webhooks', body, bearer)
  return { status: reply.statusCode, code: reply.json<Failure>().error?.code }
}

describe('a new webhook', () => {
  it('is answered with its secret, which is never shown again', async () => {
    const reply = await service.post(
      '/v1/webhooks',
      { client_id, url: URL, events: ['balance.low', 'balance.low'], low_balance_threshold: 5 },
      developer.bearer,
    )
    assert.equal(reply.statusCode, 201)
    const { secret, ...made } = reply.json<Record<string, unknown> & { secret: string }>()
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    const { id, created_at, ...rest } = made
    assert.match(String(id), /^wh_[0-9a-f]{32}$/)
    assert.ok(Date.parse(String(created_at)))
    assert.deepEqual(rest, {
      client_id,
      app_id,
      app_name: 'Poem Machine',
      url: URL,
      events: ['balance.low'],
      low_balance_threshold: 5,
      active: true,
      switched_off_at: null,
      previous_secret_until: null,
    })
    assert.deepEqual((await ask('GET', `/v1/webhooks/${String(id)}`)).json(), made)
  })

  it('keeps its secret sealed', async () => {
    const rows = await sql<{ secret: string }>(service.database_url, 'select secret from webhook')
    for (const { secret } of rows) assert.doesNotMatch(secret, /whsec_/)
  })

  it('is refused with invalid_request where the input is not what it should be', async () => {
    const good = { client_id, url: URL, events: ALL_EVENTS }
    const bad: object[] = [
      {},
      { url: URL, events: ALL_EVENTS },
      { client_id, events: ALL_EVENTS },
      { client_id, url: URL },
      { ...good, events: [] },
      { ...good, events: ['balance.high'] },
      { ...good, events: 'balance.low' },
      { ...good, events: [1] },
      { ...good, url: 1 },
      { ...good, low_balance_threshold: 0 },
      { ...good, low_balance_threshold: -1 },
      { ...good, low_balance_threshold: 1.5 },
      { ...good, low_balance_threshold: 2 ** 53 },
      { ...good, low_balance_threshold: '5' },
      { ...good, client_id: 7 },
    ]
    for (const body of bad) {
      const { status, code } = await createWith(body)
      assert.deepEqual([status, code], [400, 'invalid_request'], JSON.stringify(body))
    }
  })

  it('is refused with invalid_url where we must not or cannot dial', async () => {
    for (const url of [
      'http://example.com',
      'ftp://example.com',
      'https://10.1.2.3',
      'not a url',
    ]) {
      const { status, code } = await createWith({ client_id, url, events: ALL_EVENTS })
      assert.deepEqual([status, code], [400, 'invalid_url'], url)
    }
  })

  it('is refused for the app of somebody else, and for one that does not exist', async () => {
    const other = await createOAuthApp(service, await service.register())
    const { client_id } = other
    const wanted = { client_id, url: URL, events: ALL_EVENTS }
    assert.deepEqual(await createWith(wanted), { status: 403, code: 'forbidden' })
    const unknown = { ...wanted, client_id: 'svc_client_none' }
    assert.deepEqual(await createWith(unknown), { status: 404, code: 'not_found' })
  })

  it('is refused beyond the most of an account', async () => {
    const small = await createWebhookService({ settings: { WEBHOOKS_PER_ACCOUNT_MAX: '2' } })
    const one = await small.owner()
    const wanted = { client_id: one.app.client_id, url: URL, events: ALL_EVENTS }
    const replies = await Promise.all(
      [1, 2, 3].map(() => small.post('/v1/webhooks', wanted, one.developer.bearer)),
    )
    assert.deepEqual(
      replies.map((reply) => reply.statusCode).sort((a, b) => a - b),
      [201, 400, 400],
    )
    await small.close()
  })
})

describe('management', () => {
  it('takes no API key, no access token and nobody', async () => {
    const { key } = await service.createKey(developer.bearer)
    const credentials = [`Bearer ${key}`, 'Bearer svc_token_x', 'Bearer sess_x', undefined]
    const routes = [
      ['GET', '/v1/webhooks'],
      ['POST', '/v1/webhooks'],
      ['GET', `/v1/webhooks/${webhook.id}`],
      ['PATCH', `/v1/webhooks/${webhook.id}`],
      ['DELETE', `/v1/webhooks/${webhook.id}`],
      ['GET', `/v1/webhooks/${webhook.id}/deliveries`],
      ['POST', `/v1/webhooks/${webhook.id}/test`],
      ['POST', `/v1/webhooks/${webhook.id}/recover`],
      ['GET', `/v1/webhooks/${webhook.id}/stats`],
      ['GET', '/v1/webhooks/stats'],
      ['POST', `/v1/webhooks/${webhook.id}/rotate-secret`],
    ] as const
    for (const authorization of credentials) {
      for (const [method, url] of routes) {
        const reply = await service.request({
          method,
          url,
          headers: authorization === undefined ? {} : { authorization },
        })
        const { error } = reply.json<Failure>()
        assert.deepEqual([reply.statusCode, error.code], [401, 'unauthorized'], `${method} ${url}`)
      }
    }
  })

  it('knows no webhook of somebody else', async () => {
    const stranger = service.manage(await service.register())
    const replies = [
      await stranger.ask('GET', `/v1/webhooks/${webhook.id}`),
      await stranger.ask('PATCH', `/v1/webhooks/${webhook.id}`, { active: false }),
      await stranger.ask('DELETE', `/v1/webhooks/${webhook.id}`),
      await stranger.ask('GET', `/v1/webhooks/${webhook.id}/deliveries`),
      await stranger.ask('GET', `/v1/webhooks/${webhook.id}/stats`),
      await stranger.post(`/v1/webhooks/${webhook.id}/test`),
      await stranger.post(`/v1/webhooks/${webhook.id}/rotate-secret`),
      await stranger.post(`/v1/webhooks/${webhook.id}/recover`, { since: '2026-01-01T00:00:00Z' }),
      await ask('GET', '/v1/webhooks/wh_none'),
      await ask('GET', `/v1/webhooks/wh_${'0'.repeat(32)}`),
      await ask('GET', `/v1/webhooks/${webhook.id}/deliveries/dlv_${'0'.repeat(32)}`),
      await ask('GET', `/v1/webhooks/${webhook.id}/deliveries/none`),
    ]
    for (const reply of replies) {
      assert.deepEqual([reply.statusCode, reply.json<Failure>().error.code], [404, 'not_found'])
    }
    assert.equal((await ask('GET', `/v1/webhooks/${webhook.id}`)).statusCode, 200)
  })

  it('lists the webhooks of one app, or of all, page by page, without secrets', async () => {
    const one = await service.owner()
    const second = await createOAuthApp(service, one.developer)
    const events = ALL_EVENTS
    for (const client_id of [one.app.client_id, second.client_id]) {
      await service.subscribe(one.developer, { client_id, url: URL, events })
    }
    type List = { data: { id: string }[]; has_more: boolean; next_cursor: string | null }
    const read = async (query: string) =>
      (await one.ask('GET', `/v1/webhooks${query}`)).json<List>()
    const all = await read('')
    assert.equal(all.data.length, 3)
    assert.ok(all.data.every((row) => !('secret' in row)))
    assert.equal((await read(`?client_id=${second.client_id}`)).data.length, 1)
    assert.equal((await read(`?client_id=${client_id}`)).data.length, 0)
    const first = await read('?limit=2')
    assert.ok(first.has_more && first.next_cursor !== null)
    const rest = await read(`?limit=2&cursor=${first.next_cursor}`)
    assert.deepEqual([...first.data, ...rest.data], all.data)
    assert.equal(rest.has_more, false)
  })

  it('changes what is given, and refuses the rest as at creation', async () => {
    const url = `/v1/webhooks/${webhook.id}`
    const changed = await ask('PATCH', url, { events: ['usage.completed'] })
    assert.equal(changed.statusCode, 200)
    const { events, low_balance_threshold } = changed.json<{
      events: string[]
      low_balance_threshold: number | null
    }>()
    assert.deepEqual([events, low_balance_threshold], [['usage.completed'], 100_000])
    const off = await ask('PATCH', url, { low_balance_threshold: null })
    assert.equal(off.json<{ low_balance_threshold: null }>().low_balance_threshold, null)
    const codes = async (body: object) => (await ask('PATCH', url, body)).json<Failure>().error.code
    assert.equal(await codes({ url: 'https://192.168.1.1/' }), 'invalid_url')
    assert.equal(await codes({ events: [] }), 'invalid_request')
    assert.equal(await codes({ active: 'no' }), 'invalid_request')
    assert.equal((await ask('PATCH', url, {})).statusCode, 200)
  })

  it('deletes with success true, and then knows it no more', async () => {
    const { id } = await service.subscribe(developer, { client_id, url: URL })
    const reply = await ask('DELETE', `/v1/webhooks/${id}`)
    assert.deepEqual([reply.statusCode, reply.json()], [200, { success: true }])
    assert.equal((await ask('DELETE', `/v1/webhooks/${id}`)).statusCode, 404)
  })

  it('loses the webhooks of an app with the app', async () => {
    const one = await service.owner()
    await one.ask('DELETE', `/developers/apps/${one.app.id}`)
    assert.equal((await one.ask('GET', `/v1/webhooks/${one.webhook.id}`)).statusCode, 404)
  })
})

describe('a test event', () => {
  it('arrives signed and marked, of the type that was asked for', async () => {
    await ask('PATCH', `/v1/webhooks/${webhook.id}`, { events: ALL_EVENTS })
    const reply = await post(`/v1/webhooks/${webhook.id}/test`, { event_type: 'balance.low' })
    assert.equal(reply.statusCode, 202)
    await service.work()
    const [got] = receiver.of('balance.low')
    assert.equal((got?.event as { test?: boolean } | undefined)?.test, true)
    assert.equal(got?.headers['webhook-id'], got?.event.id)
    const unknown = await post(`/v1/webhooks/${webhook.id}/test`, { event_type: 'none' })
    assert.equal(unknown.json<Failure>().error.code, 'invalid_request')
  })

  it('is refused by a webhook that is switched off', async () => {
    await ask('PATCH', `/v1/webhooks/${webhook.id}`, { active: false })
    const reply = await post(`/v1/webhooks/${webhook.id}/test`)
    assert.deepEqual([reply.statusCode, reply.json<Failure>().error.code], [400, 'invalid_request'])
  })
})
