import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { eventually } from '../../test/support/eventually.ts'
import { CallSignal, HttpFailure, type HttpFailureKind, type HttpLimits } from './http-call.ts'
import { createHttpClient } from './http-client.ts'

const LIMITS: HttpLimits = { headers_ms: 5_000, idle_ms: 5_000, total_ms: 5_000 }

async function setUp(t: TestContext, listener: RequestListener, max_open?: number) {
  const server = createServer(listener)
  const client = createHttpClient(max_open === undefined ? {} : { max_open })
  const seen = { connections: 0, requests: 0, left: 0 }
  server.on('connection', () => {
    seen.connections += 1
  })
  server.on('request', (_request, response) => {
    seen.requests += 1
    response.on('close', () => {
      if (!response.writableFinished) seen.left += 1
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    await client.close()
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const send = (limits: Partial<HttpLimits> = {}, signal = new CallSignal()) =>
    client.send({
      url: `http://127.0.0.1:${port}/path?key=secret`,
      headers: { authorization: 'Bearer secret', 'content-type': 'application/json' },
      body: '{}',
      limits: { ...LIMITS, ...limits },
      signal,
    })
  return { server, client, seen, send, port }
}

function failsAs(kind: HttpFailureKind) {
  return (error: unknown) => {
    assert.ok(error instanceof HttpFailure)
    assert.equal(error.kind, kind)
    assert.doesNotMatch(error.message, /secret/)
    return true
  }
}

test('an answer has its status, headers and text, and its connection is used again', async (t) => {
  const { send, seen } = await setUp(t, (_request, response) => {
    response.writeHead(418, { 'x-request-id': 'req_1' }).end('short and stout')
  })
  for (let round = 0; round < 3; round += 1) {
    const reply = await send()
    assert.equal(reply.status, 418)
    assert.equal(reply.headers['x-request-id'], 'req_1')
    assert.equal(await reply.text(), 'short and stout')
  }
  assert.ok(seen.connections <= 2)
})

test('a redirect is an answer like any other', async (t) => {
  const { send } = await setUp(t, (_request, response) => {
    response.writeHead(302, { location: '/elsewhere' }).end()
  })
  assert.equal((await send()).status, 302)
})

test('a body beyond the limit is refused and its sender cut off', async (t) => {
  const { send, seen } = await setUp(t, (_request, response) => {
    response.write(Buffer.alloc(600_000))
    response.write(Buffer.alloc(600_000))
  })
  await assert.rejects((await send()).text(1_000_000), failsAs('too_large'))
  await wait(30)
  assert.equal(seen.left, 1)
})

test('each limit ends the call: headers, idle, total', async (t) => {
  let answers = 0
  const { send } = await setUp(t, (_request, response) => {
    answers += 1
    if (answers > 1) setTimeout(() => response.write('x'), 60)
  })
  await assert.rejects(send({ headers_ms: 20 }), failsAs('timeout'))
  await assert.rejects((await send({ idle_ms: 100 })).text(), failsAs('timeout'))
  await assert.rejects((await send({ total_ms: 150 })).text(), failsAs('timeout'))
  await assert.rejects(send({ total_ms: 20 }), failsAs('timeout'))
})

test('a signal ends the call before and during the answer, and a dead one never starts it', async (t) => {
  const { send, seen } = await setUp(t, (_request, response) => {
    setTimeout(() => response.write('x'), 300)
  })
  const dead = new CallSignal()
  dead.abort()
  await assert.rejects(send({}, dead), failsAs('aborted'))
  assert.equal(seen.connections, 0)
  const early = new CallSignal()
  const asked = assert.rejects(send({}, early), failsAs('aborted'))
  await eventually('the server is asked', () => seen.requests === 1)
  early.abort()
  await asked
  const late = new CallSignal()
  const reply = await send({}, late)
  setTimeout(() => late.abort(), 10)
  await assert.rejects(reply.text(), failsAs('aborted'))
  await eventually('both calls have left', () => seen.left === 2)
})

test('an abort while nobody reads harms nobody', async (t) => {
  const { send, seen } = await setUp(t, (_request, response) => {
    response.write('x')
  })
  const signal = new CallSignal()
  const reply = await send({}, signal)
  signal.abort()
  await wait(30)
  assert.equal(seen.left, 1)
  await assert.rejects(reply.text(), failsAs('aborted'))
})

test('a broken connection is unreachable before the answer and cut within it', async (t) => {
  let answers = 0
  const { send, server, port } = await setUp(t, (_request, response) => {
    answers += 1
    if (answers === 1) response.destroy()
    else response.write('x', () => response.destroy())
  })
  await assert.rejects(send(), failsAs('unreachable'))
  await assert.rejects((await send()).text(), failsAs('cut'))
  assert.equal(answers, 2)
  server.close()
  const client = createHttpClient()
  t.after(() => client.close())
  const signal = new CallSignal()
  const url = `http://127.0.0.1:${port}/`
  await assert.rejects(
    client.send({ url, headers: {}, limits: LIMITS, signal }),
    failsAs('unreachable'),
  )
})

test('leaving the loop early ends the call; after release the connection is kept', async (t) => {
  const { send, seen } = await setUp(t, (_request, response) => {
    response.write('first')
    setTimeout(() => response.end('last'), 20)
  })
  for await (const chunk of (await send()).body) {
    assert.equal(Buffer.from(chunk).toString(), 'first')
    break
  }
  await wait(50)
  assert.equal(seen.left, 1)
  for (let round = 0; round < 2; round += 1) {
    const reply = await send()
    for await (const chunk of reply.body) {
      assert.equal(Buffer.from(chunk).toString(), 'first')
      reply.release()
      break
    }
    await wait(50)
  }
  const unread = await send()
  unread.release()
  await wait(50)
  await (await send()).text()
  assert.deepEqual([seen.connections, seen.left], [2, 1])
})

test('pieces that arrived together are read together, and before the fault that came after them', async (t) => {
  const { send } = await setUp(t, (_request, response) => {
    response.write('one ')
    response.write('two ')
    response.write('three', () => response.destroy())
  })
  const reply = await send()
  await wait(30)
  const body = reply.body[Symbol.asyncIterator]()
  const { value } = await body.next()
  assert.equal(Buffer.from(value ?? []).toString(), 'one two three')
  await assert.rejects(async () => await body.next(), failsAs('cut'))
})

test('an address that is none is a failure like others, and leaves no call open', async (t) => {
  const client = createHttpClient({ max_open: 1 })
  t.after(() => client.close())
  const signal = new CallSignal()
  for (const url of ['nowhere', 'ftp://127.0.0.1/']) {
    await assert.rejects(
      client.send({ url, headers: {}, limits: LIMITS, signal }),
      failsAs('unreachable'),
    )
  }
})

test('a call that is given up before it has a connection ends at once', async (t) => {
  const { send, client, port } = await setUp(t, (_request, response) => void response.end())
  const signal = new CallSignal()
  const url = `http://127.0.0.1:${port}/`
  const sent = client.send({ url, headers: {}, limits: LIMITS, signal: signal })
  signal.abort()
  await assert.rejects(sent, failsAs('aborted'))
  assert.equal((await send()).status, 200)
})

test('beyond the limit of open calls a call is refused at once', async (t) => {
  const { send } = await setUp(t, (_request, response) => void response.write('x'), 2)
  const first = await send()
  await send()
  await assert.rejects(send(), failsAs('busy'))
  for await (const chunk of first.body) if (chunk.length > 0) break
  await wait(20)
  await send()
})

test('a slow reader holds the sender back', async (t) => {
  let sent = 0
  const piece = Buffer.alloc(64 * 1024)
  const { send } = await setUp(t, (_request, response) => {
    const pump = () => {
      while (!response.destroyed && sent < 400) {
        sent += 1
        if (!response.write(piece)) return void response.once('drain', pump)
      }
      response.end()
    }
    pump()
  })
  const reply = await send({ idle_ms: 300 })
  const body = reply.body[Symbol.asyncIterator]()
  await body.next()
  await wait(500)
  assert.ok(sent < 200, `${sent} of 400 pieces were sent to a reader that took one`)
  let size = 0
  for (let next = await body.next(); next.done !== true; next = await body.next()) {
    size += next.value.length
  }
  assert.ok(size > 399 * piece.length - 70_000)
})
