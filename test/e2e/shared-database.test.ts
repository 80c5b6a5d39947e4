// Two processes on one database, as on two machines.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEmptyDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { call, createKey, register, startServer } from '../support/service.ts'

const DATABASE_URL = await createEmptyDatabase()
const [left, right] = await Promise.all([
  startServer({ DATABASE_URL }),
  startServer({ DATABASE_URL }),
])

test('two processes that start at once on an empty database both come up, and one of them migrates', async () => {
  const linesOf = (message: string) =>
    [left, right].flatMap((server) => server.logs().filter((line) => line.msg === message))
  await eventually('both say so', () => linesOf('ready').length === 2)
  assert.equal(linesOf('migrated').length, 1)
  for (const server of [left, right]) {
    assert.equal((await call(server.url, '/ready')).status, 200)
  }
})

test('a key that one process revoked is refused by the other within a second', async (t) => {
  const { token } = await register(left.url)
  const { key, id } = await createKey(left.url, token)
  const ask = () => call(right.url, '/v1/key', { bearer: key })
  // Twice, so that the second answer comes from memory.
  for (const _ of [1, 2]) assert.equal((await ask()).status, 200)
  const revoked = await call(left.url, `/developers/keys/${id}`, {
    method: 'DELETE',
    bearer: token,
  })
  assert.equal(revoked.status, 200)
  assert.equal((await call(left.url, '/v1/key', { bearer: key })).status, 401)
  const took_ms = await eventually('it is refused', async () => (await ask()).status === 401, 1_000)
  t.diagnostic(`refused by the other after ${Math.round(took_ms)} ms`)
})

test('a session that one process closed is refused by the other within a second', async () => {
  const { token } = await register(left.url)
  const ask = () => call(right.url, '/auth/me', { bearer: token })
  for (const _ of [1, 2]) assert.equal((await ask()).status, 200)
  const closed = await call(left.url, '/auth/logout', { method: 'POST', bearer: token })
  assert.equal(closed.status, 200)
  await eventually('it is refused', async () => (await ask()).status === 401, 1_000)
})

test('one process stops, and the other goes on alone', async () => {
  assert.equal((await left.stop()).code, 0)
  const { token } = await register(right.url)
  assert.equal((await call(right.url, '/auth/me', { bearer: token })).status, 200)
  assert.equal((await right.stop()).code, 0)
})
