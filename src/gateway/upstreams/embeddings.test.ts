import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../test/support/same-cases.ts'
import { packVector, unpackVector } from './embeddings.ts'
import { googleEmbeddings } from './google/embeddings.ts'
import { openaiEmbeddings } from './openai/embeddings.ts'

test('a vector is the same after base64, to the last bit of float32, and little-endian', () => {
  assert.equal(packVector([1, -2]), Buffer.from([0, 0, 128, 63, 0, 0, 0, 192]).toString('base64'))
  const float = fc.float({ noNaN: true, noDefaultInfinity: true })
  fc.assert(
    fc.property(fc.array(float, { minLength: 1 }), (numbers) => {
      const packed = packVector(numbers)
      assert.ok(packed !== undefined)
      assert.deepEqual(unpackVector(packed), numbers)
      assert.equal(packVector(packed), packed)
    }),
  )
})

test('what is no vector is none', () => {
  for (const value of [
    undefined,
    null,
    [],
    '',
    'AAA',
    'AAAA',
    '?'.repeat(8),
    {},
    [1, '2'],
    [1e300],
  ])
    assert.equal(packVector(value), undefined, JSON.stringify(value))
})

test('OpenAI’s vectors are taken in the order of the texts, whatever order they come in', () => {
  const data = [
    { index: 1, embedding: 'one' },
    { index: 0, embedding: 'zero' },
  ]
  const read = openaiEmbeddings.read({ data, usage: { prompt_tokens: 9 } })
  assert.deepEqual(read, { vectors: ['zero', 'one'], tokens: 9 })
  const twice = openaiEmbeddings.read({ data: [data[1], data[1]] })
  assert.deepEqual(twice, { vectors: ['zero', undefined], tokens: undefined })
})

test('Google’s tokens are taken where it has counted them', () => {
  const embeddings = [{ values: [1] }, { values: [2] }]
  assert.deepEqual(googleEmbeddings.read({ embeddings }), {
    vectors: [[1], [2]],
    tokens: undefined,
  })
  const counted = googleEmbeddings.read({ embeddings, usageMetadata: { promptTokenCount: 5 } })
  assert.equal(counted.tokens, 5)
})
