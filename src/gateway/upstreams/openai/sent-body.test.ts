// What OpenAI is sent, field by field.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ChatModel } from '../../../catalog/models.ts'
import { type ToolDefinition } from '../../dialects/chat-types.ts'
import { judgeFields } from '../../dialects/field-rules.ts'
import { openAiDialect } from '../../dialects/openai/dialect.ts'
import { type JsonRecord } from '../json-values.ts'
import { at, names, original, refuses, say, toOpenai } from '../test-body.ts'
import { MODELS, type RequestParts, testCall, testModel, testRequest } from '../test-call.ts'
import { draftOpenai } from './request.ts'

test("OpenAI gets its client's own body, with the price and the account in our hands", () => {
  const body = toOpenai(
    {
      stream: true,
      ...original('openai', {
        max_tokens: 99_999,
        user: 'me@example.com',
        safety_identifier: 'mine',
        store: true,
        metadata: { a: 'b' },
        service_tier: 'priority',
        stream: true,
        stream_options: { include_usage: false, include_obfuscation: true },
        modalities: ['text'],
        temperature: 0.5,
        logit_bias: { 50256: -100 },
        prediction: { type: 'content', content: 'x' },
        prompt_cache_key: 'k',
        stop: null,
      }),
    },
    MODELS.gpt4o,
    { end_user: 'u_hash', max_output_tokens: 123 },
  )
  assert.deepEqual(body, {
    model: 'gpt-4o',
    messages: [{ role: 'user', content: 'Hello' }],
    temperature: 0.5,
    logit_bias: { 50256: -100 },
    prediction: { type: 'content', content: 'x' },
    prompt_cache_key: 'k',
    max_completion_tokens: 123,
    service_tier: 'default',
    stream: true,
    stream_options: { include_usage: true, include_obfuscation: false },
    safety_identifier: 'u_hash',
  })
})

test('OpenAI fields with a price or an account of their own are refused by name', () => {
  const fields: JsonRecord = {
    web_search_options: {},
    audio: { voice: 'x' },
    moderation: {},
    plugins: [{ id: 'web' }],
  }
  for (const [field, value] of Object.entries(fields)) {
    refuses(() => toOpenai(original('openai', { [field]: value })), new RegExp(field))
  }
  const content = [{ type: 'file', file: { file_id: 'file-of-somebody' } }]
  const messages = [{ role: 'user', content }]
  refuses(() => toOpenai(original('openai', { messages })), /file_id/)
  const spoken = [{ role: 'assistant', audio: { id: 'audio_1' } }]
  refuses(() => toOpenai(original('openai', { messages: spoken })), /audio/)
})

const offer: ToolDefinition = {
  name: 'look',
  description: undefined,
  parameters: { type: 'object', properties: {} },
}
const LOOK = { name: 'look', parameters: { type: 'object', properties: {} } }
const draftOf = (model: ChatModel, fields: JsonRecord) => {
  const messages = [{ role: 'user', content: 'Hello' }]
  const request = openAiDialect.parse({ model: 'public', messages, ...fields }, {})
  const call = testCall(model, request, at())
  const draft = draftOpenai(call, names())
  return { ...draft, sent: draft.body(call) }
}

test('OpenAI gets old functions as tools, one call at a time, and its answer is translated back', () => {
  const { sent, relays } = draftOf(MODELS.gpt4o, {
    functions: [LOOK],
    function_call: { name: 'look' },
    logit_bias: { 5: 1 },
  })
  assert.equal(relays, false)
  assert.deepEqual(sent['tools'], [{ type: 'function', function: LOOK }])
  assert.deepEqual(sent['tool_choice'], { type: 'function', function: { name: 'look' } })
  assert.equal(sent['parallel_tool_calls'], false)
  assert.deepEqual(sent['logit_bias'], { 5: 1 })
  assert.equal('functions' in sent || 'function_call' in sent, false)
  const spoiled = draftOf(MODELS.gpt4o, { functions: [LOOK], logprobs: true })
  assert.deepEqual(spoiled.ignored, ['logprobs'])
})

test('OpenAI gets tools of free text as they are, and as functions where the model has none', () => {
  const tools = [{ type: 'custom', custom: { name: 'run' } }]
  const call = { id: 'c', type: 'custom', custom: { name: 'run', input: 'ls' } }
  const messages = [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c', content: 'a.txt' },
  ]
  const native = draftOf(MODELS.gpt5, { tools, messages })
  assert.equal(native.relays, true)
  assert.deepEqual([native.sent['tools'], native.sent['messages']], [tools, messages])
  const told = draftOf(MODELS.gpt4o, { tools, messages })
  assert.equal(told.relays, false)
  const functions = told.sent['tools'] as { type: string; function: JsonRecord }[]
  assert.deepEqual([functions[0]?.type, functions[0]?.function['name']], ['function', 'run'])
  const [, said] = told.sent['messages'] as { tool_calls: JsonRecord[] }[]
  const called = {
    id: 'c',
    type: 'function',
    function: { name: 'run', arguments: '{"input":"ls"}' },
  }
  assert.deepEqual(said?.tool_calls, [called])
  const over = draftOf(MODELS.gpt4o, { messages })
  assert.equal(over.relays, true)
  assert.deepEqual(over.sent['messages'], told.sent['messages'])
})

test('OpenAI is told how much to reason in words that the model takes; what it does not take is named', () => {
  const sol = testModel('openai', 'gpt-5.6-sol')
  const tools = [{ type: 'function', function: LOOK }]
  const cases: [ChatModel, JsonRecord, string | undefined, string[]][] = [
    [MODELS.gpt5, { reasoning_effort: 'minimal' }, 'minimal', []],
    [MODELS.gpt5, { reasoning: { max_tokens: 3_000 } }, 'medium', []],
    [MODELS.gpt5, { reasoning: { enabled: false } }, 'minimal', []],
    [MODELS.gpt4o, { reasoning: { enabled: false } }, undefined, []],
    [sol, { reasoning_effort: 'minimal' }, 'low', ['reasoning_effort']],
    [sol, { reasoning_effort: 'xhigh' }, 'xhigh', []],
    [sol, { reasoning: { effort: 'max' } }, 'max', []],
    [sol, { reasoning: { enabled: false } }, 'none', []],
    [sol, {}, undefined, []],
    [sol, { tools }, 'none', []],
    [sol, { tools, reasoning_effort: 'none' }, 'none', []],
    [sol, { tools, reasoning_effort: 'high' }, 'none', ['reasoning_effort']],
    [sol, { tools, reasoning: { effort: 'low' } }, 'none', ['reasoning']],
  ]
  for (const [model, fields, effort, ignored] of cases) {
    const draft = draftOf(model, fields)
    const label = `${model.name} ${JSON.stringify(fields)}`
    assert.equal(draft.sent['reasoning_effort'], effort, label)
    assert.deepEqual(draft.ignored, ignored, label)
    assert.equal('reasoning' in draft.sent, false, label)
  }
  const thinking = original('anthropic', { thinking: { type: 'enabled', budget_tokens: 2_000 } })
  const request = testRequest({
    ...thinking,
    reasoning: { kind: 'budget', tokens: 2_000 },
    tools: [offer],
  })
  assert.deepEqual(draftOpenai(testCall(sol, request, at()), names()).ignored, ['thinking'])
})

test('a model that came after one that does not reason is not sent what only the older one took', () => {
  const luna = testModel('openai', 'gpt-6-luna')
  const sampling = {
    temperature: 0.2,
    top_p: 0.5,
    presence_penalty: 1,
    stop: ['x'],
    logit_bias: { 5: 1 },
  }
  const body = { messages: [], ...sampling }
  assert.deepEqual(judgeFields(openAiDialect.fields, body, luna), {
    relayed: { messages: [] },
    ignored: Object.keys(sampling),
  })
  const usual = { temperature: 1, top_p: 1, presence_penalty: 0, logprobs: false }
  assert.deepEqual(judgeFields(openAiDialect.fields, usual, luna).ignored, [])
  assert.throws(() => judgeFields(openAiDialect.fields, { logprobs: true }, luna), /logprobs/)
})

test('stop sequences that OpenAI does not take are named', () => {
  const stop = ['a', 'b', 'c', 'd', 'e']
  const ignoredBy = (model: ChatModel, stops: string[]) => {
    const request = testRequest({ dialect: 'anthropic', stop: stops })
    return draftOpenai(testCall(model, request, at()), names()).ignored
  }
  assert.deepEqual(ignoredBy(MODELS.gpt4o, stop), ['stop_sequences'])
  assert.deepEqual(ignoredBy(MODELS.gpt4o, stop.slice(1)), [])
})

test('a conversation for OpenAI: results of tools first, their images after, thoughts dropped', () => {
  const image = { kind: 'data', media_type: 'image/png', data: 'AAAA' } as const
  const body = toOpenai({
    system: [{ kind: 'text', text: 'Be brief.' }],
    messages: [
      say('Hi'),
      {
        role: 'assistant',
        content: [
          { kind: 'thinking', text: 'hm', signature: 's' },
          { kind: 'text', text: 'Let me see.' },
          { kind: 'tool_call', id: 'toolu_1', name: 'look', input: { at: 1 } },
        ],
      },
      {
        role: 'user',
        content: [
          { kind: 'text', text: 'Well?' },
          {
            kind: 'tool_result',
            call_id: 'toolu_1',
            content: [
              { kind: 'text', text: 'seen' },
              { kind: 'image', source: image, detail: 'low' },
            ],
          },
        ],
      },
    ],
  })
  const url = 'data:image/png;base64,AAAA'
  assert.deepEqual(body['messages'], [
    { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
    { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
    {
      role: 'assistant',
      content: 'Let me see.',
      tool_calls: [
        { id: 'toolu_1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'toolu_1', content: 'seen' },
    {
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url, detail: 'low' } },
        { type: 'text', text: 'Well?' },
      ],
    },
  ])
})

test('OpenAI models that reason get an effort and no sampling', () => {
  const request: RequestParts = {
    system: [{ kind: 'text', text: 'x' }],
    temperature: 0.3,
    top_p: 0.9,
    stop: ['a', 'b', 'c', 'd', 'e'],
  }
  const plain = toOpenai(request)
  assert.deepEqual([plain['temperature'], plain['stop']], [0.3, ['a', 'b', 'c', 'd']])
  const efforts = [
    [{ kind: 'budget', tokens: 4_096 }, 'high'],
    [{ kind: 'budget', tokens: 2_048 }, 'medium'],
    [{ kind: 'budget', tokens: 1_024 }, 'low'],
    [{ kind: 'effort', effort: 'none' }, 'minimal'],
  ] as const
  for (const [reasoning, effort] of efforts) {
    const body = toOpenai({ ...request, reasoning }, MODELS.gpt5)
    assert.equal(body['reasoning_effort'], effort)
    for (const field of ['temperature', 'top_p', 'stop']) assert.equal(field in body, false)
    assert.match(JSON.stringify(body['messages']), /"developer"/)
  }
})
