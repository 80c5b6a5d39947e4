import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ChatModel } from '../../catalog/models.ts'
import { ApiError } from '../../platform/errors.ts'
import { upstreamOf } from '../upstreams/registry.ts'
import { MODELS, testModel } from '../upstreams/test-call.ts'
import { ANTHROPIC_FIELDS } from './anthropic/fields.ts'
import { fieldTable, judgeFields } from './field-rules.ts'
import { OPENAI_FIELDS } from './openai/fields.ts'

describe('a field of chat completions', () => {
  test('is relayed to OpenAI, unless it changes the price, stores content or names the caller', () => {
    const kept = { messages: [], logit_bias: { 1: 2 }, prediction: {}, prompt_cache_key: 'k' }
    const others = {
      service_tier: 'priority',
      store: true,
      metadata: { a: 'b' },
      user: 'someone@example.com',
      safety_identifier: 'x',
    }
    const body = { model: 'gpt-4o', stream: true, ...kept, ...others }
    assert.deepEqual(judgeFields(OPENAI_FIELDS, body, MODELS.gpt4o), {
      relayed: kept,
      ignored: Object.keys(others),
    })
  })

  test('is named where another provider has no word for it', () => {
    const body = { seed: 4, logit_bias: { 1: 2 }, frequency_penalty: 0.5, temperature: 1 }
    const judged = judgeFields(OPENAI_FIELDS, body, MODELS.sonnet)
    assert.deepEqual(judged, { relayed: {}, ignored: ['seed', 'logit_bias', 'frequency_penalty'] })
  })

  test('that asks for nothing is neither named nor refused', () => {
    const idle = {
      n: 1,
      logprobs: false,
      frequency_penalty: 0,
      logit_bias: {},
      store: false,
      seed: null,
    }
    assert.deepEqual(judgeFields(OPENAI_FIELDS, idle, MODELS.sonnet).ignored, [])
  })

  test('that nobody knows is named', () => {
    const body = { made_up: 1, constructor: 2 }
    assert.deepEqual(judgeFields(OPENAI_FIELDS, body, MODELS.gpt4o).ignored, [
      'made_up',
      'constructor',
    ])
  })

  test('that has a price of its own or cannot be answered is refused by name', () => {
    for (const field of ['audio', 'web_search_options', 'moderation']) refuses(field, MODELS.gpt4o)
    for (const field of ['n', 'logprobs']) refuses(field, MODELS.flash)
  })
})

describe('a field inside another', () => {
  const hello = { role: 'user', content: 'Hello' }
  const named = { ...hello, name: 'ada' }

  test('is relayed or named by a row of its own', () => {
    const body = { messages: [named, { ...hello, name: null }] }
    assert.deepEqual(judgeFields(OPENAI_FIELDS, body, MODELS.gpt4o), {
      relayed: { messages: [named, hello] },
      ignored: [],
    })
    assert.deepEqual(judgeFields(OPENAI_FIELDS, body, MODELS.sonnet).ignored, ['messages[].name'])
  })

  test('is judged for each family', () => {
    const json_schema = { name: 'x', schema: {}, strict: true }
    const image_url = { url: 'https://example.com/a.png', detail: 'low' }
    const mark = { type: 'text', text: 'x', prompt_cache_breakpoint: { mode: 'explicit' } }
    const body = {
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url }, mark] }],
      tools: [{ type: 'function', function: { name: 'f', strict: true } }],
      response_format: { type: 'json_schema', json_schema },
    }
    const ignoredBy = (model: ChatModel) => judgeFields(OPENAI_FIELDS, body, model).ignored
    const breakpoint = 'messages[].content[].prompt_cache_breakpoint'
    const detail = 'messages[].content[].image_url.detail'
    const strict = 'tools[].function.strict'
    assert.deepEqual(ignoredBy(testModel('openai', 'gpt-5.6-terra')), [])
    assert.deepEqual(ignoredBy(MODELS.gpt4o), [breakpoint])
    assert.deepEqual(ignoredBy(MODELS.flash), [detail, breakpoint, strict])
    const schema_strict = 'response_format.json_schema.strict'
    assert.deepEqual(ignoredBy(MODELS.sonnet), [detail, breakpoint, strict, schema_strict])
  })

  test('that nobody knows is named, also where the provider is of the same dialect', () => {
    const body = { messages: [{ ...hello, made_up: 1, parsed: null }, 'no message', hello] }
    for (const model of Object.values(MODELS)) {
      const { relayed, ignored } = judgeFields(OPENAI_FIELDS, body, model)
      assert.deepEqual(ignored, ['messages[].made_up'])
      const kept = { messages: [hello, 'no message', hello] }
      assert.deepEqual(relayed, upstreamOf(model) === 'openai' ? kept : {})
    }
  })

  test('is left alone where no table says what may stand there', () => {
    const table = fieldTable({
      a: { all: 'relay' },
      'a[].b': { all: 'ignore' },
    })
    const body = { a: [{ b: 1, c: { d: 2 } }] }
    assert.deepEqual(judgeFields(table, body, MODELS.gpt4o), {
      relayed: { a: [{ c: { d: 2 } }] },
      ignored: ['a[].b'],
    })
  })
})

test('a field of messages that changes the price is named and goes no further', () => {
  const others = { service_tier: 'auto', speed: 'fast', inference_geo: 'us', something_new: 1 }
  const body = { system: 'Hi', ...others }
  assert.deepEqual(judgeFields(ANTHROPIC_FIELDS, body, MODELS.sonnet), {
    relayed: { system: 'Hi' },
    ignored: Object.keys(others),
  })
  assert.throws(
    () => judgeFields(ANTHROPIC_FIELDS, { mcp_servers: [{ type: 'url' }] }, MODELS.sonnet),
    /mcp_servers/,
  )
})

test('what only Claude has a word for is named elsewhere, also deep inside', () => {
  const cache_control = { type: 'ephemeral' }
  const block = { type: 'text', text: 'x', cache_control }
  const document = { type: 'document', source: {}, citations: { enabled: true } }
  const said = { type: 'text', text: 'y', citations: [{ cited_text: 'x' }] }
  const result = { type: 'tool_result', tool_use_id: 'a', content: [block] }
  const body = {
    system: [block],
    messages: [
      { role: 'user', content: [block, document] },
      { role: 'assistant', content: [said] },
      { role: 'user', content: [result] },
    ],
    tools: [{ name: 'f', input_schema: {}, strict: true, cache_control, input_examples: [{}] }],
    tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    output_config: { task_budget: { type: 'tokens', total: 20_000 } },
  }
  assert.deepEqual(judgeFields(ANTHROPIC_FIELDS, body, MODELS.sonnet), {
    relayed: body,
    ignored: [],
  })
  const foreign = [
    'system[].cache_control',
    'messages[].content[].cache_control',
    'messages[].content[].citations',
    'messages[].content[].content[].cache_control',
    'tools[].cache_control',
    'tools[].input_examples',
    'output_config.task_budget',
  ]
  assert.deepEqual(judgeFields(ANTHROPIC_FIELDS, body, MODELS.gpt4o).ignored, foreign)
  const nobody = ['tools[].strict', 'tool_choice.disable_parallel_tool_use']
  assert.deepEqual(
    new Set(judgeFields(ANTHROPIC_FIELDS, body, MODELS.flash).ignored),
    new Set([...foreign, ...nobody]),
  )
})

function refuses(field: string, model: (typeof MODELS)[keyof typeof MODELS]): void {
  assert.throws(
    () => judgeFields(OPENAI_FIELDS, { [field]: 2 }, model),
    (error) =>
      error instanceof ApiError &&
      error.code === 'bad_request' &&
      error.message.includes(field) &&
      error.param === field,
  )
}
