import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { before, describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createDatabase, openDb, sql } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { collectLog } from '../../test/support/log.ts'
import { freePort } from '../../test/support/redis.ts'
import { startTcpProxy } from '../../test/support/tcp-proxy.ts'
import { CredentialCache } from './credential-cache.ts'
import type { Db } from './db.ts'
import { InvalidationFeed, trimInvalidations } from './invalidation.ts'

/** The promise: a revocation is in force everywhere within a second. */
const PROMISE_MS = 1_000
/** These tests wait far more than they work. */
const TOGETHER = { concurrency: 4 }

let url = ''
let no_server_url = ''

before(async () => {
  url = await createDatabase()
  no_server_url = `postgres://svc:pw@127.0.0.1:${await freePort()}/none`
})

describe('a revocation', TOGETHER, () => {
  test('reaches the cache of another process at once when it listens', async (t) => {
    const writer = await open(t)
    const other = await startProcess(t, { listen_url: url })
    const times_ms: number[] = []
    for (let i = 0; i < 9; i++) times_ms.push(await timeRevocation(writer, other, `listened:${i}`))
    assert.ok(Math.max(...times_ms) < PROMISE_MS, times_ms.join())
    // Polls alone would take 200 ms on average.
    const median_ms = times_ms.sort((left, right) => left - right)[4] ?? Number.NaN
    assert.ok(median_ms < 100, times_ms.join())
  })

  test('reaches the cache of another process within a second when it cannot listen', async (t) => {
    const writer = await open(t)
    const other = await startProcess(t, { listen_url: no_server_url })
    for (let i = 0; i < 4; i++) {
      const took_ms = await timeRevocation(writer, other, `polled:${i}`)
      assert.ok(took_ms < PROMISE_MS, `${took_ms} ms`)
    }
  })

  test('is in force in its own process before the one who asked for it is answered', async (t) => {
    const { db, feed, cache, keep } = await open(t, { listen_url: no_server_url })
    await keep('own')
    await db.transaction(async (tx) => {
      await feed.invalidate(tx, ['own'])
      assert.deepEqual(cache.peek('own'), { tag: 'own' }, 'forgotten before it was revoked')
    })
    assert.equal(cache.peek('own'), undefined)
  })

  test('that is rolled back is forgotten nowhere', async (t) => {
    const writer = await open(t)
    const reader = await open(t)
    for (const one of [writer, reader]) {
      await one.keep('rolled back')
      await one.keep('committed')
    }
    await assert.rejects(
      writer.db.transaction(async (tx) => {
        await writer.feed.invalidate(tx, ['rolled back'])
        throw new Error('changed my mind')
      }),
    )
    // What was sent after it has arrived, so it would have arrived too.
    await revoke(writer, 'committed')
    await eventually('the other is forgotten', () => !reader.cache.peek('committed'), PROMISE_MS)
    assert.deepEqual(reader.cache.peek('rolled back'), { tag: 'rolled back' })
    assert.deepEqual(writer.cache.peek('rolled back'), { tag: 'rolled back' })
  })

  test('that commits late is not missed, though newer ones were read before', async (t) => {
    const writer = await open(t)
    const reader = await open(t, { listen_url: no_server_url })
    await reader.keep('late')
    const written = Promise.withResolvers<void>()
    const commit = Promise.withResolvers<void>()
    const late = writer.db.transaction(async (tx) => {
      await writer.feed.invalidate(tx, ['late'])
      written.resolve()
      await commit.promise
    })
    await written.promise
    for (const tag of ['newer', 'newest']) {
      await reader.keep(tag)
      await revoke(writer, tag)
      await eventually(`${tag} is forgotten`, () => !reader.cache.peek(tag), PROMISE_MS)
    }
    assert.deepEqual(reader.cache.peek('late'), { tag: 'late' })
    commit.resolve()
    await late
    await eventually('the late one is forgotten', () => !reader.cache.peek('late'), PROMISE_MS)
  })

  test('names several credentials at once, and drops no other', async (t) => {
    const writer = await open(t)
    const reader = await open(t)
    for (const tag of ['one', 'two', 'three']) await reader.keep(tag)
    await writer.db.transaction((tx) => writer.feed.invalidate(tx, ['one', 'two']))
    await eventually(
      'both are forgotten',
      () => !reader.cache.peek('one') && !reader.cache.peek('two'),
      PROMISE_MS,
    )
    assert.deepEqual(reader.cache.peek('three'), { tag: 'three' })
  })

  test('is applied once: what was loaded again after it stays', async (t) => {
    const writer = await open(t)
    const reader = await open(t)
    // An open transaction keeps the rows since then in every poll.
    const commit = Promise.withResolvers<void>()
    const opened = Promise.withResolvers<void>()
    const holder = writer.db.transaction(async (tx) => {
      await writer.feed.invalidate(tx, ['unrelated'])
      opened.resolve()
      await commit.promise
    })
    await opened.promise
    await reader.keep('again')
    await revoke(writer, 'again')
    await eventually('it is forgotten', () => !reader.cache.peek('again'), PROMISE_MS)
    await reader.keep('again')
    await reader.keep('marker')
    await revoke(writer, 'marker')
    await eventually('a later poll was read', () => !reader.cache.peek('marker'), PROMISE_MS)
    assert.deepEqual(reader.cache.peek('again'), { tag: 'again' })
    commit.resolve()
    await holder
  })

  test('of nothing writes nothing', async (t) => {
    const database = await createDatabase()
    const { db, feed } = await open(t, { url: database })
    await db.transaction((tx) => feed.invalidate(tx, []))
    assert.deepEqual(await sql(database, 'select tag from invalidation'), [])
  })
})

describe('a process that is cut off from the database', TOGETHER, () => {
  test('stops trusting its cache within a second, and starts again with an empty one', async (t) => {
    const proxy = await startTcpProxy(url)
    const { feed, cache, trust, keep, log } = await open(t, { url: proxy.url })
    await keep('a')
    assert.deepEqual(cache.peek('a'), { tag: 'a' })
    proxy.cut()
    await eventually('it is not trusted', () => !feed.trusted, PROMISE_MS)
    assert.equal(cache.peek('a'), undefined)
    let asked = 0
    const load = async () => {
      asked++
      return { value: { tag: 'from the database' }, tags: [] }
    }
    await cache.find('a', load)
    await cache.find('a', load)
    assert.equal(asked, 2, 'an answer came from memory')
    await eventually('it says so', () => trust.at(-1) === false, PROMISE_MS)
    const warnings = log.lines().filter((line) => line.level === 'warn')
    assert.equal(warnings.length, 1)
    assert.match(warnings[0]?.msg ?? '', /revocations cannot be read/)

    proxy.restore()
    await eventually('it is trusted again', () => feed.trusted)
    assert.equal(cache.peek('a'), undefined, 'it kept what it could not know')
    assert.deepEqual(trust, [true, false, true])
  })

  test('does the same when the database only stops answering', async (t) => {
    const proxy = await startTcpProxy(url)
    const { feed, cache, trust, keep, log } = await open(t, { url: proxy.url })
    await keep('a')
    proxy.freeze()
    await eventually('it is not trusted', () => !feed.trusted, PROMISE_MS)
    assert.equal(cache.peek('a'), undefined)
    await eventually('it says so', () => trust.at(-1) === false, PROMISE_MS)
    assert.match(log.text(), /revocations cannot be read/)

    proxy.restore()
    await eventually('it is trusted again', () => feed.trusted)
    assert.equal(cache.peek('a'), undefined, 'it kept what it could not know')
  })

  test('at its start serves without a cache, and trusts it once the database is there', async (t) => {
    const proxy = await startTcpProxy(url)
    proxy.cut()
    const { feed, cache, keep } = await open(t, { url: proxy.url })
    assert.equal(feed.trusted, false)
    await keep('a')
    assert.equal(cache.peek('a'), undefined)
    proxy.restore()
    await eventually('it is trusted', () => feed.trusted)
    await keep('a')
    assert.deepEqual(cache.peek('a'), { tag: 'a' })
  })
})

describe('the listening connection', TOGETHER, () => {
  test('is made again when it is lost', async (t) => {
    const database = await createDatabase()
    const { feed } = await open(t, { url: database })
    const [first] = await listeners(database)
    await sql(database, 'select pg_terminate_backend($1)', [first])
    await eventually('another listens', async () => {
      const [second] = await listeners(database)
      return second !== undefined && second !== first
    })
    assert.ok(feed.trusted, 'polls went on meanwhile')
  })

  test('that the server will not let listen is closed, so that they do not pile up', async (t) => {
    const database = await createDatabase()
    const proxy = await startTcpProxy(database, {
      // As a server in recovery does: the connection works, LISTEN is an error.
      rewrite: (sent) =>
        Buffer.from(sent.toString('latin1').replace('listen svc_', 'listen 1vc_'), 'latin1'),
    })
    const { feed } = await open(t, { url: database, listen_url: proxy.url })
    await eventually('it is closed', async () => (await listeners(database)).length === 0, 1_500)
    assert.ok(feed.trusted)
  })

  test('and the timers end with the feed', async () => {
    const database = await createDatabase()
    const db = openDb(database)
    const feed = makeFeed(db, { listen_url: database }).feed
    await feed.start()
    assert.equal((await listeners(database)).length, 1)
    await feed.stop()
    await db.close()
    await eventually('no connection is left', async () => (await connections(database)) === 0)
  })

  test('that is being made while the feed stops is closed too', async (t) => {
    const database = await createDatabase()
    const proxy = await startTcpProxy(database)
    const db = openDb(database)
    t.after(() => db.close())
    const { feed } = makeFeed(db, { listen_url: proxy.url })
    proxy.freeze()
    const started = feed.start()
    await eventually('it connects', () => proxy.connections() === 1)
    const stopped = feed.stop()
    proxy.restore()
    await Promise.all([started, stopped])
    await eventually('it is closed', () => proxy.connections() === 0)
  })
})

test('old rows are trimmed, and younger ones are kept', async (t) => {
  const database = await createDatabase()
  const db = openDb(database)
  t.after(() => db.close())
  await sql(
    database,
    `insert into invalidation (tag, created_at)
     values ('old', '2026-01-01T10:00:00Z'), ('young', '2026-01-01T12:00:00Z')`,
  )
  assert.equal(await trimInvalidations(db, new Date('2026-01-01T11:00:00Z')), 1)
  assert.deepEqual(await sql(database, 'select tag from invalidation'), [{ tag: 'young' }])
})

type Opened = Awaited<ReturnType<typeof open>>

async function open(t: TestContext, options: { url?: string; listen_url?: string } = {}) {
  const db = openDb(options.url ?? url)
  const made = makeFeed(db, { listen_url: options.listen_url ?? options.url ?? url })
  await made.feed.start()
  t.after(async () => {
    await made.feed.stop()
    await db.close()
  })
  return { db, ...made }
}

function makeFeed(db: Db, options: { listen_url: string }) {
  const trust: boolean[] = []
  const log = collectLog('warn')
  const cache = new CredentialCache<{ tag: string }>({ isTrusted: () => feed.trusted })
  const feed = new InvalidationFeed({
    db,
    url: options.listen_url,
    log: log.log,
    caches: [cache],
    onTrust: (trusted) => trust.push(trusted),
  })
  const keep = async (tag: string) => {
    await cache.find(tag, async () => ({ value: { tag }, tags: [tag] }))
  }
  return { feed, cache, trust, log, keep }
}

async function revoke(writer: Opened, tag: string): Promise<void> {
  await writer.db.transaction((tx) => writer.feed.invalidate(tx, [tag]))
}

type Message = { ready?: true; loaded?: string; forgotten?: string }

async function startProcess(
  t: TestContext,
  options: { listen_url: string },
): Promise<ChildProcess> {
  const script = fileURLToPath(new URL('../../test/support/cache-process.ts', import.meta.url))
  const child = fork(script, [url, options.listen_url])
  t.after(async () => {
    if (child.exitCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  })
  await messageOf(child, (message) => message.ready === true)
  return child
}

/** From the commit here to the moment the other process does not know it any more. */
async function timeRevocation(writer: Opened, other: ChildProcess, tag: string): Promise<number> {
  const loaded = messageOf(other, (message) => message.loaded === tag)
  other.send(tag)
  await loaded
  const forgotten = messageOf(other, (message) => message.forgotten === tag)
  await revoke(writer, tag)
  const committed = performance.now()
  await forgotten
  return performance.now() - committed
}

async function messageOf(child: ChildProcess, wanted: (message: Message) => boolean) {
  const limit = AbortSignal.timeout(10_000)
  for (;;) {
    const [message] = (await once(child, 'message', { signal: limit })) as [Message]
    if (wanted(message)) return
  }
}

async function listeners(database: string): Promise<number[]> {
  const rows = await sql<{ pid: number }>(
    database,
    `select pid from pg_stat_activity
     where datname = current_database() and application_name = 'svc listen'`,
  )
  return rows.map((row) => row.pid)
}

async function connections(database: string): Promise<number> {
  const rows = await sql(
    database,
    `select pid from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()`,
  )
  return rows.length
}
