// What each provider is sent, field by field.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatModel } from '../../catalog/models.ts'
import { ApiError } from '../../platform/errors.ts'
import type { ChatMessage, ChatRequest, ToolDefinition } from '../dialects/chat-types.ts'
import { judgeFields } from '../dialects/field-rules.ts'
import { openAiDialect } from '../dialects/openai/dialect.ts'
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

const GEMINI_3 = testModel('google', 'gemini-3.1-pro-preview')

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
})

test('Gemini takes tools and a JSON answer together only from the third generation on', () => {
  const tools = [{ name: 'look', description: 'd', parameters: { type: 'object' } }]
  const schema = { type: 'object', properties: { a: { type: 'string' } } }
  for (const response_format of [
    { kind: 'json_object' },
    { kind: 'json_schema', name: 'x', schema },
  ] as const) {
    refuses(() => toGoogle({ tools, response_format }), /together/)
    refuses(() => toGoogle({ tools, response_format }, MODELS.pro), /together/)
    const config = toGoogle({ tools, response_format }, GEMINI_3)['generationConfig'] as JsonRecord
    assert.equal(config['responseMimeType'], 'application/json')
    const expected = response_format.kind === 'json_schema' ? schema : undefined
    assert.equal(config['responseJsonSchema'], expected)
  }
})

test('what Google has no word for is left out and named', () => {
  const ignoredBy = (request: RequestParts, model = MODELS.flash) =>
    draftGoogle(testCall(model, testRequest(request), at()), names()).ignored
  const asked = {
    frequency_penalty: 0.5,
    presence_penalty: -1,
    stop: ['a', 'b', 'c', 'd', 'e', 'f'],
    seed: 2 ** 31,
    parallel_tool_calls: false,
    tools: [{ name: 'look', description: 'd', parameters: {}, strict: true }],
    messages: [
      {
        role: 'user',
        content: [
          {
            kind: 'image',
            detail: 'low',
            source: { kind: 'data', media_type: 'image/png', data: 'AAAA' },
            cache: { ttl: '5m' },
          },
          {
            kind: 'file',
            name: 'a.pdf',
            source: { kind: 'data', media_type: 'application/pdf', data: 'AAAA' },
          },
        ],
      },
    ],
  } satisfies RequestParts
  assert.deepEqual(ignoredBy(asked), [
    'frequency_penalty',
    'presence_penalty',
    'seed',
    'stop',
    'messages[].content[].file.filename',
  ])
  assert.deepEqual(ignoredBy({ ...asked, dialect: 'anthropic' }).slice(3), [
    'stop_sequences',
    'messages[].content[].title',
  ])
  const config = toGoogle(asked)['generationConfig'] as JsonRecord
  assert.deepEqual(Object.keys(config), ['stopSequences', 'maxOutputTokens'])
  const idle = {
    frequency_penalty: 0,
    presence_penalty: 0,
    stop: ['a', ''],
    seed: -1,
    parallel_tool_calls: true,
    tools: [{ name: 'look', description: 'd', parameters: {}, strict: false }],
  }
  assert.deepEqual(ignoredBy(idle), [])
  assert.deepEqual(ignoredBy({ parallel_tool_calls: false }), [])
})

test('Gemini takes penalties up to 2.0; later models refuse any', () => {
  const penalties = { frequency_penalty: 0.5, presence_penalty: 0.25 }
  const configOf = (model: typeof MODELS.pro) =>
    toGoogle(penalties, model)['generationConfig'] as JsonRecord
  assert.equal(configOf(MODELS.flash2)['frequencyPenalty'], 0.5)
  assert.equal(configOf(MODELS.flash2)['presencePenalty'], 0.25)
  for (const model of [MODELS.flash, MODELS.pro, GEMINI_3]) {
    assert.doesNotMatch(JSON.stringify(configOf(model)), /enalty/)
  }
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
})

test('Gemini from 3 on thinks at one of the levels that its model has', () => {
  const levelOf = (upstream_id: string, reasoning: ChatRequest['reasoning']) => {
    const body = toGoogle({ reasoning }, testModel('google', upstream_id))
    return (body['generationConfig'] as { thinkingConfig: JsonRecord }).thinkingConfig
  }
  const levels = (upstream_id: string) =>
    (['none', 'minimal', 'low', 'medium', 'high'] as const).map(
      (effort) => levelOf(upstream_id, { kind: 'effort', effort })['thinkingLevel'],
    )
  assert.deepEqual(levels('gemini-3-pro-preview'), ['low', 'low', 'low', 'high', 'high'])
  assert.deepEqual(levels('gemini-3.1-pro-preview'), ['low', 'low', 'low', 'medium', 'high'])
  for (const flash of ['gemini-3.6-flash', 'gemini-3.1-flash-lite']) {
    assert.deepEqual(levels(flash), ['minimal', 'minimal', 'low', 'medium', 'high'])
  }
  const budgets = [1_024, 4_000, 8_192, 24_576].map(
    (tokens) => levelOf('gemini-3.6-flash', { kind: 'budget', tokens })['thinkingLevel'],
  )
  assert.deepEqual(budgets, ['low', 'low', 'medium', 'high'])
})

test('a model that cannot stop thinking says so where it was asked to', () => {
  const reasoning = { kind: 'effort', effort: 'none' } as const
  const ignoredBy = (model: typeof MODELS.pro, dialect: 'openai' | 'anthropic') =>
    draftGoogle(testCall(model, testRequest({ reasoning, dialect }), at()), names()).ignored
  for (const model of [MODELS.pro, GEMINI_3]) {
    assert.deepEqual(ignoredBy(model, 'openai'), ['reasoning_effort'])
    assert.deepEqual(ignoredBy(model, 'anthropic'), ['thinking'])
  }
  for (const model of [MODELS.flash, MODELS.flash2])
    assert.deepEqual(ignoredBy(model, 'openai'), [])
})

test('from Gemini 3 on the calls of a turn come back signed, one way or the other', () => {
  const call = (id: string, signature?: string) =>
    ({ kind: 'tool_call', id, name: id, input: {}, ...(signature && { signature }) }) as const
  const result = (call_id: string) => ({ kind: 'tool_result' as const, call_id, content: [] })
  const messages: ChatMessage[] = [
    say('Hi'),
    { role: 'assistant', content: [call('a', 'sig_a'), call('b')] },
    { role: 'user', content: [result('a'), result('b')] },
    { role: 'assistant', content: [call('c'), call('d')] },
    { role: 'user', content: [result('c'), result('d')] },
  ]
  const signatures = (model: typeof MODELS.pro) =>
    [...JSON.stringify(toGoogle({ messages }, model)).matchAll(/"thoughtSignature":"(\w+)"/g)].map(
      ([, signature]) => signature,
    )
  assert.deepEqual(signatures(GEMINI_3), ['sig_a', 'skip_thought_signature_validator'])
  assert.deepEqual(signatures(MODELS.flash), ['sig_a'])
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
  const audio: ChatMessage = { role: 'user', content: [{ kind: 'audio', source }] }
  const tools = [{ name: 'x', description: undefined, parameters: {} }]
  const schema = { kind: 'json_schema', name: 'x', schema: {} } as const
  const cases: [RequestParts, RegExp, openai: string, anthropic: string][] = [
    [{ messages: [with_image] }, /images/, 'messages', 'messages'],
    [{ messages: [nested] }, /files/, 'messages', 'messages'],
    [{ messages: [audio] }, /audio/, 'messages', 'messages'],
    [{ tools }, /tools/, 'tools', 'tools'],
    [
      { response_format: { kind: 'json_object' } },
      /json_object/,
      'response_format',
      'output_config.format',
    ],
    [{ response_format: schema }, /schema/, 'response_format', 'output_config.format'],
    [{ reasoning: { kind: 'budget', tokens: 2_000 } }, /reasoning/, 'reasoning_effort', 'thinking'],
  ]
  for (const [request, words, ...params] of cases) {
    for (const [index, dialect] of (['openai', 'anthropic'] as const).entries()) {
      const check = () => checkCapabilities(testRequest({ ...request, dialect }), none)
      refuses(check, words)
      assert.throws(check, { param: params[index] })
    }
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
  // Of the processor, not of the clock: other tests run beside this one.
  const start = process.cpuUsage()
  for (const send of [toOpenai, toAnthropic, toGoogle]) send({ messages })
  assert.ok(process.cpuUsage(start).user < 5_000_000)
})
