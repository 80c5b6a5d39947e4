// The database goes away while the service runs, and comes back: nothing is answered from a stale memory,
// nothing is answered with 500, and nobody has to restart anything.

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createDatabase, sql } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import {
  call,
  createKey,
  launch,
  makeFolder,
  type Reply,
  register,
  SERVER,
  startServer,
} from '../support/service.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

const LONG = process.env['SVC_LONG'] === '1'

const DATABASE_URL = await createDatabase()
const proxy = await startTcpProxy(DATABASE_URL)
const server = await startServer({ DATABASE_URL: proxy.url })
const user = await register(server.url)
const { key } = await createKey(server.url, user.token)

function codeOf(reply: Reply): string {
  return reply.json<{ error: { code: string } }>().error.code
}

/** Every kind of caller at once: from memory, from the database, and a write. */
async function askAll(): Promise<Reply[]> {
  return await Promise.all([
    call(server.url, '/v1/key', { bearer: key }),
    call(server.url, '/auth/me', { bearer: user.token }),
    call(server.url, '/developers/keys', { bearer: user.token }),
    call(server.url, '/auth/login', { body: { email: user.email, password: 'wrong wrong' } }),
  ])
}

async function expectOutage(): Promise<void> {
  const lost_at = performance.now()
  const seen = new Set<number>()
  await eventually('only 503 is left', async () => {
    const asked_at = performance.now()
    const replies = await askAll()
    for (const reply of replies) seen.add(reply.status)
    if (asked_at - lost_at < 1_000) return false
    for (const reply of replies) {
      assert.equal(reply.status, 503)
      assert.equal(codeOf(reply), 'service_unavailable')
    }
    return true
  })
  // 401 is the wrong password, as long as anyone could tell.
  for (const status of seen) assert.ok([200, 401, 503].includes(status), `answered ${status}`)
  const health = await call(server.url, '/health')
  assert.equal(health.status, 200)
  assert.equal(health.json<{ database: string }>().database, 'unreachable')
  const ready = await call(server.url, '/ready')
  assert.deepEqual([ready.status, codeOf(ready)], [503, 'service_unavailable'])
}

async function expectRecovery(t: { diagnostic(message: string): void }): Promise<void> {
  const took_ms = await eventually('it works again', async () => {
    const replies = await askAll()
    return replies.map((reply) => reply.status).join() === '200,200,200,401'
  })
  await eventually('it is ready', async () => (await call(server.url, '/ready')).status === 200)
  assert.equal(server.ended(), undefined)
  t.diagnostic(`back after ${Math.round(took_ms)} ms`)
}

test('a database that is cut off makes every request that needs it 503 within a second, never 500', async (t) => {
  assert.equal((await askAll())[0]?.status, 200)
  const in_flight = askAll()
  proxy.cut()
  for (const reply of await in_flight) assert.ok([200, 401, 503].includes(reply.status))
  await expectOutage()
  proxy.restore()
  await expectRecovery(t)
})

test('a service that starts before its database waits for it, and says that it is not ready', async (t) => {
  proxy.cut()
  const early = launch([process.execPath, SERVER], { DATABASE_URL: proxy.url })
  t.after(() => early.kill())
  const address = () => early.stdout().match(/listening at (http[^",]+)/)?.[1]
  await eventually('it listens', () => address() !== undefined, 20_000)
  const url = address() ?? ''
  const health = await call(url, '/health')
  assert.deepEqual(health.json(), { status: 'ok', phase: 'starting', database: 'unreachable' })
  assert.equal((await call(url, '/ready')).status, 503)
  const asked = await call(url, '/auth/me', { bearer: user.token })
  assert.deepEqual([asked.status, codeOf(asked)], [503, 'service_unavailable'])
  proxy.restore()
  await eventually('it is ready', async () => (await call(url, '/ready')).status === 200, 20_000)
  assert.equal((await call(url, '/auth/me', { bearer: user.token })).status, 200)
})

test('asked to stop while it waits for its database, it stops at once', async (t) => {
  proxy.cut()
  t.after(() => proxy.restore())
  const early = launch([process.execPath, SERVER], { DATABASE_URL: proxy.url })
  t.after(() => early.kill())
  await eventually('it waits', () => early.stdout().includes('cannot be reached yet'), 20_000)
  const ended = await early.stop()
  assert.deepEqual([ended.code, early.stderr()], [0, ''])
  assert.ok(ended.took_ms < 5_000)
})

/** The short version has the harder of the two. */
for (const how of LONG ? (['cut off', 'silent'] as const) : (['silent'] as const)) {
  test(`a stream that was served while the database was ${how} is charged once by the next process`, async (t) => {
    const settings = { DATABASE_URL: proxy.url, DATA_DIR: makeFolder(), SHUTDOWN_GRACE_MS: '500' }
    const first = await startServer(settings)
    t.after(() => first.kill())
    const balanceAt = async (url: string) =>
      (await call(url, '/v1/balance', { bearer: key })).json<{ balance: number; held: number }>()
    const before = await balanceAt(first.url)
    const body = {
      model: 'gpt-4o-mini',
      stream: true,
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Hi [[sandbox:tokens=40]] [[sandbox:pace=40]]' }],
    }
    const streamed = call(first.url, '/v1/chat/completions', { body, bearer: key }).catch(() => {})
    await eventually('it is under way', async () => (await balanceAt(first.url)).held > 0)
    await wait(300)
    if (how === 'cut off') proxy.cut()
    else proxy.freeze()
    // The provider ends; the settlement waits for a database that does not come.
    await wait(3_000)
    await first.stop()
    await streamed
    const kept = path.join(settings.DATA_DIR, 'unposted')
    assert.equal(readdirSync(kept).length, 1)
    proxy.restore()
    const second = await startServer(settings)
    t.after(() => second.kill())
    await eventually(
      'it is charged',
      async () => (await balanceAt(second.url)).balance < before.balance,
    )
    await eventually('nothing is kept any more', () => readdirSync(kept).length === 0, 20_000)
    const rows = await sql<{ credits_used: string; output_tokens: string }>(
      DATABASE_URL,
      'select credits_used::text, output_tokens::text from usage_event order by id desc',
    )
    assert.equal(rows.length, LONG && how === 'silent' ? 2 : 1)
    assert.equal(rows[0]?.output_tokens, '40')
    const after = await balanceAt(second.url)
    assert.equal(before.balance - after.balance, Number(rows[0]?.credits_used))
    await second.stop()
  })
}
