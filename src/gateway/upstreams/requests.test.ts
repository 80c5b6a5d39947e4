// What each provider is sent, field by field.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../platform/errors.ts'
import type { ChatMessage, ChatRequest } from '../dialects/chat-types.ts'
import { draftAnthropic } from './anthropic/request.ts'
import { checkCapabilities } from './capabilities.ts'
import type { ProviderProfile } from './contract.ts'
import { draftGoogle } from './google/request.ts'
import type { JsonRecord } from './json-values.ts'
import { draftOpenai } from './openai/request.ts'
import {
  type CallParts,
  MODELS,
  type RequestParts,
  type TestCall,
  testCall,
  testModel,
  testRequest,
} from './test-call.ts'
import { createToolNames } from './tool-names.ts'

const names = () => createToolNames({ pattern: /^[A-Za-z_][A-Za-z0-9_-]*$/, max_length: 64 })
const at = (parts: Partial<CallParts> = {}): CallParts => ({ base_url: 'http://x', ...parts })

const bodyOf = (draft: ProviderProfile['draft'], call: TestCall) => draft(call, names()).body(call)
const toOpenai = (request: RequestParts, model = MODELS.gpt4o, parts?: Partial<CallParts>) =>
  bodyOf(draftOpenai, testCall(model, testRequest({ dialect: 'anthropic', ...request }), at(parts)))
const toAnthropic = (request: RequestParts, model = MODELS.sonnet, parts?: Partial<CallParts>) =>
  bodyOf(draftAnthropic, testCall(model, testRequest(request), at(parts)))
const toGoogle = (request: RequestParts, model = MODELS.flash, parts?: Partial<CallParts>) =>
  bodyOf(draftGoogle, testCall(model, testRequest(request), at(parts)))

function original(
  dialect: 'openai' | 'anthropic',
  body: JsonRecord,
): Pick<ChatRequest, 'original'> {
  const messages = [{ role: 'user', content: 'Hello' }]
  return { original: { dialect, body: { model: 'public', messages, ...body } } }
}

function refuses(run: () => unknown, words: RegExp): void {
  assert.throws(run, (error) => {
    assert.ok(error instanceof ApiError)
    assert.equal(error.code, 'bad_request')
    assert.match(error.message, words)
    return true
  })
}

const say = (text: string): ChatMessage => ({ role: 'user', content: [{ kind: 'text', text }] })

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
    functions: [],
    function_call: 'auto',
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

test('a conversation for Google: responses by name, in the order of the calls', () => {
  const body = toGoogle({
    system: [{ kind: 'text', text: 'Be brief.' }],
    messages: [
      say('Hi'),
      {
        role: 'assistant',
        content: [
          { kind: 'tool_call', id: 'a', name: 'first', input: { x: 1 }, signature: 'sig' },
          { kind: 'tool_call', id: 'b', name: 'second', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { kind: 'text', text: 'Well?' },
          {
            kind: 'tool_result',
            call_id: 'b',
            is_error: true,
            content: [{ kind: 'text', text: 'no' }],
          },
        ],
      },
      {
        role: 'user',
        content: [
          { kind: 'tool_result', call_id: 'a', content: [{ kind: 'text', text: 'yes' }] },
          { kind: 'image', source: { kind: 'url', url: 'https://example.com/a.png?x=1' } },
        ],
      },
    ],
  })
  assert.deepEqual(body['systemInstruction'], { parts: [{ text: 'Be brief.' }] })
  assert.deepEqual(body['contents'], [
    { role: 'user', parts: [{ text: 'Hi' }] },
    {
      role: 'model',
      parts: [
        { functionCall: { name: 'first', args: { x: 1 } }, thoughtSignature: 'sig' },
        { functionCall: { name: 'second', args: {} } },
      ],
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { name: 'first', response: { output: 'yes' } } },
        { functionResponse: { name: 'second', response: { error: 'no' } } },
        { text: 'Well?' },
        { fileData: { mimeType: 'image/png', fileUri: 'https://example.com/a.png?x=1' } },
      ],
    },
  ])
  const stray: ChatMessage = {
    role: 'user',
    content: [{ kind: 'tool_result', call_id: 'zzz', content: [] }],
  }
  refuses(() => toGoogle({ messages: [stray] }), /zzz/)
})

test("addresses in Google's own storage, or not on https, are refused", () => {
  for (const url of [
    'https://generativelanguage.googleapis.com/v1beta/files/abc',
    'https://storage.googleapis.com/bucket/x',
    'gs://bucket/x',
    'http://10.0.0.1/x.png',
    'nonsense',
  ]) {
    const messages: ChatMessage[] = [
      { role: 'user', content: [{ kind: 'image', source: { kind: 'url', url } }] },
    ]
    refuses(() => toGoogle({ messages }), /address/)
  }
})

test('settings in the words of Google', () => {
  const tools = [{ name: 'look', description: 'd', parameters: { type: 'object' } }]
  const body = toGoogle({
    tools,
    tool_choice: { kind: 'tool', name: 'look' },
    temperature: 1.5,
    top_p: 0.5,
    top_k: 3,
    seed: 7,
    stop: ['a', 'b', 'c', 'd', 'e', 'f'],
  })
  assert.deepEqual(body['tools'], [{ functionDeclarations: [{ name: 'look', description: 'd' }] }])
  assert.deepEqual(body['toolConfig'], {
    functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['look'] },
  })
  assert.deepEqual(body['generationConfig'], {
    maxOutputTokens: 2_000,
    temperature: 1.5,
    topP: 0.5,
    topK: 3,
    seed: 7,
    stopSequences: ['a', 'b', 'c', 'd', 'e'],
  })
  const response_format = { kind: 'json_object' } as const
  refuses(() => toGoogle({ tools, response_format }), /together/)
})

test('Gemini thinks within the budget of its model', () => {
  const budget = (model: typeof MODELS.pro, reasoning: ChatRequest['reasoning']) =>
    JSON.stringify(toGoogle({ reasoning }, model)['generationConfig'])
  const none = { kind: 'effort', effort: 'none' } as const
  const high = { kind: 'effort', effort: 'high' } as const
  assert.match(budget(MODELS.flash, none), /"thinkingConfig":\{"thinkingBudget":0\}/)
  assert.match(budget(MODELS.pro, none), /"thinkingBudget":128\}/)
  assert.match(budget(MODELS.pro, high), /"thinkingBudget":24576,"includeThoughts":true/)
  assert.match(budget(MODELS.flash, { kind: 'budget', tokens: 99_999 }), /"thinkingBudget":24576/)
  assert.doesNotMatch(budget(MODELS.flash2, none), /thinking/)
  const later = testModel('google', 'gemini-3.1-pro-preview')
  assert.match(budget(later, high), /"thinkingLevel":"high"/)
})

test('what a model cannot do is refused before any call', () => {
  const none = testModel('google', 'x', {
    images: false,
    files: false,
    tools: false,
    json_object: false,
    json_schema: false,
    reasoning: false,
  })
  const source = { kind: 'data', media_type: 'image/png', data: 'AAAA' } as const
  const with_image: ChatMessage = { role: 'user', content: [{ kind: 'image', source }] }
  const nested: ChatMessage = {
    role: 'user',
    content: [{ kind: 'tool_result', call_id: 'a', content: [{ kind: 'file', source }] }],
  }
  const cases: [RequestParts, RegExp][] = [
    [{ messages: [with_image] }, /images/],
    [{ messages: [nested] }, /files/],
    [{ messages: [{ role: 'user', content: [{ kind: 'audio', source }] }] }, /audio/],
    [{ tools: [{ name: 'x', description: undefined, parameters: {} }] }, /tools/],
    [{ response_format: { kind: 'json_object' } }, /json_object/],
    [{ response_format: { kind: 'json_schema', name: 'x', schema: {} } }, /schema/],
    [{ reasoning: { kind: 'budget', tokens: 2_000 } }, /reasoning/],
  ]
  for (const [request, words] of cases) {
    refuses(() => checkCapabilities(testRequest(request), none), words)
  }
  checkCapabilities(testRequest({ reasoning: { kind: 'effort', effort: 'none' } }), none)
})

test("tools that only Claude knows are refused by other providers' models, by name", () => {
  const tools = [{ name: 'bash', description: undefined, parameters: {}, client_tool: 'bash_1' }]
  for (const model of [MODELS.gpt4o, MODELS.flash]) {
    refuses(() => checkCapabilities(testRequest({ tools }), model), /tools\[0\]\.type: bash_1/)
  }
  checkCapabilities(testRequest({ tools }), MODELS.sonnet)
})

test('as many turns and parts as fit into a body take no stack and little time', () => {
  const turns = Array.from({ length: 150_000 }, () => say('x'))
  const content = Array.from({ length: 300_000 }, () => ({ kind: 'text', text: 'x' }) as const)
  const messages: ChatMessage[] = [...turns, { role: 'user', content }]
  const start = performance.now()
  for (const send of [toOpenai, toAnthropic, toGoogle]) send({ messages })
  assert.ok(performance.now() - start < 5_000)
})
