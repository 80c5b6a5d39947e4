import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { loadCatalog } from '../../catalog/catalog.ts'
import { ApiError } from '../../platform/errors.ts'
import { fitToModel, parseEmbeddings, requireEmbeddingModel } from './request.ts'

const catalog = loadCatalog()
const MODEL = 'text-embedding-3-small'
const TAKES = { openai: { takes_token_ids: true }, google: { takes_token_ids: false } }

function read(body: unknown) {
  const asked = parseEmbeddings(body)
  const model = requireEmbeddingModel(catalog, asked.model)
  return { ...asked, dimensions: fitToModel(asked, model, TAKES[model.provider]) }
}

describe('the input of a request for embeddings', () => {
  test('is a text, a list of texts, token ids, or a list of token ids', () => {
    const inputs = (input: unknown) => read({ model: MODEL, input }).inputs
    assert.deepEqual(inputs('a'), ['a'])
    assert.deepEqual(inputs(['a', 'b']), ['a', 'b'])
    assert.deepEqual(inputs([1, 2]), [[1, 2]])
    assert.deepEqual(inputs([[1], [2, 3]]), [[1], [2, 3]])
    assert.equal(inputs(Array.from({ length: 2_048 }, () => 'a')).length, 2_048)
  })

  test('is read with what clients send beside it, and says what nobody reads', () => {
    const body = { model: MODEL, input: 'a', user: 'u', input_type: 'query', dimensions: null }
    const { encoding, dimensions, ignored } = read({ ...body, encoding_format: 'base64' })
    assert.deepEqual([encoding, dimensions, ignored], ['base64', undefined, ['input_type']])
    assert.equal(read({ model: MODEL, input: 'a' }).encoding, 'float')
  })
})

test('a length is asked for only where the model can be asked, and not where it is its own', () => {
  assert.equal(read({ model: MODEL, input: 'a', dimensions: 256 }).dimensions, 256)
  assert.equal(read({ model: MODEL, input: 'a', dimensions: 1_536 }).dimensions, undefined)
  const older = { model: 'text-embedding-ada-002', input: 'a' }
  assert.equal(read({ ...older, dimensions: 1_536 }).dimensions, undefined)
  assert.throws(() => read({ ...older, dimensions: 256 }), ApiError)
})

test('whatever is wrong with a request is 400 or 404, and names the field', () => {
  const many = (length: number, value: unknown) => Array.from({ length }, () => value)
  const wrong: [body: unknown, param: string | undefined][] = [
    [undefined, undefined],
    [[], undefined],
    [{ input: 'a' }, 'model'],
    [{ model: '', input: 'a' }, 'model'],
    [{ model: 7, input: 'a' }, 'model'],
    [{ model: 'gpt-4o', input: 'a' }, 'model'],
    [{ model: 'text-embedding-4', input: 'a' }, 'model'],
    [{ model: MODEL }, 'input'],
    [{ model: MODEL, input: null }, 'input'],
    [{ model: MODEL, input: '' }, 'input'],
    [{ model: MODEL, input: 7 }, 'input'],
    [{ model: MODEL, input: {} }, 'input'],
    [{ model: MODEL, input: [] }, 'input'],
    [{ model: MODEL, input: [''] }, 'input[0]'],
    [{ model: MODEL, input: ['a', ''] }, 'input[1]'],
    [{ model: MODEL, input: ['a', 1] }, 'input'],
    [{ model: MODEL, input: ['a', null] }, 'input'],
    [{ model: MODEL, input: ['a', [1]] }, 'input'],
    [{ model: MODEL, input: [null] }, 'input[0]'],
    [{ model: MODEL, input: [{ text: 'a' }] }, 'input[0]'],
    [{ model: MODEL, input: [true] }, 'input[0]'],
    [{ model: MODEL, input: [1, 'a'] }, 'input'],
    [{ model: MODEL, input: [-1] }, 'input'],
    [{ model: MODEL, input: [1.5] }, 'input'],
    [{ model: MODEL, input: [2 ** 40] }, 'input'],
    [{ model: MODEL, input: [[]] }, 'input[0]'],
    [{ model: MODEL, input: [[1], []] }, 'input[1]'],
    [{ model: MODEL, input: [[1], [[2]]] }, 'input[1]'],
    [{ model: MODEL, input: many(2_049, 'a') }, 'input'],
    [{ model: MODEL, input: many(8_193, 1) }, 'input'],
    [{ model: MODEL, input: [[1], many(8_193, 1)] }, 'input[1]'],
    [{ model: 'google/gemini-embedding-001', input: [1] }, 'input'],
    [{ model: MODEL, input: 'a', encoding_format: 'hex' }, 'encoding_format'],
    [{ model: MODEL, input: 'a', dimensions: 0 }, 'dimensions'],
    [{ model: MODEL, input: 'a', dimensions: 1.5 }, 'dimensions'],
    [{ model: MODEL, input: 'a', dimensions: '256' }, 'dimensions'],
    [{ model: MODEL, input: 'a', dimensions: 1_537 }, 'dimensions'],
  ]
  for (const [body, param] of wrong) {
    const what = JSON.stringify(body)?.slice(0, 100)
    assert.throws(
      () => read(body),
      (error) => {
        assert.ok(error instanceof ApiError, what)
        assert.equal(error.param, param, what)
        return error.status === 400 || error.status === 404
      },
      what,
    )
  }
})
