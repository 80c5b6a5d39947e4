import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EMBEDDING_MODELS } from '../../catalog/embedding-models.ts'
import { ApiError } from '../../platform/errors.ts'
import { VectorRoom } from './vector-room.ts'

const [model] = EMBEDDING_MODELS
assert.ok(model)
const asked = (texts: number) => ({ model, inputs: Array.from({ length: texts }) })

test('more vectors than there is room for are 503 until others are done, and one call is always let in', async () => {
  const room = new VectorRoom(10 * model.dimensions * 16)
  const first = Promise.withResolvers<void>()
  const held = room.within(asked(8), () => first.promise)
  await assert.rejects(
    room.within(asked(3), async () => {}),
    (error) => error instanceof ApiError && error.status === 503,
  )
  await room.within(asked(2), async () => {})
  first.reject(new Error('failed'))
  await assert.rejects(held, /failed/)
  assert.equal(await room.within(asked(2_048), async () => 'served'), 'served')
})
