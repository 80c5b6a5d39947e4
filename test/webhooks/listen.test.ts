// A developer's machine is told of the events of an app through a stream that it opened: what arrives, how it ends
// and what bounds it.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { describe, it } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { atEnd } from '../support/cleanup.ts'
import { sql } from '../support/database.ts'
import { startEventReceiver } from '../support/event-receiver.ts'
import { readEventStream } from '../support/event-stream.ts'
import { eventually } from '../support/eventually.ts'
import { createOAuthApp, type Person } from '../support/oauth.ts'
import { createWebhookService, type WebhookService } from '../support/webhooks.ts'

type Listening = { id: string; client_id: string; events: string[]; secret: string }
type Delivery = {
  id: string
  event_id: string
  event_type: string
  headers: Record<string, string>
  body: string
}

const service = await createWebhookService()
const address = await service.app.listen({ port: 0, host: '127.0.0.1' })
const { limits } = service.parts.listeners
const usual = { ...limits }

async function newDeveloper(on: WebhookService = service) {
  const developer = await on.register()
  const { client_id } = await createOAuthApp(on, developer)
  const { key } = await on.createKey(developer.bearer)
  return { developer, client_id, key }
}

/** A terminal, or what it was refused with. */
async function open(
  { bearer }: Pick<Person, 'bearer'>,
  query: Record<string, string>,
  options: { base?: string; secret?: string } = {},
) {
  const search = new URLSearchParams(query).toString()
  const request = http.get(`${options.base ?? address}/v1/webhooks/listen?${search}`, {
    headers: {
      ...bearer,
      ...(options.secret !== undefined && { 'x-svc-listener-secret': options.secret }),
    },
    agent: false,
  })
  request.on('error', () => {})
  atEnd(() => request.destroy())
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  const state = { text: '', closed: false }
  response.setEncoding('utf8').on('data', (chunk: string) => {
    state.text += chunk
  })
  response
    .on('error', () => {})
    .on('close', () => {
      state.closed = true
    })
  const messages = () =>
    readEventStream(state.text.slice(0, state.text.lastIndexOf('\n\n') + 2)).map(
      ({ name, data }) => ({ name, ...(JSON.parse(data) as object) }),
    )
  const named = <Message>(name: string) =>
    messages().filter((message) => message.name === name) as unknown as Message[]
  return {
    response,
    status: response.statusCode,
    text: () => state.text,
    deliveries: () => named<Delivery>('delivery'),
    isClosed: () => state.closed,
    leave: () => request.destroy(),
    async listening() {
      await eventually('the stream begins', () => named('listening').length > 0)
      return named<Listening>('listening')[0] ?? assert.fail()
    },
    async waitFor(count: number) {
      const enough = () => named('delivery').length >= count
      await eventually(`${count} deliveries`, enough).catch(() => assert.fail(state.text))
    },
    async endReason() {
      await eventually('the stream ends', () => state.closed)
      return named<{ reason: string }>('end')[0]?.reason
    },
    async refusal() {
      await eventually('the answer is there', () => state.closed)
      const { error } = JSON.parse(state.text) as { error: { code: string } }
      return [response.statusCode, error.code]
    },
  }
}

async function countListeners(developer: Person): Promise<number> {
  const found = await sql(
    service.database_url,
    'select id from webhook where url is null and developer_id = $1',
    [developer.user_id],
  )
  return found.length
}

async function withLimits(changed: Partial<typeof limits>, work: () => Promise<void>) {
  Object.assign(limits, changed)
  try {
    await work()
  } finally {
    Object.assign(limits, usual)
  }
}

describe('a terminal that listens', () => {
  it('is sent the secret first, then each event with the bytes and headers of a delivery', async () => {
    const { developer, client_id, key } = await newDeveloper()
    const terminal = await open(developer, { client_id })
    assert.match(String(terminal.response.headers['content-type']), /^text\/event-stream/)
    const { secret, events } = await terminal.listening()
    assert.equal(events.length, 5)
    const receiver = await startEventReceiver()
    await service.subscribe(developer, { client_id, url: receiver.url })
    await service.call(key)
    await service.work()
    await terminal.waitFor(2)
    const deliveries = terminal.deliveries()
    assert.deepEqual(
      deliveries.map(({ body }) => body).sort(),
      receiver.received.map(({ body }) => body).sort(),
    )
    const [real] = receiver.received
    for (const { headers, body, event_id, event_type } of deliveries) {
      new Webhook(secret).verify(body, headers)
      assert.equal(headers['X-Svc-Event'], event_type)
      assert.equal(headers['webhook-id'], event_id)
      for (const name of Object.keys(headers)) assert.ok(real?.headers[name.toLowerCase()], name)
    }
    terminal.leave()
  })

  it('is one of several: each gets every event that it asked for', async () => {
    const { developer, client_id, key } = await newDeveloper()
    const all = await open(developer, { client_id })
    const some = await open(developer, { client_id, events: 'usage.completed,user.connected' })
    const [first, second] = [await all.listening(), await some.listening()]
    assert.notEqual(first.secret, second.secret)
    await service.call(key)
    await service.call(key)
    await service.work()
    await all.waitFor(4)
    await some.waitFor(2)
    assert.deepEqual(
      some.deliveries().map(({ event_type }) => event_type),
      ['usage.completed', 'usage.completed'],
    )
    const ids = new Set(all.deliveries().map(({ event_id }) => event_id))
    assert.ok(some.deliveries().every(({ event_id }) => ids.has(event_id)))
    for (const one of [all, some]) one.leave()
  })

  it('is told of low balances below the threshold it names', async () => {
    const { developer, client_id, key } = await newDeveloper()
    const low_balance_threshold = '1000000'
    const terminal = await open(developer, { client_id, low_balance_threshold })
    await terminal.listening()
    await service.call(key)
    await service.work()
    await terminal.waitFor(3)
    const types = terminal.deliveries().map(({ event_type }) => event_type)
    assert.ok(types.includes('balance.low'), types.join())
    terminal.leave()
  })

  it('may come back with the secret it had', async () => {
    const { developer, client_id } = await newDeveloper()
    const first = await open(developer, { client_id })
    const { secret } = await first.listening()
    const again = await open(developer, { client_id }, { secret })
    assert.equal((await again.listening()).secret, secret)
    for (const one of [first, again]) one.leave()
  })

  it('is sent a comment from time to time, so that proxies keep the stream open', async () => {
    const { developer, client_id } = await newDeveloper()
    await withLimits({ comment_ms: 20 }, async () => {
      const terminal = await open(developer, { client_id })
      const countComments = () => terminal.text().match(/^: still here$/gm)?.length ?? 0
      await eventually('two comments', () => countComments() >= 2)
      terminal.leave()
    })
  })

  it('is told for as long as its stream is open, not only for its first minute', async () => {
    const { developer, client_id, key } = await newDeveloper()
    await withLimits({ beat_ms: 20 }, async () => {
      const terminal = await open(developer, { client_id, events: 'usage.completed' })
      const { id } = await terminal.listening()
      const at_id = [rowId(id)]
      await sql(
        service.database_url,
        'update webhook set listens_until = now() where id = $1',
        at_id,
      )
      await eventually('it is renewed', async () => {
        const renewed = 'select id from webhook where id = $1 and listens_until > now()'
        return (await sql(service.database_url, renewed, at_id)).length === 1
      })
      await service.call(key)
      await service.work()
      await terminal.waitFor(1)
      terminal.leave()
    })
  })

  it('is no webhook that can be listed, read or changed', async () => {
    const { developer, client_id } = await newDeveloper()
    const terminal = await open(developer, { client_id })
    const { id } = await terminal.listening()
    const { ask } = service.manage(developer)
    assert.deepEqual((await ask('GET', '/v1/webhooks')).json().data, [])
    assert.equal((await ask('GET', `/v1/webhooks/${id}`)).statusCode, 404)
    assert.equal((await ask('PATCH', `/v1/webhooks/${id}`, { active: false })).statusCode, 404)
    terminal.leave()
  })
})

describe('a stream ends', () => {
  it('when the client leaves, and its listener is deleted', async () => {
    const { developer, client_id } = await newDeveloper()
    const terminal = await open(developer, { client_id })
    await terminal.listening()
    assert.equal(await countListeners(developer), 1)
    terminal.leave()
    await eventually('it is deleted', async () => (await countListeners(developer)) === 0)
  })

  it('when the session does', async () => {
    const { developer, client_id } = await newDeveloper()
    await withLimits({ beat_ms: 20 }, async () => {
      const terminal = await open(developer, { client_id })
      await terminal.listening()
      await service.post('/auth/logout', {}, developer.bearer)
      assert.equal(await terminal.endReason(), 'session_ended')
      assert.equal(await countListeners(developer), 0)
    })
  })

  it('when the listener is deleted, as it is with its app', async () => {
    const { developer, client_id } = await newDeveloper()
    await withLimits({ beat_ms: 20 }, async () => {
      const terminal = await open(developer, { client_id })
      const { id } = await terminal.listening()
      await service.manage(developer).ask('DELETE', `/v1/webhooks/${id}`)
      assert.equal(await terminal.endReason(), 'removed')
    })
  })

  it('after a day at the latest', async () => {
    const { developer, client_id } = await newDeveloper()
    await withLimits({ total_ms: 50, beat_ms: 20 }, async () => {
      const terminal = await open(developer, { client_id })
      assert.equal(await terminal.endReason(), 'time_limit')
    })
  })

  it('when the service stops, which it does not hold up, also if the client reads nothing', async () => {
    const other = await createWebhookService()
    const base = await other.app.listen({ port: 0, host: '127.0.0.1' })
    const { developer, client_id } = await newDeveloper(other)
    const terminal = await open(developer, { client_id }, { base })
    const deaf = await open(developer, { client_id }, { base })
    const { id } = await deaf.listening()
    deaf.response.pause()
    await queueLargeDeliveries(other, id)
    await eventually('it is stuck', async () => (await countPending(other, id)) < 40)
    const began_at = performance.now()
    await other.close()
    assert.ok(performance.now() - began_at < 5_000)
    assert.equal(await terminal.endReason(), 'stopping')
  })

  it('when the client reads nothing for too long; nothing more is taken for it meanwhile', async () => {
    const { developer, client_id } = await newDeveloper()
    await withLimits({ stall_ms: 300, poll_ms: 10 }, async () => {
      const terminal = await open(developer, { client_id })
      const { id } = await terminal.listening()
      terminal.response.pause()
      await queueLargeDeliveries(service, id)
      await eventually('it is dropped', async () => (await countListeners(developer)) === 0)
      assert.equal(await countPending(service, id), 20)
      terminal.leave()
    })
  })
})

function rowId(id: string): string {
  return id.slice('wh_'.length)
}

/** More than the buffers between two sockets hold: 40 of a megabyte. */
async function queueLargeDeliveries({ database_url }: WebhookService, id: string): Promise<void> {
  await sql(
    database_url,
    `insert into webhook_delivery (id, created_at, webhook_id, event_id, event_type, body, queued_at, due_at, status,
       retries_left)
     select gen_random_uuid(), date_trunc('milliseconds', now()), $1::uuid, gen_random_uuid(), 'usage.completed',
       repeat('x', 1000000), now(), now(), 'pending', 0
     from generate_series(1, 40)`,
    [rowId(id)],
  )
}

async function countPending({ database_url }: WebhookService, id: string): Promise<number> {
  const of_listener = `select id from webhook_delivery where webhook_id = $1::uuid and status = 'pending'`
  return (await sql(database_url, of_listener, [rowId(id)])).length
}

describe('bounds', () => {
  it('an account has ten terminals at most; one whose process died does not count', async () => {
    const { developer, client_id } = await newDeveloper()
    const terminals = []
    for (let count = 0; count < 10; count += 1) terminals.push(await open(developer, { client_id }))
    const eleventh = await open(developer, { client_id })
    assert.deepEqual(await eleventh.refusal(), [400, 'bad_request'])
    await sql(
      service.database_url,
      `update webhook set listens_until = now() - interval '1 second'
       where id = (select id from webhook where developer_id = $1 limit 1)`,
      [developer.user_id],
    )
    const next = await open(developer, { client_id })
    assert.equal(next.status, 200)
    for (const one of [...terminals, next]) one.leave()
  })

  it('a process has a number of streams at most, and has room again when one ends', async () => {
    const { developer, client_id } = await newDeveloper()
    await eventually('nobody listens', async () => {
      const rows = await sql(service.database_url, 'select id from webhook where url is null')
      return rows.length === 0
    })
    await withLimits({ streams: 1 }, async () => {
      const first = await open(developer, { client_id })
      await first.listening()
      const second = await open(developer, { client_id })
      assert.deepEqual(await second.refusal(), [503, 'service_unavailable'])
      assert.ok(second.response.headers['retry-after'])
      first.leave()
      await eventually('there is room again', async () => {
        const third = await open(developer, { client_id })
        third.leave()
        return third.status === 200
      })
    })
  })

  it('whoever asks wrongly is told so in the envelope', async () => {
    const { developer, client_id, key } = await newDeveloper()
    const stranger = await service.register()
    const nobody = { bearer: { authorization: 'Bearer sess_none' } }
    const by_key = { bearer: { authorization: `Bearer ${key}` } }
    const refused = async (...given: Parameters<typeof open>) => (await open(...given)).refusal()
    assert.deepEqual(await refused(nobody, { client_id }), [401, 'unauthorized'])
    assert.deepEqual(await refused(by_key, { client_id }), [401, 'unauthorized'])
    assert.deepEqual(await refused(developer, {}), [400, 'invalid_request'])
    assert.deepEqual(await refused(developer, { client_id: 'none' }), [404, 'not_found'])
    assert.deepEqual(await refused(stranger, { client_id }), [403, 'forbidden'])
    for (const events of ['', 'usage.completed,', 'user.deleted']) {
      assert.deepEqual(await refused(developer, { client_id, events }), [400, 'invalid_request'])
    }
    const secret = 'whsec_short'
    const short = await refused(developer, { client_id }, { secret })
    assert.deepEqual(short, [400, 'invalid_request'])
    const { ask } = service.manage(developer)
    assert.equal((await ask('DELETE', '/v1/webhooks/listen')).statusCode, 405)
  })
})
