// What OpenAI's Responses API is sent, field by field.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ChatModel } from '../../../catalog/models.ts'
import type { ChatMessage } from '../../dialects/chat-types.ts'
import { openAiDialect } from '../../dialects/openai/dialect.ts'
import { signReasoning } from '../../dialects/openai-reasoning.ts'
import type { JsonRecord } from '../json-values.ts'
import { at, names, original, refuses, say, toResponses } from '../test-body.ts'
import { MODELS, testCall, testModel } from '../test-call.ts'
import { draftResponses } from './request.ts'

const gpt5: ChatModel = { ...MODELS.gpt5, api: 'responses' }

const draftOf = (model: ChatModel, fields: JsonRecord) => {
  const messages = [{ role: 'user', content: 'Hello' }]
  const request = openAiDialect.parse({ model: 'public', messages, ...fields }, {})
  const call = testCall(model, request, at())
  const draft = draftResponses(call, names())
  return { ...draft, sent: draft.body(call) }
}

test('the Responses API gets a body of our own, with the price and the account in our hands', () => {
  const priced = {
    user: 'me@example.com',
    safety_identifier: 'mine',
    store: true,
    metadata: { a: 'b' },
    service_tier: 'priority',
    prompt_cache_key: 'k',
    prompt_cache_options: { mode: 'explicit', ttl: '12h', prewarm: true },
  }
  const asked = { stream: true, ...original('openai', priced) }
  const body = toResponses(asked, MODELS.sol, { end_user: 'u_hash', max_output_tokens: 123 })
  assert.deepEqual(body, {
    model: 'gpt-5.6-sol',
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }],
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: 'k',
    prompt_cache_options: { mode: 'explicit' },
    store: false,
    service_tier: 'default',
    max_output_tokens: 123,
    stream: true,
    stream_options: { include_obfuscation: false },
    safety_identifier: 'u_hash',
  })
  refuses(() => toResponses({ n: 2 }), /`n`/)
})

test('a model that does not reason gets sampling, and is asked for no reasoning', () => {
  const model: ChatModel = { ...MODELS.gpt4o, api: 'responses' }
  const body = toResponses({ temperature: 0.2, top_p: 0.5, verbosity: 'low' }, model)
  assert.deepEqual([body['temperature'], body['top_p']], [0.2, 0.5])
  assert.equal('include' in body || 'reasoning' in body, false)
  const reasoning = toResponses({ temperature: 0.2, top_p: 0.5, stop: ['x'] })
  assert.equal('temperature' in reasoning || 'top_p' in reasoning || 'stop' in reasoning, false)
})

test('functions and an effort go together, in the words that each model takes', () => {
  const tools = [{ type: 'function', function: { name: 'look' } }]
  const cases: [ChatModel, JsonRecord, string | undefined, string[]][] = [
    [MODELS.sol, { tools, reasoning_effort: 'high' }, 'high', []],
    [MODELS.sol, { tools }, undefined, []],
    [MODELS.sol, { tools, reasoning_effort: 'xhigh' }, 'xhigh', []],
    [MODELS.sol, { reasoning_effort: 'minimal' }, 'low', ['reasoning_effort']],
    [MODELS.sol, { reasoning: { enabled: false } }, 'none', []],
    [gpt5, { reasoning_effort: 'minimal' }, 'minimal', []],
    [gpt5, { reasoning_effort: 'none' }, 'minimal', []],
    [gpt5, { reasoning_effort: 'xhigh' }, 'high', []],
    [
      { ...testModel('openai', 'gpt-5.2'), api: 'responses' },
      { reasoning_effort: 'none' },
      'none',
      [],
    ],
    [{ ...testModel('openai', 'o3'), api: 'responses' }, { reasoning_effort: 'none' }, 'low', []],
  ]
  for (const [model, fields, effort, ignored] of cases) {
    const { sent, ignored: named } = draftOf(model, fields)
    const label = `${model.name} ${JSON.stringify(fields)}`
    const reasoning = sent['reasoning'] as { effort?: string } | undefined
    assert.equal(reasoning?.effort, effort, label)
    assert.deepEqual(named, ignored, label)
  }
})

test('thoughts are asked for where the client wants to see them', () => {
  const summaryOf = (fields: JsonRecord) => {
    const { reasoning } = draftOf(MODELS.sol, fields).sent as { reasoning?: { summary?: string } }
    return reasoning?.summary
  }
  assert.equal(summaryOf({}), undefined)
  assert.equal(summaryOf({ reasoning_effort: 'low' }), 'auto')
  assert.equal(summaryOf({ reasoning_effort: 'none' }), undefined)
  assert.equal(summaryOf({ reasoning: { effort: 'low', exclude: true } }), undefined)
})

test('tools are flat and strict only where the client said so; free text is a kind of its own', () => {
  const parameters = { type: 'object', properties: {} }
  const grammar = { syntax: 'lark', definition: 'start: "a"' }
  const tools = [
    { type: 'function', function: { name: 'look', description: 'Looks.', parameters } },
    { type: 'function', function: { name: 'find', parameters, strict: true } },
    {
      type: 'custom',
      custom: { name: 'run', description: 'Runs.', format: { type: 'grammar', grammar } },
    },
  ]
  const { sent } = draftOf(MODELS.sol, {
    tools,
    tool_choice: { type: 'custom', custom: { name: 'run' } },
    parallel_tool_calls: false,
  })
  assert.deepEqual(sent['tools'], [
    { type: 'function', name: 'look', description: 'Looks.', parameters, strict: false },
    { type: 'function', name: 'find', parameters, strict: true },
    { type: 'custom', name: 'run', description: 'Runs.', format: { type: 'grammar', ...grammar } },
  ])
  assert.deepEqual(sent['tool_choice'], { type: 'custom', name: 'run' })
  assert.equal(sent['parallel_tool_calls'], false)
  const plain: ChatModel = { ...MODELS.gpt4o, api: 'responses' }
  const [, , told] = draftOf(plain, { tools }).sent['tools'] as JsonRecord[]
  assert.equal(told?.['type'], 'function')
  assert.match(String(told?.['description']), /start: "a"/)
})

test('the form of the answer stands in `text`, flat', () => {
  const json_schema = { name: 'n', schema: { type: 'object' }, strict: true }
  const { sent } = draftOf(MODELS.sol, {
    response_format: { type: 'json_schema', json_schema },
    verbosity: 'low',
  })
  const format = { type: 'json_schema', ...json_schema }
  assert.deepEqual(sent['text'], { format, verbosity: 'low' })
  const loose = draftOf(MODELS.sol, { response_format: { type: 'json_object' } })
  assert.deepEqual(loose.sent['text'], { format: { type: 'json_object' } })
})

const signed = (upstream_id: string, id = 'rs_1') =>
  signReasoning({ id, encrypted_content: 'gAAA_x-=', upstream_id }) ?? ''

const turn = (...content: Extract<ChatMessage, { role: 'assistant' }>['content']): ChatMessage => ({
  role: 'assistant',
  content,
})

test('a conversation is items in their order, with the reasoning of the same model and of no other', () => {
  const source = { kind: 'data', media_type: 'image/png', data: 'AAAA' } as const
  const body = toResponses({
    system: [{ kind: 'text', text: 'Be brief.' }],
    tools: [{ name: 'look', description: undefined, parameters: {} }],
    messages: [
      say('Hi'),
      turn(
        { kind: 'thinking', text: 'hm', signature: signed('gpt-5.6-sol') },
        { kind: 'text', text: 'Let me see.', phase: 'commentary' },
        { kind: 'thinking', text: 'old', signature: signed('gpt-5', 'rs_2') },
        { kind: 'thinking', text: 'foreign', signature: 'EqQB' },
        { kind: 'redacted_thinking', data: 'x' },
        { kind: 'tool_call', id: 'call_1', name: 'look', input: { at: 1 } },
      ),
      {
        role: 'user',
        content: [
          { kind: 'text', text: 'Well?' },
          {
            kind: 'tool_result',
            call_id: 'call_1',
            content: [
              { kind: 'text', text: 'seen' },
              { kind: 'image', source, detail: 'low' },
            ],
          },
        ],
      },
    ],
  })
  const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'low' }
  assert.deepEqual(body['input'], [
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'hm' }],
      encrypted_content: 'gAAA_x-=',
    },
    {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'Let me see.' }],
      phase: 'commentary',
    },
    { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"at":1}' },
    {
      type: 'function_call_output',
      call_id: 'call_1',
      output: [{ type: 'input_text', text: 'seen' }, image],
    },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Well?' }] },
  ])
})

test('reasoning that nothing follows stays away: alone it is refused', () => {
  const body = toResponses({
    messages: [
      say('Hi'),
      turn({ kind: 'thinking', text: '', signature: signed('gpt-5.6-sol') }),
      say('Go on'),
    ],
  })
  assert.deepEqual(
    (body['input'] as JsonRecord[]).map((item) => item['type']),
    ['message', 'message'],
  )
})

test('calls of tools that take free text keep their kind, with their results', () => {
  const tools = [{ type: 'custom', custom: { name: 'run' } }]
  const calls = [
    { id: 'c', type: 'custom', custom: { name: 'run', input: 'ls "x"' } },
    { id: 'd', type: 'function', function: { name: 'look', arguments: '{}' } },
  ]
  const messages = [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: null, tool_calls: calls },
    { role: 'tool', tool_call_id: 'c', content: 'a.txt' },
    { role: 'tool', tool_call_id: 'd', content: 'seen' },
  ]
  const [, ...items] = draftOf(MODELS.sol, { tools, messages }).sent['input'] as JsonRecord[]
  assert.deepEqual(items, [
    { type: 'custom_tool_call', call_id: 'c', name: 'run', input: 'ls "x"' },
    { type: 'function_call', call_id: 'd', name: 'look', arguments: '{}' },
    { type: 'custom_tool_call_output', call_id: 'c', output: 'a.txt' },
    { type: 'function_call_output', call_id: 'd', output: 'seen' },
  ])
})

test('files go by their data or their address, and a system turn keeps its place', () => {
  const pdf = { kind: 'data', media_type: 'application/pdf', data: 'AAAA' } as const
  const url = 'https://example.com/a.pdf'
  const body = toResponses({
    messages: [
      {
        role: 'user',
        content: [
          { kind: 'file', source: pdf },
          { kind: 'file', source: { kind: 'url', url } },
        ],
      },
      { role: 'user', content: [{ kind: 'text', text: 'Now in French.', instruction: true }] },
    ],
  })
  const file_data = 'data:application/pdf;base64,AAAA'
  assert.deepEqual(body['input'], [
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_file', filename: 'document.pdf', file_data },
        { type: 'input_file', file_url: url },
      ],
    },
    {
      type: 'message',
      role: 'developer',
      content: [{ type: 'input_text', text: 'Now in French.' }],
    },
  ])
})
