import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { listOf } from '../json.ts'
import { type Sandbox, startSandbox } from '../main.ts'
import { dig, digText, get, post } from '../test-client.ts'

const KEY = { 'x-goog-api-key': 'AIza-test' }
const MODEL = 'models/gemini-embedding-001'
let sandbox: Sandbox

before(async () => {
  sandbox = await startSandbox({ port: 0 })
})
after(async () => {
  await sandbox.close()
})

async function embed(body: object, method = 'embedContent', model = MODEL) {
  return await post(`${sandbox.urls.google}/v1beta/${model}:${method}`, KEY, body)
}

function say(text: string, more: object = {}) {
  return { content: { parts: [{ text }] }, ...more }
}

function valuesOf(embedding: unknown): number[] {
  return listOf(dig(embedding, 'values')).map(Number)
}

test('embedContent gives a unit vector of 3,072 values and counts its tokens', async () => {
  const { status, body } = await embed(say('Hello there'))
  assert.equal(status, 200)
  const values = valuesOf(dig(body, 'embedding'))
  assert.equal(values.length, 3_072)
  assert.ok(Math.abs(Math.hypot(...values) - 1) < 1e-5)
  assert.deepEqual(dig(body, 'usageMetadata'), {
    promptTokenCount: 3,
    promptTokenDetails: [{ modality: 'TEXT', tokenCount: 3 }],
  })
})

test('a batch gives the vectors of its requests in their order', async () => {
  const single = await embed(say('One'))
  const requests = [say('One', { model: MODEL }), say('Two', { model: MODEL })]
  const { body } = await embed({ requests }, 'batchEmbedContents')
  const [one, two] = listOf(dig(body, 'embeddings')).map(valuesOf)
  assert.deepEqual(one, valuesOf(dig(single.body, 'embedding')))
  assert.notDeepEqual(one, two)
  assert.equal(dig(body, 'usageMetadata.promptTokenCount'), 2)
})

test('fewer dimensions are the beginning of the vector and are not normalized', async () => {
  const whole = valuesOf(dig((await embed(say('Hello'))).body, 'embedding'))
  for (const settings of [
    { outputDimensionality: 768 },
    { output_dimensionality: 768 },
    { embedContentConfig: { outputDimensionality: 768 } },
  ]) {
    const short = valuesOf(dig((await embed(say('Hello', settings))).body, 'embedding'))
    assert.deepEqual(short, whole.slice(0, 768))
  }
})

test('another task gives another vector', async () => {
  const query = await embed(say('Hello', { taskType: 'RETRIEVAL_QUERY' }))
  const document = await embed(say('Hello', { taskType: 'RETRIEVAL_DOCUMENT', title: 'Greeting' }))
  assert.notDeepEqual(dig(query.body, 'embedding'), dig(document.body, 'embedding'))
})

test('a text above 2,048 tokens is cut, or refused when that is forbidden', async () => {
  const long = say('word'.repeat(3_000))
  const { body } = await embed(long)
  assert.equal(dig(body, 'usageMetadata.promptTokenCount'), 2_048)
  const forbidden = await embed({ ...long, embedContentConfig: { autoTruncate: false } })
  assert.equal(forbidden.status, 400)
  assert.match(digText(forbidden.body, 'error.message'), /token count \(3000\) exceeds/)
})

const REFUSALS: readonly [name: string, body: object, message: RegExp][] = [
  ['an empty part', say(''), /contains an empty Part/],
  ['no content', {}, /content: contents is not specified/],
  ['an unknown field', say('a', { dimensions: 3 }), /Unknown name "dimensions"/],
  ['an unknown task', say('a', { taskType: 'READING' }), /Invalid value at 'task_type'/],
  ['too many dimensions', say('a', { outputDimensionality: 3_073 }), /between 1 and 3072/],
]

for (const [name, body, message] of REFUSALS) {
  test(`embedContent refuses ${name}`, async () => {
    const answered = await embed(body)
    assert.equal(answered.status, 400, answered.text)
    assert.equal(dig(answered.body, 'error.status'), 'INVALID_ARGUMENT')
    assert.match(digText(answered.body, 'error.message'), message)
  })
}

test('a batch has at most 100 requests, all for the model of its address', async () => {
  const requests = Array.from({ length: 101 }, () => say('a', { model: MODEL }))
  const long = await embed({ requests }, 'batchEmbedContents')
  assert.match(digText(long.body, 'error.message'), /at most 100 requests can be in one batch/)
  const other = { requests: [say('a', { model: 'models/other' })] }
  assert.equal((await embed(other, 'batchEmbedContents')).status, 400)
})

test('models that write do not embed, and the one that embeds does not write', async () => {
  const writes = await embed(say('a'), 'embedContent', 'models/gemini-2.5-flash')
  assert.equal(writes.status, 404)
  const embeds = await embed({ contents: [{ parts: [{ text: 'a' }] }] }, 'generateContent')
  assert.equal(embeds.status, 404)
  const { body } = await get(`${sandbox.urls.google}/v1beta/${MODEL}`, KEY)
  assert.equal(dig(body, 'supportedGenerationMethods.0'), 'embedContent')
})

test('embeddings follow the test prompts of their last input', async () => {
  assert.equal((await embed(say('Go [[sandbox:429]]'))).status, 429)
  assert.equal((await embed(say('Go [[sandbox:overloaded]]'))).status, 503)
  const silent = await embed(say('Go [[sandbox:no_usage]]'))
  assert.equal(dig(silent.body, 'usageMetadata'), undefined)
})
