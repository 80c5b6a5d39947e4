import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../../test/support/app.ts'
import { loadCatalog } from './catalog.ts'

const catalog = loadCatalog()
const service = await createApp()
const ANTHROPIC = { 'anthropic-version': '2023-06-01' }

const read = (url: string, headers: Record<string, string> = {}) =>
  service.request({ url, headers })

const GPT_4O_MINI = {
  id: 'gpt-4o-mini',
  object: 'model',
  created: 1_721_260_800,
  owned_by: 'openai',
  context_window: 128_000,
  max_output_tokens: 16_384,
  pricing: { unit: 'token', input: 150_000, cached_input: 75_000, output: 600_000 },
  modalities: { input: ['text', 'image', 'file'], output: ['text'] },
  served_by: 'gpt-4o-mini',
  deprecated: true,
  retires_on: '2027-01-14',
}

const CLAUDE_SONNET = {
  type: 'model',
  id: 'anthropic/claude-sonnet-4',
  display_name: 'Claude Sonnet 4',
  created_at: '2025-05-22T00:00:00.000Z',
  max_input_tokens: 200_000,
  max_tokens: 64_000,
  served_by: 'claude-sonnet-4-20250514',
  deprecated: true,
  retires_on: '2026-06-15',
}

const aliasesOf = (name: string) => catalog.find(name)?.aliases

type Listed = { id: string }

test('GET /v1/models is OpenAI’s list, without a credential', async () => {
  const reply = await read('/v1/models')
  assert.equal(reply.statusCode, 200)
  const { object, data, ...rest } = reply.json<{ object: string; data: Listed[] }>()
  assert.equal(object, 'list')
  assert.deepEqual(rest, {})
  assert.deepEqual(
    data.map((model) => model.id),
    catalog.list().map((model) => model.name),
  )
  assert.deepEqual(
    data.find((model) => model.id === 'gpt-4o-mini'),
    GPT_4O_MINI,
  )
})

test('with an anthropic-version header it is Anthropic’s list', async () => {
  const reply = await read('/v1/models', ANTHROPIC)
  const { data, ...rest } = reply.json<{ data: Listed[] }>()
  assert.deepEqual(rest, {
    has_more: false,
    first_id: 'gpt-4o',
    last_id: 'elevenlabs/eleven_text_to_sound_v2',
  })
  assert.equal(data.length, catalog.list().length)
  assert.deepEqual(
    data.find((model) => model.id === CLAUDE_SONNET.id),
    CLAUDE_SONNET,
  )
})

test('one model, with the slash of its name as it is or escaped, in both shapes', async () => {
  const described = { ...GPT_4O_MINI, aliases: aliasesOf('gpt-4o-mini') }
  assert.deepEqual((await read('/v1/models/gpt-4o-mini')).json(), described)
  for (const id of ['anthropic/claude-sonnet-4', 'anthropic%2Fclaude-sonnet-4']) {
    const openai = (await read(`/v1/models/${id}`)).json()
    assert.deepEqual([openai.id, openai.object], ['anthropic/claude-sonnet-4', 'model'])
    assert.deepEqual((await read(`/v1/models/${id}`, ANTHROPIC)).json(), {
      ...CLAUDE_SONNET,
      aliases: aliasesOf('anthropic/claude-sonnet-4'),
    })
  }
})

test('a model is found by each of its aliases, and answers with its public name', async () => {
  for (const id of ['claude-sonnet-4-0', 'anthropic/claude-sonnet-4-20250514']) {
    const found = (await read(`/v1/models/${id}`)).json<{ id: string; aliases: string[] }>()
    assert.equal(found.id, 'anthropic/claude-sonnet-4')
    assert.ok(found.aliases.includes(id))
  }
  const { data } = (await read('/v1/models')).json<{ data: object[] }>()
  assert.ok(data.every((model) => !('aliases' in model)))
})

test('a name that is nearly right is told which one is', async () => {
  const { error } = (await read('/v1/models/gpt-4o-minni')).json<{ error: { hint: string } }>()
  assert.match(error.hint, /^Did you mean "gpt-4o-mini"\?/)
})

test('audio models say in which unit they are priced', async () => {
  const speech = (await read('/v1/models/elevenlabs/eleven_flash_v2_5')).json()
  assert.deepEqual(speech.pricing, {
    unit: 'character',
    input: 50_000_000,
    cached_input: 50_000_000,
    output: 0,
  })
  assert.deepEqual(speech.modalities, { input: ['text'], output: ['audio'] })
  const scribe = (await read('/v1/models/elevenlabs/scribe_v2')).json()
  assert.deepEqual([scribe.pricing.unit, scribe.pricing.input], ['hour', 220_000_000_000])
})

test('a name that is not in the catalog is 404 model_not_found', async () => {
  for (const id of ['gpt-9', 'anthropic/none', 'a/b/c', '', '__proto__', '%00', 'GPT-4O']) {
    const reply = await read(`/v1/models/${id}`)
    assert.equal(reply.statusCode, 404, id)
    assert.equal(reply.json().error.code, 'model_not_found')
  }
})

test('the document shows one readable address for a model', async () => {
  const { paths } = (await read('/openapi.json')).json<{ paths: Record<string, object> }>()
  const listed = Object.keys(paths).filter((path) => path.startsWith('/v1/models'))
  assert.deepEqual(listed.sort(), ['/v1/models', '/v1/models/{id}'])
})

test('embedding models say how long a text and a vector are, in the words that both lists have for it', async () => {
  const url = '/v1/models/google/gemini-embedding-001'
  const model = (await read(url)).json()
  assert.deepEqual(model.pricing, {
    unit: 'token',
    input: 150_000,
    cached_input: 150_000,
    output: 0,
  })
  assert.deepEqual(model.modalities, { input: ['text'], output: ['embedding'] })
  assert.deepEqual([model.context_window, model.dimensions], [2_048, 3_072])
  assert.equal((await read(url, ANTHROPIC)).json().max_input_tokens, 2_048)
})
