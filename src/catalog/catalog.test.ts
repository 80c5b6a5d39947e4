import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { loadCatalog } from './catalog.ts'
import { CatalogFileError } from './catalog-file.ts'
import { EMBEDDING_MODELS } from './embedding-models.ts'
import { type ChatModel, disconnectPolicy } from './models.ts'
import { AUDIO_MODELS, CHAT_MODELS } from './price-list.ts'

const directory = mkdtempSync(path.join(tmpdir(), 'svc-catalog-'))
after(() => rmSync(directory, { recursive: true, force: true }))

let files = 0

function write(content: unknown): string {
  const file = path.join(directory, `catalog-${++files}.json`)
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

function load(models: unknown) {
  return loadCatalog({ file: write({ models }) })
}

function chatModel(catalog: ReturnType<typeof loadCatalog>, name: string): ChatModel {
  const model = catalog.find(name)
  assert.ok(model?.kind === 'chat')
  return model
}

const ADDED = {
  kind: 'chat',
  provider: 'openai',
  upstream_id: 'gpt-5.6-sol',
  prices: {
    input: 5_000_000,
    cache_read: 500_000,
    cache_write_5m: 6_250_000,
    cache_write_1h: 6_250_000,
    output: 30_000_000,
  },
  context_window: 400_000,
  max_output_tokens: 128_000,
  capabilities: {
    images: true,
    files: true,
    audio_input: false,
    tools: true,
    json_object: true,
    json_schema: true,
    reasoning: true,
  },
  on_disconnect: 'drain',
}

test('every model of the specification is there, by its exact name', () => {
  assert.deepEqual(
    CHAT_MODELS.map((model) => model.name),
    [
      'gpt-4o',
      'gpt-4o-mini',
      'gpt-4-turbo',
      'gpt-4',
      'gpt-3.5-turbo',
      'gpt-5',
      'gpt-5-mini',
      'anthropic/claude-opus-4',
      'anthropic/claude-sonnet-4',
      'anthropic/claude-haiku-3.5',
      'google/gemini-2.5-pro',
      'google/gemini-2.5-flash',
      'google/gemini-2.0-flash',
    ],
  )
  assert.deepEqual(
    AUDIO_MODELS.map((model) => model.upstream_id),
    [
      'eleven_multilingual_v2',
      'eleven_v3',
      'eleven_flash_v2_5',
      'eleven_turbo_v2_5',
      'scribe_v1',
      'scribe_v2',
      'eleven_text_to_sound_v2',
    ],
  )
  const catalog = loadCatalog()
  assert.equal(catalog.list().length, 24)
  for (const model of catalog.list()) assert.equal(catalog.find(model.name), model)
  for (const name of ['GPT-4o', 'gpt-4o ', 'claude-opus-9', '__proto__', '']) {
    assert.equal(catalog.find(name), undefined)
  }
})

test('prices are those of the list, in dollars per million tokens', () => {
  const listed = CHAT_MODELS.map(({ name, prices: { input, cache_read, output } }) => [
    name.split('/').at(-1),
    ...[input, cache_read, output].map((credits) => Number(credits) / 1_000_000),
  ])
  assert.deepEqual(listed, [
    ['gpt-4o', 2.5, 1.25, 10],
    ['gpt-4o-mini', 0.15, 0.075, 0.6],
    ['gpt-4-turbo', 10, 10, 30],
    ['gpt-4', 30, 30, 60],
    ['gpt-3.5-turbo', 0.5, 0.5, 1.5],
    ['gpt-5', 1.25, 0.125, 10],
    ['gpt-5-mini', 0.25, 0.025, 2],
    ['claude-opus-4', 15, 1.5, 75],
    ['claude-sonnet-4', 3, 0.3, 15],
    ['claude-haiku-3.5', 0.8, 0.08, 4],
    ['gemini-2.5-pro', 1.25, 0.125, 10],
    ['gemini-2.5-flash', 0.3, 0.03, 2.5],
    ['gemini-2.0-flash', 0.1, 0.025, 0.4],
  ])
})

test('embedding models cost their input, and say how long their vectors are', () => {
  const listed = EMBEDDING_MODELS.map(({ name, price, dimensions }) => [
    name,
    Number(price) / 1_000_000,
    dimensions,
  ])
  assert.deepEqual(listed, [
    ['text-embedding-3-small', 0.02, 1_536],
    ['text-embedding-3-large', 0.13, 3_072],
    ['text-embedding-ada-002', 0.1, 1_536],
    ['google/gemini-embedding-001', 0.15, 3_072],
  ])
  const added = load({
    'our-vectors': {
      kind: 'embedding',
      provider: 'openai',
      upstream_id: 'vectors-1',
      price: 7,
      max_input_tokens: 512,
      dimensions: 64,
      shortens: false,
    },
  })
  assert.equal(added.find('our-vectors')?.kind, 'embedding')
  assert.throws(
    () => load({ 'text-embedding-3-small': { dimensions: 100_000 } }),
    /dimensions must be <= 4096/,
  )
})

test('the price list would pass as a catalog file: every price is whole, every model has a date', () => {
  const names = loadCatalog().list()
  const untouched = load(Object.fromEntries(names.map((model) => [model.name, {}])))
  assert.deepEqual(untouched.list(), names)
  for (const model of names) assert.match(model.created ?? '', /^\d{4}-\d\d-\d\d$/)
})

test('models that always reason and those of Google are drained, others cancelled', () => {
  const drained = CHAT_MODELS.filter((model) => model.on_disconnect === 'drain')
  assert.deepEqual(
    drained.map((model) => model.name),
    [
      'gpt-5',
      'gpt-5-mini',
      'google/gemini-2.5-pro',
      'google/gemini-2.5-flash',
      'google/gemini-2.0-flash',
    ],
  )
  const sonnet = chatModel(loadCatalog(), 'anthropic/claude-sonnet-4')
  assert.equal(disconnectPolicy(sonnet, { reasons: false, stream: true }), 'cancel')
  assert.equal(disconnectPolicy(sonnet, { reasons: true, stream: true }), 'drain')
  assert.equal(disconnectPolicy(sonnet, { reasons: false, stream: false }), 'drain')
})

test('a catalog file changes the fields it names and keeps the others', () => {
  const before = chatModel(loadCatalog(), 'google/gemini-2.5-pro')
  const after_change = chatModel(
    load({
      'google/gemini-2.5-pro': {
        upstream_id: 'gemini-3.1-pro-preview',
        prices: { input: 2_000_000 },
        capabilities: { audio_input: false },
        long_prompt: null,
      },
    }),
    'google/gemini-2.5-pro',
  )
  const { long_prompt: _long, retires_on: _day, successor: _next, ...rest } = before
  assert.deepEqual(after_change, {
    ...rest,
    upstream_id: 'gemini-3.1-pro-preview',
    prices: { ...before.prices, input: 2_000_000n },
    capabilities: { ...before.capabilities, audio_input: false },
  })
  const speech = load({ 'elevenlabs/eleven_v3': { price: 180_000_000 } }).find(
    'elevenlabs/eleven_v3',
  )
  assert.ok(speech?.kind === 'speech')
  assert.equal(speech.price, 180_000_000n)
})

test('a catalog file adds models, after those of the list', () => {
  const catalog = load({ 'openai/sol': ADDED })
  const added = chatModel(catalog, 'openai/sol')
  assert.equal(catalog.list().at(-1), added)
  assert.equal(added.prices.output, 30_000_000n)
  assert.equal(added.name, 'openai/sol')
})

test('a wrong model stops with one line that names file, model and field', () => {
  const { prices, ...priceless } = ADDED
  const { output: _, ...incomplete } = prices
  const faults: [models: Record<string, unknown>, said: RegExp][] = [
    [{ 'gpt-4o': { prices: { input: 2.5 } } }, /model "gpt-4o": prices\.input must be integer/],
    [{ 'gpt-4o': { prices: { input: -1 } } }, /prices\.input must be >= 0/],
    [{ 'gpt-4o': { prices: { input: '1' } } }, /prices\.input must be integer/],
    [{ 'gpt-4o': { prices: { input: 1e15 } } }, /prices\.input must be <=/],
    [{ 'gpt-4o': { prices: { inputs: 1 } } }, /prices\.inputs is not a field/],
    [{ 'gpt-4o': { price: 1 } }, /price is not a field/],
    [{ 'gpt-4o': { name: 'x' } }, /name is not a field/],
    [{ 'gpt-4o': { provider: 'azure' } }, /provider must be one of \["openai"/],
    [{ 'gpt-4o': { on_disconnect: 'wait' } }, /on_disconnect must be one of/],
    [{ 'gpt-4o': { created: 'yesterday' } }, /created must match/],
    [{ 'gpt-4o': { max_output_tokens: 200_000 } }, /max_output_tokens must be <= context_window/],
    [{ 'gpt-4o': { upstream_id: null } }, /upstream_id is missing/],
    [{ 'gpt-4o': { kind: 'video' } }, /kind must be one of \["chat",/],
    [{ 'gpt-4o': 7 }, /must be an object of fields/],
    [{ 'gpt-4o': { long_prompt: { above_tokens: 1 } } }, /long_prompt\.prices is missing/],
    [{ new: {} }, /model "new": kind must be one of/],
    [{ new: priceless }, /model "new": prices is missing/],
    [{ new: { ...ADDED, prices: incomplete } }, /prices\.output is missing/],
    [{ 'a b': ADDED }, /model "a b": name must match/],
    [{ 'elevenlabs/eleven_v3': { prices: {} } }, /prices is not a field/],
  ]
  for (const [models, said] of faults) {
    const file = write({ models })
    assert.throws(
      () => loadCatalog({ file }),
      (error) => {
        assert.ok(error instanceof CatalogFileError)
        assert.ok(error.message.startsWith(`CATALOG_FILE=${file}: `), error.message)
        assert.match(error.message, said)
        assert.doesNotMatch(error.message, /\n/)
        return true
      },
    )
  }
})

test('a file that is missing, no JSON, too large or of another shape stops with one line', () => {
  const contents = ['{', '[]', '{}', 'null', '{"models":[]}', '{"models":{},"more":1}']
  const wrong = [
    ...contents.map(write),
    write(' '.repeat(1_000_001)),
    directory,
    '/nonexistent/file',
  ]
  for (const file of wrong) {
    assert.throws(
      () => loadCatalog({ file }),
      (error) =>
        error instanceof CatalogFileError &&
        error.message.startsWith(`CATALOG_FILE=${file}: `) &&
        !error.message.includes('\n'),
      file,
    )
  }
})

test('names that would change prototypes are names like any other', () => {
  const file = write(`{"models":{"__proto__":${JSON.stringify(ADDED)}}}`)
  assert.throws(() => loadCatalog({ file }), /model "__proto__": name must match/)
})
