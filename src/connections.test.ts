import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, test } from 'node:test'
import { createApp } from '../test/support/app.ts'
import { createDatabase, sql } from '../test/support/database.ts'
import { freePort } from '../test/support/redis.ts'
import { runToEnd, SERVER } from '../test/support/service.ts'
import { Proxy } from '../test/wallet/proxy.ts'
import { loadConfig } from './config.ts'
import { connectionsNeeded, requireConnectionRoom } from './connections.ts'
import { openDatabase } from './database.ts'

const TOO_MANY = loadConfig({ DATABASE_POOL_SIZE: '1000' })

describe('the connections that the settings need', () => {
  const neededBy = (env: Record<string, string>) => connectionsNeeded(loadConfig(env))
  const one = neededBy({})

  test('are those of one process, if there is one', () => {
    assert.equal(neededBy({ DATABASE_POOL_SIZE: '20' }), one + 10)
    for (const ROLE of ['api', 'worker']) assert.equal(neededBy({ ROLE }), one)
  })

  test('are in a cluster those of every child, of the parent, and of a child that replaces another', () => {
    assert.equal(neededBy({ WORKERS: '4' }), 6 * one)
    assert.equal(neededBy({ WORKERS: '4', ROLE: 'api' }), 5 * one + 1, 'the parent only probes')
    assert.equal(neededBy({ WORKERS: '4', ROLE: 'worker' }), one, 'there is no cluster')
  })

  test('are never fewer than a busy process has', async () => {
    const DATABASE_POOL_SIZE = '3'
    const service = await createApp({ settings: { DATABASE_POOL_SIZE } })
    const people = await Promise.all(Array.from({ length: 8 }, () => service.register()))
    await Promise.all(
      people.map(async ({ bearer }) => {
        const { key } = await service.createKey(bearer)
        const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello.' }] }
        const headers = { authorization: `Bearer ${key}` }
        const reply = await service.post('/v1/chat/completions', body, headers)
        assert.equal(reply.statusCode, 200, reply.body)
      }),
    )
    const [row] = await sql<{ open: number }>(
      service.database_url,
      `select count(*)::int as open
       from pg_stat_activity
       where datname = current_database() and application_name like 'svc %'`,
    )
    const open = row?.open ?? 0
    assert.ok(open > 3 && open <= neededBy({ DATABASE_POOL_SIZE }), `${open} are open`)
  })
})

describe('a start whose connections do not fit the server', () => {
  test('is refused in one line that names the settings, the need and the limit', async () => {
    const settings = { DATABASE_URL: await createDatabase(), WORKERS: '120' }
    const { code, stderr } = await runToEnd([process.execPath, SERVER], settings)
    assert.equal(code, 1)
    const needed = connectionsNeeded(loadConfig({ WORKERS: '120' }))
    const expected = `svc: WORKERS=120 and DATABASE_POOL_SIZE=10 need ${needed} database connections, the server has 997: `
    assert.ok(stderr.startsWith(expected), stderr)
    assert.equal(stderr.trim().split('\n').length, 1)
  })

  test('is refused for one process too', async () => {
    await assert.rejects(requireConnectionRoom(await createDatabase(), TOO_MANY), /WORKERS=1 and/)
  })

  test('is not judged through a pooler, whose limit is another', async () => {
    const url = new URL(await createDatabase())
    const between = new Proxy(Number(url.port))
    url.port = String(await between.listen())
    await requireConnectionRoom(url.toString(), TOO_MANY)
    await between.close()
  })

  test('is not judged when the server cannot be asked', async () => {
    await requireConnectionRoom(`postgres://svc:pw@127.0.0.1:${await freePort()}/none`, TOO_MANY)
  })
})

test('the embedded server has room for every process that the settings ask for', async () => {
  const DATA_DIR = mkdtempSync(path.join(tmpdir(), 'svc-room-'))
  const config = loadConfig({ DATA_DIR, WORKERS: '32' })
  const database = await openDatabase(config)
  await requireConnectionRoom(database.url, config)
  await assert.rejects(requireConnectionRoom(database.url, { ...config, WORKERS: 64 }))
  await database.close()
  rmSync(DATA_DIR, { recursive: true, force: true })
})
