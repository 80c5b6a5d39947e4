import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endKeysOfAccount } from '../../src/keys/keys.ts'
import { createApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'

const service = await createApp()
const other = await createApp({ database_url: service.database_url })
const { db, feed } = service.parts

const use = async (key: string, process = service) =>
  (await process.request({ url: '/v1/key', headers: { 'x-api-key': key } })).statusCode

test('all keys of an account end with the transaction that ends them, on every process, and nobody else’s', async () => {
  const [one, two] = [await service.register(), await service.register()]
  const keys = [await service.createKey(one.bearer), await service.createKey(one.bearer)]
  const spared = await service.createKey(two.bearer)
  for (const { key } of [...keys, spared]) {
    assert.deepEqual([await use(key), await use(key, other)], [200, 200])
  }
  const ended = await db.transaction((tx) => endKeysOfAccount(feed, tx, one.user_id))
  assert.equal(ended, 2)
  for (const { key } of keys) assert.equal(await use(key), 401)
  const [first] = keys
  assert.ok(first)
  await eventually('it ends elsewhere', async () => (await use(first.key, other)) === 401, 1_000)
  assert.deepEqual([await use(spared.key), await use(spared.key, other)], [200, 200])
  assert.equal(await db.transaction((tx) => endKeysOfAccount(feed, tx, one.user_id)), 0)
})

test('keys are not ended by a transaction that is rolled back', async () => {
  const { bearer, user_id } = await service.register()
  const { key } = await service.createKey(bearer)
  const work = db.transaction(async (tx) => {
    await endKeysOfAccount(feed, tx, user_id)
    throw new Error('something else failed')
  })
  await assert.rejects(work, /something else failed/)
  assert.equal(await use(key), 200)
})
