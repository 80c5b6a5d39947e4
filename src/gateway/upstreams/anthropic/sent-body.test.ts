// What Anthropic is sent, field by field, from neutral words.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ChatMessage } from '../../dialects/chat-types.ts'
import { original, refuses, say, toAnthropic } from '../test-body.ts'
import { MODELS, type RequestParts, testModel } from '../test-call.ts'

test("Anthropic gets its client's own body, with the price and the account in our hands", () => {
  const kept = {
    system: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }],
    thinking: { type: 'enabled', budget_tokens: 1_500 },
    temperature: 1,
    cache_control: { type: 'ephemeral' },
    context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
  }
  const dropped = {
    max_tokens: 9_000,
    stream: true,
    metadata: { user_id: 'me@example.com' },
    service_tier: 'auto',
    speed: 'fast',
    inference_geo: 'us',
    container: 'c',
    diagnostics: {},
  }
  const request = {
    stream: true,
    max_output_tokens: 9_000,
    ...original('anthropic', { ...kept, ...dropped }),
  }
  const messages = [{ role: 'user', content: 'Hello' }]
  const ours = { model: MODELS.sonnet.upstream_id, stream: true, metadata: { user_id: 'u_hash' } }
  assert.deepEqual(toAnthropic(request, MODELS.sonnet, { end_user: 'u_hash' }), {
    ...kept,
    messages,
    ...ours,
    max_tokens: 2_000,
  })
  const { metadata: _, ...rest } = ours
  assert.deepEqual(toAnthropic(request, MODELS.sonnet, { max_output_tokens: 1_200 }), {
    ...kept,
    messages,
    ...rest,
    max_tokens: 1_200,
    thinking: { type: 'enabled', budget_tokens: 1_199 },
  })
  const least = toAnthropic(request, MODELS.sonnet, { max_output_tokens: 500 })
  assert.deepEqual(least['thinking'], { type: 'disabled' })
})

test('Anthropic tools that run at the provider, and files of its account, are refused', () => {
  for (const type of ['web_search_20250305', 'code_execution_20250825', 'mcp_toolset']) {
    const tools = [{ type, name: 'x' }]
    refuses(() => toAnthropic(original('anthropic', { tools })), new RegExp(type))
  }
  const own = [{ type: 'custom', name: 'a', input_schema: {} }, { type: 'bash_20250124' }]
  assert.deepEqual(toAnthropic(original('anthropic', { tools: own }))['tools'], own)
  const stored = { type: 'image', source: { type: 'file', file_id: 'file_1' } }
  for (const block of [stored, { type: 'tool_result', content: [stored] }]) {
    const messages = [{ role: 'user', content: [block] }]
    refuses(() => toAnthropic(original('anthropic', { messages })), /file_id/)
  }
  const messages = [{ role: 'assistant', content: [{ type: 'server_tool_use' }] }]
  refuses(() => toAnthropic(original('anthropic', { messages })), /server_tool_use/)
  refuses(
    () => toAnthropic(original('anthropic', { mcp_servers: [{ type: 'url' }] })),
    /mcp_servers/,
  )
})

test('a conversation for Anthropic: a user first, turns merged, nothing empty, results in front', () => {
  const body = toAnthropic({
    messages: [
      { role: 'assistant', content: [{ kind: 'text', text: 'Welcome' }] },
      say(''),
      say('Hi'),
      {
        role: 'assistant',
        content: [
          { kind: 'tool_call', id: 'call:1', name: 'look', input: {} },
          { kind: 'tool_call', id: 'call_2', name: 'look', input: 'text' },
        ],
      },
      { role: 'user', content: [{ kind: 'tool_result', call_id: 'call:1', content: [] }] },
      say('Well?'),
      { role: 'user', content: [{ kind: 'tool_result', call_id: 'call_2', content: [] }] },
      { role: 'assistant', content: [{ kind: 'text', text: 'It is ' }] },
    ],
  })
  const text = JSON.stringify(body['messages'])
  const [id] = /call_[0-9a-f]{24}/.exec(text) ?? []
  assert.deepEqual(body['messages'], [
    { role: 'user', content: [{ type: 'text', text: '.' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'Welcome' }] },
    { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
    {
      role: 'assistant',
      content: [
        { type: 'tool_use', id, name: 'look', input: {} },
        { type: 'tool_use', id: 'call_2', name: 'look', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: id },
        { type: 'tool_result', tool_use_id: 'call_2' },
        { type: 'text', text: 'Well?' },
      ],
    },
    { role: 'assistant', content: [{ type: 'text', text: 'It is' }] },
  ])
})

test('Claude thinks within the limit, and not where the rules forbid it', () => {
  const reasoning = { kind: 'effort', effort: 'high' } as const
  const tools = [{ name: 'look', description: undefined, parameters: { type: 'object' } }]
  const on = toAnthropic({ reasoning, temperature: 0.2, top_k: 5 }, MODELS.sonnet)
  assert.deepEqual(on['thinking'], { type: 'enabled', budget_tokens: 1_999 })
  assert.equal('temperature' in on || 'top_k' in on, false)
  const much = toAnthropic({ reasoning }, MODELS.sonnet, { max_output_tokens: 30_000 })
  assert.deepEqual(much['thinking'], { type: 'enabled', budget_tokens: 4_096 })
  const answered: ChatMessage[] = [
    say('Hi'),
    { role: 'assistant', content: [{ kind: 'tool_call', id: 'a', name: 'look', input: {} }] },
    { role: 'user', content: [{ kind: 'tool_result', call_id: 'a', content: [] }] },
  ]
  const off: RequestParts[] = [
    { reasoning, tools, tool_choice: { kind: 'required' } },
    { reasoning, tools, messages: answered },
    { reasoning, response_format: { kind: 'json_schema', name: 'x', schema: {} } },
    { reasoning: { kind: 'effort', effort: 'none' } },
  ]
  for (const request of off) assert.equal('thinking' in toAnthropic(request), false)
  const small = toAnthropic({ reasoning }, MODELS.sonnet, { max_output_tokens: 1_024 })
  assert.equal('thinking' in small, false)
})

test('tool choice, sampling, stop and user in the words of Anthropic', () => {
  const tools = [{ name: 'look', description: 'd', parameters: {} }]
  const choices = [
    [undefined, undefined],
    [{ kind: 'auto' }, { type: 'auto' }],
    [{ kind: 'none' }, { type: 'none' }],
    [{ kind: 'required' }, { type: 'any' }],
    [
      { kind: 'tool', name: 'look' },
      { type: 'tool', name: 'look' },
    ],
  ] as const
  for (const [tool_choice, expected] of choices) {
    assert.deepEqual(toAnthropic({ tools, tool_choice })['tool_choice'], expected)
  }
  const body = toAnthropic(
    { tools, parallel_tool_calls: false, temperature: 1.7, stop: [' ', 'END'], seed: 1 },
    MODELS.sonnet,
    { end_user: 'u_hash' },
  )
  assert.deepEqual(body['tool_choice'], { type: 'auto', disable_parallel_tool_use: true })
  assert.deepEqual(body['tools'], [
    { name: 'look', description: 'd', input_schema: { type: 'object', properties: {} } },
  ])
  assert.deepEqual([body['temperature'], body['stop_sequences']], [1, ['END']])
  assert.deepEqual(body['metadata'], { user_id: 'u_hash' })
  assert.equal('seed' in body, false)
})

test('structured output on Claude is a forced tool, or one of several that may be called', () => {
  const response_format = {
    kind: 'json_schema',
    name: 'city',
    schema: { type: 'object', properties: { a: {} } },
  } as const
  const alone = toAnthropic({ response_format })
  assert.deepEqual(alone['tool_choice'], { type: 'tool', name: 'city' })
  const tools = [{ name: 'city', description: undefined, parameters: {} }]
  const beside = toAnthropic({ response_format, tools })
  assert.deepEqual(beside['tool_choice'], { type: 'any' })
  assert.match(JSON.stringify(beside['tools']), /city_json_response/)
  const native = toAnthropic({ response_format }, testModel('anthropic', 'claude-sonnet-4-6'))
  assert.deepEqual(native['output_config'], {
    format: { type: 'json_schema', schema: response_format.schema },
  })
  assert.equal('tools' in native, false)
  const list = { ...response_format, schema: { type: 'array' } }
  refuses(() => toAnthropic({ response_format: list }), /type object/)
})
