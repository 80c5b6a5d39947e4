import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI from 'openai'
import { listOf } from '../json.ts'
import { type Sandbox, startSandbox } from '../main.ts'
import { dig, post } from '../test-client.ts'

let sandbox: Sandbox
let client: OpenAI

before(async () => {
  sandbox = await startSandbox({ port: 0 })
  client = new OpenAI({ baseURL: sandbox.urls.openai, apiKey: 'sk-test', maxRetries: 0 })
})
after(async () => {
  await sandbox.close()
})

async function embed(body: object) {
  const url = `${sandbox.urls.openai}/embeddings`
  const good = { model: 'text-embedding-3-small', input: 'Hello' }
  return await post(url, { authorization: 'Bearer sk-test' }, { ...good, ...body })
}

function lengthOf(values: readonly number[]): number {
  return Math.hypot(...values)
}

test('an embedding is a unit vector that belongs to its text and model', async () => {
  const sizes: [model: string, size: number][] = [
    ['text-embedding-3-small', 1_536],
    ['text-embedding-3-large', 3_072],
    ['text-embedding-ada-002', 1_536],
  ]
  for (const [model, size] of sizes) {
    const input = ['Hello there', 'Hello there', 'Hello']
    const { data, usage, object } = await client.embeddings.create({ model, input })
    assert.equal(object, 'list')
    const [first, second, third] = data.map((item) => item.embedding)
    assert.equal(first?.length, size)
    assert.ok(Math.abs(lengthOf(first ?? []) - 1) < 1e-5)
    assert.deepEqual(first, second)
    assert.notDeepEqual(first, third)
    assert.deepEqual(usage, { prompt_tokens: 8, total_tokens: 8 })
  }
})

test('numbers and base64 are the same vector', async () => {
  const params = { model: 'text-embedding-3-small', input: 'Hello' }
  const floats = await client.embeddings.create({ ...params, encoding_format: 'float' })
  // Left alone, the client asks for base64 and decodes it.
  const decoded = await client.embeddings.create(params)
  assert.equal(dig(sandbox.requests().at(-1)?.body, 'encoding_format'), 'base64')
  assert.deepEqual(decoded.data[0]?.embedding, floats.data[0]?.embedding)
})

test('fewer dimensions are the beginning of the vector, at length 1 again', async () => {
  const params = { model: 'text-embedding-3-large', input: 'Hello' }
  const [whole, short] = await Promise.all([
    client.embeddings.create(params),
    client.embeddings.create({ ...params, dimensions: 256 }),
  ])
  const values = short.data[0]?.embedding ?? []
  assert.equal(values.length, 256)
  assert.ok(Math.abs(lengthOf(values) - 1) < 1e-5)
  const ratio = (values[0] ?? 0) / (whole.data[0]?.embedding[0] ?? 1)
  assert.ok(Math.abs((values[9] ?? 0) - ratio * (whole.data[0]?.embedding[9] ?? 0)) < 1e-5)
})

test('token ids are taken as one input or as a list of them', async () => {
  const one = await embed({ input: [1, 2, 3] })
  assert.equal(listOf(dig(one.body, 'data')).length, 1)
  assert.deepEqual(dig(one.body, 'usage'), { prompt_tokens: 3, total_tokens: 3 })
  const two = await embed({ input: [[1, 2, 3], [4]] })
  assert.equal(dig(two.body, 'data.1.index'), 1)
  assert.deepEqual(dig(two.body, 'usage'), { prompt_tokens: 4, total_tokens: 4 })
})

type Refusal = { status?: number; code: string | null; message: RegExp }
const INVALID = { code: null, message: /'\$\.input' is invalid/ }
const REFUSALS: readonly [name: string, body: object, refusal: Refusal][] = [
  ['an empty text', { input: '' }, INVALID],
  ['a list with an empty text', { input: ['a', ''] }, INVALID],
  ['an empty list', { input: [] }, INVALID],
  ['a mixed list', { input: ['a', 1] }, INVALID],
  [
    'more than 2,048 inputs',
    { input: Array.from({ length: 2_049 }, () => 'a') },
    { code: 'array_above_max_length', message: /maximum length 2048/ },
  ],
  [
    'more than 8,192 tokens in one input',
    { input: ['a', 'word'.repeat(8_193)] },
    { code: null, message: /'input\[1\]': maximum input length is 8192 tokens/ },
  ],
  [
    'more than 300,000 tokens in all',
    { input: Array.from({ length: 38 }, () => 'word'.repeat(8_000)) },
    { code: 'max_tokens_per_request', message: /Requested 304000 tokens, max 300000/ },
  ],
  [
    'too many dimensions',
    { dimensions: 1_537 },
    { code: null, message: /less than or equal to 1536/ },
  ],
  [
    'dimensions of a model that has only its own',
    { model: 'text-embedding-ada-002', dimensions: 256 },
    { code: null, message: /does not support specifying dimensions/ },
  ],
  [
    'an unknown field',
    { truncate: true },
    { code: 'unknown_parameter', message: /Unknown parameter: 'truncate'/ },
  ],
  [
    'a model that writes',
    { model: 'gpt-4o' },
    { status: 403, code: null, message: /not allowed to generate embeddings/ },
  ],
  [
    'a model that nobody knows',
    { model: 'text-embedding-9' },
    { status: 404, code: 'model_not_found', message: /does not exist/ },
  ],
]

for (const [name, body, { status = 400, code, message }] of REFUSALS) {
  test(`embeddings refuse ${name}`, async () => {
    const answered = await embed(body)
    assert.equal(answered.status, status, answered.text)
    assert.equal(dig(answered.body, 'error.code'), code)
    assert.match(String(dig(answered.body, 'error.message')), message)
  })
}

test('embeddings follow the test prompts of their last input', async () => {
  assert.equal((await embed({ input: 'Go [[sandbox:429]]' })).status, 429)
  assert.equal((await embed({ input: ['a', 'Go [[sandbox:overloaded]]'] })).status, 503)
  const silent = await embed({ input: 'Go [[sandbox:no_usage]]' })
  assert.equal(dig(silent.body, 'usage'), undefined)
  await assert.rejects(embed({ input: 'Go [[sandbox:hangup]]' }))
})

test('embedding models are listed, do not write, and can be retired', async () => {
  const models = await client.models.list()
  assert.ok(models.data.some(({ id }) => id === 'text-embedding-3-small'))
  const chat = { model: 'text-embedding-3-small', messages: [{ role: 'user', content: 'Hi' }] }
  const url = `${sandbox.urls.openai}/chat/completions`
  const answered = await post(url, { authorization: 'Bearer sk-test' }, chat)
  assert.equal(answered.status, 404)
  assert.match(answered.text, /not a chat model/)
  const control = `${sandbox.urls.stripe}/_sandbox/models`
  const gone = { provider: 'openai', model: 'text-embedding-ada-002', retires_on: '2026-01-01' }
  assert.equal((await post(control, {}, gone)).status, 200)
  assert.equal((await embed({ model: 'text-embedding-ada-002' })).status, 404)
})
