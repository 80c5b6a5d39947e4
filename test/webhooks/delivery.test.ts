// What becomes of a delivery: tried again at its times, given up, sent anew, and always explained. Time is the
// database's, and a test sets it.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { retryAfterMs } from '../../src/webhooks/retries.ts'
import { sql } from '../support/database.ts'
import { startReceiver } from '../support/receiver.ts'
import { createWebhookService, type DeliveryReply } from '../support/webhooks.ts'
import { setLedgerTime } from '../wallet/support.ts'

const MINUTE_MS = 60_000
const DAY_MS = 1440 * MINUTE_MS
const RETRIES_MS = [MINUTE_MS / 2, 15 * MINUTE_MS, 360 * MINUTE_MS]

/** A developer whose one event is queued, on a database whose time the test sets. */
async function withOneEvent(answer?: (response: import('node:http').ServerResponse) => void) {
  const service = await createWebhookService()
  const owner = await service.owner({ events: ['usage.completed'] })
  if (answer) owner.receiver.answerWith(answer)
  const { key } = await service.createKey(owner.developer.bearer)
  await service.call(key)
  const began = Date.now()
  let now = began
  const travel = async (ms: number) => {
    now += ms
    await setLedgerTime(service.database_url, new Date(now))
  }
  const read = async (): Promise<DeliveryReply> => {
    const { deliveries } = await owner.list(owner.webhook.id)
    assert.equal(deliveries.length, 1)
    return await owner.read(owner.webhook.id, deliveries[0]?.id ?? '')
  }
  return { service, ...owner, key, travel, read, work: service.work, now: () => now }
}

const fail = (response: import('node:http').ServerResponse) => {
  response.statusCode = 500
  response.end('out of order')
}

describe('the times of the retries', () => {
  it('are 30 s, 15 min and 6 h, each a fifth sooner or later, and then no more', () => {
    RETRIES_MS.forEach((wait_ms, index) => {
      const left = RETRIES_MS.length - index
      assert.equal(retryAfterMs(left, 0), wait_ms * 0.8)
      assert.equal(retryAfterMs(left, 0.5), wait_ms)
      assert.equal(retryAfterMs(left, 1), wait_ms * 1.2)
    })
    assert.equal(retryAfterMs(0), null)
  })
})

describe('a receiver that answers 500', () => {
  it('is tried four times with the same bytes, at those times, and then not again', async () => {
    const { receiver, travel, read, work, now } = await withOneEvent(fail)
    await travel(0)
    await work()
    for (const [index, wait_ms] of RETRIES_MS.entries()) {
      const { status, attempt, next_attempt_at } = await read()
      assert.deepEqual([status, attempt], ['pending', index + 1])
      const wait = Date.parse(next_attempt_at ?? '') - now()
      assert.ok(wait >= wait_ms * 0.8 && wait <= wait_ms * 1.2, `${wait} for ${wait_ms}`)
      await travel(wait - 1)
      await work()
      assert.equal(receiver.received.length, index + 1)
      await travel(1)
      await work()
      assert.equal(receiver.received.length, index + 2)
    }
    await travel(20 * DAY_MS)
    await work()
    assert.equal(receiver.received.length, 4)
    assert.equal(new Set(receiver.received.map(({ body }) => body)).size, 1)
    assert.equal(new Set(receiver.received.map(({ event }) => event.id)).size, 1)
    const delivery = await read()
    assert.deepEqual(
      [delivery.status, delivery.attempt, delivery.next_attempt_at, delivery.delivered_at],
      ['failed', 4, null, null],
    )
    assert.deepEqual([delivery.response_status, delivery.response_body], [500, 'out of order'])
    assert.deepEqual(
      delivery.attempts?.map(({ number, outcome, response_body }) => [
        number,
        outcome,
        response_body,
      ]),
      [1, 2, 3, 4].map((number) => [number, 'http_error', 'out of order']),
    )
    for (const { request_headers, reason } of delivery.attempts ?? []) {
      assert.ok(
        receiver.received.some(
          (one) => one.headers['x-svc-signature'] === request_headers['X-Svc-Signature'],
        ),
      )
      assert.match(reason, /500/)
    }
  })

  it('is not tried past 24 hours, whatever the number of tries', async () => {
    const { receiver, travel, read, work } = await withOneEvent(fail)
    await travel(0)
    await work()
    await travel(DAY_MS - MINUTE_MS)
    await work()
    assert.equal(receiver.received.length, 2)
    assert.equal((await read()).status, 'failed')
  })

  it('is not tried past 24 hours either when nobody was there to send, unless somebody asks', async () => {
    const { receiver, webhook, post, travel, read, work } = await withOneEvent(fail)
    await travel(0)
    await work()
    await travel(DAY_MS + MINUTE_MS)
    await work()
    assert.equal(receiver.received.length, 1)
    const { id, status } = await read()
    assert.equal(status, 'failed')
    receiver.answerWith((response) => response.end())
    await post(`/v1/webhooks/${webhook.id}/deliveries/${id}/redeliver`)
    await work()
    assert.equal(receiver.received.length, 2)
    assert.equal((await read()).status, 'delivered')
  })

  it('gets the event when it answers at last', async () => {
    const { receiver, travel, read, work } = await withOneEvent(fail)
    await travel(0)
    await work()
    receiver.answerWith((response) => response.writeHead(204).end())
    await travel(MINUTE_MS)
    await work()
    const { status, attempt, delivered_at, response_status, outcome } = await read()
    assert.deepEqual(
      [status, attempt, response_status, outcome],
      ['delivered', 2, 204, 'delivered'],
    )
    assert.ok(delivered_at)
  })
})

describe('a receiver that answers 410', () => {
  it('is not tried again', async () => {
    const { receiver, travel, read, work } = await withOneEvent((response) => {
      response.statusCode = 410
      response.end()
    })
    await work()
    await travel(DAY_MS / 2)
    await work()
    assert.equal(receiver.received.length, 1)
    const { status, outcome } = await read()
    assert.deepEqual([status, outcome], ['failed', 'gone'])
  })
})

describe('a receiver that sends elsewhere', () => {
  it('is not followed', async () => {
    const other = await startReceiver((_request, response) => response.end())
    const { read, work } = await withOneEvent((response) =>
      response.writeHead(307, { location: other.url }).end(),
    )
    await work()
    assert.equal(other.received.length, 0)
    const { outcome, response_status } = await read()
    assert.deepEqual([outcome, response_status], ['redirect', 307])
  })
})

describe('a webhook that is switched off or deleted', () => {
  it('has what was cancelled recovered once it is on again', async () => {
    const { receiver, webhook, ask, post, travel, work, read } = await withOneEvent(fail)
    await travel(0)
    await work()
    const url = `/v1/webhooks/${webhook.id}`
    await ask('PATCH', url, { active: false })
    await travel(DAY_MS / 2)
    await work()
    assert.equal((await read()).status, 'cancelled')
    await ask('PATCH', url, { active: true })
    receiver.answerWith((response) => response.end())
    const since = new Date(Date.now() - DAY_MS).toISOString()
    const reply = await post(`${url}/recover`, { since })
    assert.deepEqual(reply.json(), { count: 1, has_more: false })
    await work()
    assert.equal((await read()).status, 'delivered')
  })

  for (const how of ['PATCH', 'DELETE'] as const) {
    it(`gets none of the retries that wait (${how})`, async () => {
      const { service, receiver, webhook, ask, travel, work } = await withOneEvent(fail)
      await work()
      const url = `/v1/webhooks/${webhook.id}`
      await (how === 'DELETE' ? ask('DELETE', url) : ask('PATCH', url, { active: false }))
      await travel(DAY_MS / 2)
      await work()
      assert.equal(receiver.received.length, 1)
      const states = await sql<{ status: string }>(
        service.database_url,
        'select status from webhook_delivery',
      )
      assert.deepEqual(states, [{ status: 'cancelled' }])
    })
  }
})

describe('sending again', () => {
  it('sends the same bytes once, also what had arrived', async () => {
    const { receiver, webhook, post, read, work } = await withOneEvent()
    await work()
    const { id } = await read()
    const reply = await post(`/v1/webhooks/${webhook.id}/deliveries/${id}/redeliver`)
    assert.deepEqual([reply.statusCode, reply.json<DeliveryReply>().status], [202, 'pending'])
    receiver.answerWith(fail)
    await work()
    const { status, attempt, next_attempt_at } = await read()
    assert.deepEqual([status, attempt, next_attempt_at], ['failed', 2, null])
    assert.equal(receiver.received[0]?.body, receiver.received[1]?.body)
  })

  it('recovers all that failed since a time, and says how many', async () => {
    const made = await withOneEvent((response) => response.writeHead(410).end())
    const { service, receiver, webhook, post, work, key } = made
    await service.call(key)
    await work()
    receiver.answerWith((response) => response.end())
    const recover = async (since: string) =>
      (await post(`/v1/webhooks/${webhook.id}/recover`, { since })).json<object>()
    const later = new Date(Date.now() + DAY_MS).toISOString()
    assert.deepEqual(await recover(later), { count: 0, has_more: false })
    assert.deepEqual(await recover('2026-01-01T00:00:00Z'), { count: 2, has_more: false })
    await work()
    assert.equal(receiver.received.length, 4)
    assert.deepEqual(await recover('2026-01-01T00:00:00Z'), { count: 0, has_more: false })
    const bad = await post(`/v1/webhooks/${webhook.id}/recover`, { since: 'yesterday' })
    assert.equal(bad.statusCode, 400)
  })
})

describe('the log', () => {
  it('is filtered by state, type and time, and read page by page', async () => {
    const service = await createWebhookService()
    const { developer, webhook, list, ask, post, receiver } = await service.owner({
      events: ['usage.completed', 'balance.updated'],
    })
    receiver.answerWith((response, { event }) => {
      response.statusCode = event.type === 'balance.updated' ? 410 : 200
      response.end()
    })
    const { key } = await service.createKey(developer.bearer)
    for (let call = 0; call < 3; call++) await service.call(key)
    await service.work()
    const types = async (query: string) =>
      (await list(webhook.id, query)).deliveries.map((one) => one.event_type)
    assert.equal((await types('')).length, 6)
    assert.deepEqual(await types('?status=failed'), Array(3).fill('balance.updated'))
    assert.deepEqual(await types('?event_type=usage.completed'), Array(3).fill('usage.completed'))
    assert.deepEqual(await types('?status=pending'), [])
    assert.deepEqual(await types(`?from=${new Date(Date.now() + DAY_MS).toISOString()}`), [])
    assert.deepEqual(await types(`?to=${new Date(Date.now() - DAY_MS).toISOString()}`), [])
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const page = await list(webhook.id, `?limit=4${cursor}`)
      seen.push(...page.deliveries.map((one) => one.id))
      if (!page.has_more) break
      cursor = `&cursor=${page.next_cursor}`
    }
    assert.equal(new Set(seen).size, 6)
    const stats = (await ask('GET', `/v1/webhooks/${webhook.id}/stats`)).json<{
      data: { at: string; delivered: number; failed: number; p95_ms: number | null }[]
    }>()
    assert.equal(stats.data.length, 48)
    const now = stats.data.at(-1)
    assert.deepEqual([now?.delivered, now?.failed], [3, 3])
    assert.ok((now?.p95_ms ?? 0) >= 1)
    const idle = await post('/v1/webhooks', {
      client_id: webhook.client_id,
      url: receiver.url,
      events: ['user.connected'],
    })
    const all = (await ask('GET', '/v1/webhooks/stats')).json<{
      data: { webhook_id: string; from: string; delivered: number[]; failed: number[] }[]
    }>()
    assert.equal(all.data.length, 2)
    const countsOf = (id: string) => all.data.find(({ webhook_id }) => webhook_id === id)
    const counts = countsOf(webhook.id)
    assert.deepEqual(
      [counts?.delivered.length, counts?.delivered.at(-1), counts?.failed.at(-1)],
      [48, 3, 3],
    )
    assert.equal(counts?.from, stats.data[0]?.at)
    assert.ok(countsOf(idle.json<{ id: string }>().id)?.delivered.every((count) => count === 0))
    const other = service.manage(await service.register())
    assert.deepEqual((await other.ask('GET', '/v1/webhooks/stats')).json<typeof all>().data, [])
    for (const query of ['?limit=101', '?limit=0', '?status=odd', '?from=x', '?cursor=x']) {
      assert.equal(
        (await ask('GET', `/v1/webhooks/${webhook.id}/deliveries${query}`)).statusCode,
        400,
      )
    }
  })

  it('takes every time that there is, and refuses a leap second', async () => {
    const service = await createWebhookService()
    const { webhook, ask, post } = await service.owner()
    const url = `/v1/webhooks/${webhook.id}`
    const statuses = async (time: string) => {
      const query = encodeURIComponent(time)
      const listed = await ask('GET', `${url}/deliveries?from=${query}&to=${query}`)
      const recovered = await post(`${url}/recover`, { since: time })
      return [listed.statusCode, recovered.statusCode]
    }
    for (const time of [
      '0000-01-01T00:00:00Z',
      '9999-12-31T23:59:59Z',
      '2026-11-15T09:30:00+23:59',
    ])
      assert.deepEqual(await statuses(time), [200, 202], time)
    assert.deepEqual(await statuses('2016-12-31T23:59:60Z'), [400, 400])
  })

  it('forgets what is older than 30 days, and its weeks are dropped', async () => {
    const { service, travel, work, list, webhook } = await withOneEvent()
    await work()
    await travel(31 * DAY_MS)
    assert.deepEqual((await list(webhook.id)).deliveries, [])
    const { keepWebhookLog } = await import('../../src/webhooks/jobs.ts')
    await travel(7 * DAY_MS)
    await keepWebhookLog(service.parts)
    const rows = await sql(service.database_url, 'select 1 from webhook_delivery')
    assert.deepEqual(rows, [])
  })
})
