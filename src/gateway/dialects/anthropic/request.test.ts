import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fc } from '../../../../test/support/same-cases.ts'
import { ApiError } from '../../../platform/errors.ts'
import { anthropicDialect } from './dialect.ts'
import { parseTokenCount } from './request.ts'

const HELLO = [{ role: 'user', content: 'Hello' }]
const TOOL = { name: 'get_weather', description: 'd', input_schema: { type: 'object' } }
const parse = (fields: Record<string, unknown>) =>
  anthropicDialect.parse({ model: 'claude', max_tokens: 5000, messages: HELLO, ...fields }, {})

function refusal(fields: Record<string, unknown>): string {
  try {
    parse(fields)
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error))
    assert.equal(error.code, 'bad_request')
    assert.ok(error.hint)
    return error.message
  }
  return 'accepted'
}

test('a whole conversation with thinking, tools and documents reads into neutral words', () => {
  const { original, ...neutral } = parse({
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look', citations: null },
          {
            type: 'image',
            source: { type: 'base64', media_type: 'image/png', data: 'iVBORw==' },
            cache_control: { type: 'ephemeral' },
          },
          { type: 'image', source: { type: 'url', url: 'https://example.com/b.webp' } },
          {
            type: 'document',
            title: 'Report',
            source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
          },
          { type: 'document', source: { type: 'url', url: 'https://example.com/c.pdf' } },
          {
            type: 'document',
            title: 'Notes',
            source: { type: 'text', media_type: 'text/plain', data: 'plain' },
          },
          {
            type: 'document',
            source: { type: 'content', content: [{ type: 'text', text: 'chunk' }] },
          },
          {
            type: 'search_result',
            source: 'https://s',
            title: 'T',
            content: [{ type: 'text', text: 'found' }],
          },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: '', signature: 'sig' },
          { type: 'redacted_thinking', data: 'opaque' },
          { type: 'text', text: 'Checking' },
          { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Rome' } },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            is_error: true,
            content: [
              { type: 'text', text: 'no' },
              { type: 'image', source: { type: 'base64', media_type: 'image/gif', data: 'R0lG' } },
            ],
          },
          { type: 'text', text: 'Again' },
        ],
      },
    ],
    cache_control: { type: 'ephemeral' },
    tools: [{ ...TOOL, type: 'custom', cache_control: { type: 'ephemeral' }, strict: true }],
    tool_choice: { type: 'any', disable_parallel_tool_use: true },
    thinking: { type: 'enabled', budget_tokens: 2048 },
    temperature: 1,
    top_p: 0.5,
    top_k: 40,
    stop_sequences: ['END'],
    stream: true,
    output_config: { effort: 'high', format: { type: 'json_schema', schema: { type: 'object' } } },
  })
  assert.equal(original.dialect, 'anthropic')
  const five = { ttl: '5m' }
  assert.deepEqual(neutral, {
    model: 'claude',
    system: [{ kind: 'text', text: 'Be brief.', cache: { ttl: '1h' } }],
    messages: [
      {
        role: 'user',
        content: [
          { kind: 'text', text: 'Look' },
          {
            kind: 'image',
            source: { kind: 'data', media_type: 'image/png', data: 'iVBORw==' },
            cache: five,
          },
          { kind: 'image', source: { kind: 'url', url: 'https://example.com/b.webp' } },
          {
            kind: 'file',
            source: { kind: 'data', media_type: 'application/pdf', data: 'JVBERi0=' },
            name: 'Report',
          },
          { kind: 'file', source: { kind: 'url', url: 'https://example.com/c.pdf' } },
          { kind: 'text', text: 'Notes\n\nplain' },
          { kind: 'text', text: 'chunk' },
          { kind: 'text', text: 'T (https://s)\n\nfound' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { kind: 'thinking', text: '', signature: 'sig' },
          { kind: 'redacted_thinking', data: 'opaque' },
          { kind: 'text', text: 'Checking' },
          { kind: 'tool_call', id: 'toolu_1', name: 'get_weather', input: { city: 'Rome' } },
        ],
      },
      {
        role: 'user',
        content: [
          {
            kind: 'tool_result',
            call_id: 'toolu_1',
            is_error: true,
            content: [
              { kind: 'text', text: 'no' },
              { kind: 'image', source: { kind: 'data', media_type: 'image/gif', data: 'R0lG' } },
            ],
          },
          { kind: 'text', text: 'Again', cache: five },
        ],
      },
    ],
    tools: [
      {
        name: 'get_weather',
        description: 'd',
        parameters: { type: 'object' },
        strict: true,
        cache: five,
      },
    ],
    tool_choice: { kind: 'required' },
    parallel_tool_calls: false,
    max_output_tokens: 5000,
    temperature: 1,
    top_p: 0.5,
    top_k: 40,
    seed: undefined,
    frequency_penalty: undefined,
    presence_penalty: undefined,
    stop: ['END'],
    reasoning: { kind: 'budget', tokens: 2048 },
    verbosity: undefined,
    response_format: {
      kind: 'json_schema',
      name: 'output',
      schema: { type: 'object' },
      strict: true,
    },
    n: 1,
    stream: true,
    include_usage: true,
  })
})

test('thinking and effort become one wish', () => {
  assert.deepEqual(parse({ thinking: { type: 'disabled' } }).reasoning, {
    kind: 'effort',
    effort: 'none',
  })
  assert.equal(parse({ thinking: { type: 'adaptive' } }).reasoning, undefined)
  assert.deepEqual(
    parse({ thinking: { type: 'adaptive' }, output_config: { effort: 'max' } }).reasoning,
    { kind: 'effort', effort: 'high' },
  )
})

test('a thread is refused in the words by which the official client falls back', () => {
  for (const thread of [{ type: 'create' }, { type: 'continue', previous_message_id: 'msg_1' }]) {
    assert.throws(
      () => parse({ thread }),
      (error) => {
        assert.ok(error instanceof ApiError)
        assert.deepEqual([error.status, error.code], [400, 'bad_request'])
        assert.deepEqual(error.details, { error_code: 'thread_unsupported_request' })
        return true
      },
    )
  }
  assert.equal(refusal({ thread: null }), 'accepted')
})

test('betas are read from the header, however often it is sent', () => {
  const body = { model: 'claude', max_tokens: 100, messages: HELLO }
  const betasOf = (sent: string | string[]) =>
    anthropicDialect.parse(body, { 'anthropic-beta': sent }).betas
  assert.deepEqual(betasOf('a-1, b-2,,a-1'), ['a-1', 'b-2'])
  assert.deepEqual(betasOf(['a-1', 'b-2,c-3']), ['a-1', 'b-2', 'c-3'])
  assert.equal(anthropicDialect.parse(body, {}).betas, undefined)
  const many = Array.from({ length: 51 }, (_, index) => `beta-${index}`).join()
  assert.throws(() => betasOf(many), /anthropic-beta must have at most 50 names/)
})

test('-1 is what older LangChain sends for sampling that is not set', () => {
  const request = parse({ top_p: -1, top_k: -1 })
  assert.deepEqual([request.top_p, request.top_k], [undefined, undefined])
  assert.equal('top_p' in request.original.body || 'top_k' in request.original.body, false)
  assert.match(refusal({ top_p: -2 }), /top_p/)
})

test("Anthropic's own tools are read where the client runs them, and refused where it cannot", () => {
  const [tool] = parse({ tools: [{ type: 'bash_20250124', name: 'bash' }] }).tools
  assert.deepEqual([tool?.name, tool?.client_tool], ['bash', 'bash_20250124'])
  assert.ok((tool?.prompt_tokens ?? 0) > 245)
  for (const type of [
    'web_search_20250305',
    'code_execution_20250825',
    'computer_toolset_20260801',
  ]) {
    assert.match(refusal({ tools: [{ type, name: 'x' }] }), /tools\[0\]\.type/)
  }
})

test('counting tokens needs no max_tokens, a message does', () => {
  const body = { model: 'claude', messages: HELLO }
  assert.equal(parseTokenCount(body).max_output_tokens, undefined)
  assert.throws(() => anthropicDialect.parse(body, {}), /max_tokens is missing/)
})

const user = (block: unknown) => ({ messages: [{ role: 'user', content: [block] }] })
const assistant = (block: unknown) => ({ messages: [{ role: 'assistant', content: [block] }] })

describe('what is refused is named', () => {
  const cases: [string, Record<string, unknown>, RegExp][] = [
    ['no messages', { messages: undefined }, /^messages is missing/],
    ['empty messages', { messages: [] }, /^messages must hold/],
    ['an unknown role', { messages: [{ role: 'tool', content: '' }] }, /^messages\[0\]\.role must/],
    ['max_tokens of 0', { max_tokens: 0 }, /^max_tokens must be at least 1/],
    ['empty content', { messages: [{ role: 'user', content: [] }] }, /content must not be empty/],
    ['an unknown block', user({ type: 'video' }), /^messages\[0\]\.content\[0\]\.type must be one/],
    ['a call by the user', user({ type: 'tool_use' }), /\.type must be one of/],
    ['an image by the assistant', assistant({ type: 'image' }), /\.type must be one of/],
    ['a server tool block', assistant({ type: 'server_tool_use' }), /\.type must be one of/],
    [
      'a result without a call',
      user({ type: 'tool_result', tool_use_id: 'x' }),
      /tool_use_id answers no tool_use/,
    ],
    [
      'a call with text for input',
      assistant({ type: 'tool_use', id: 'a', name: 'f', input: '{}' }),
      /input must be an object/,
    ],
    [
      'an image in a private network',
      user({ type: 'image', source: { type: 'url', url: 'http://10.0.0.1/x.png' } }),
      /source\.url leads to a private network/,
    ],
    [
      'a stored file',
      user({ type: 'document', source: { type: 'file', file_id: 'f' } }),
      /source\.type is not supported/,
    ],
    [
      'a document of another kind',
      user({ type: 'document', source: { type: 'base64', media_type: 'text/html', data: 'AAAA' } }),
      /media_type must be one of application\/pdf/,
    ],
    ['a server tool', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, /custom/],
    ['a tool without schema', { tools: [{ name: 'f' }] }, /^tools\[0\]\.input_schema is missing/],
    ['a forced tool without tools', { tool_choice: { type: 'any' } }, /^tool_choice needs/],
    [
      'a forced tool that is not there',
      { tools: [TOOL], tool_choice: { type: 'tool', name: 'x' } },
      /^tool_choice\.name names no tool/,
    ],
    ['temperature above 1', { temperature: 1.5 }, /^temperature must be between 0 and 1/],
    ['a blank stop sequence', { stop_sequences: [' '] }, /^stop_sequences\[0\] must not be blank/],
    [
      'too small a budget',
      { thinking: { type: 'enabled', budget_tokens: 100 } },
      /^thinking\.budget_tokens must be at least 1024/,
    ],
    [
      'a budget above max_tokens',
      { thinking: { type: 'enabled', budget_tokens: 5000 } },
      /^thinking\.budget_tokens must be less than max_tokens/,
    ],
    [
      'an unknown time to live',
      { cache_control: { type: 'ephemeral', ttl: '1d' } },
      /^cache_control\.ttl must be one of/,
    ],
  ]
  for (const [name, fields, message] of cases) {
    test(name, () => assert.match(refusal(fields), message))
  }
})

test('a depth bomb is answered without a stack overflow', () => {
  let input: unknown = {}
  for (let depth = 0; depth < 200_000; depth += 1) input = { a: input }
  assert.match(refusal(assistant({ type: 'tool_use', id: 'a', name: 'f', input })), /nested deeper/)
})

const words = fc.constantFrom(
  ...'type text image document tool_use tool_result source url content id name input thinking role'.split(
    ' ',
  ),
)
const shaped = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, '', 'base64', 'https://', 0, 1, -1, 1e300),
    words,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(words, tie('value'), { maxKeys: 6 }),
  ),
}))
const blocks = fc.array(
  fc.record({
    role: fc.constantFrom('user', 'assistant', 'system', 'x'),
    content: fc.oneof(
      fc.array(fc.tuple(words, shaped.value).map(([type, rest]) => Object.assign({ type }, rest))),
      shaped.value,
    ),
  }),
)

test('no JSON value makes the reader throw anything but a refusal', () => {
  const value = fc.oneof(fc.jsonValue(), shaped.value, blocks)
  fc.assert(
    fc.property(value, fc.boolean(), (entry, whole) => {
      const rest = { system: entry, tools: entry, tool_choice: entry, thinking: entry }
      const base = { model: 'm', max_tokens: 9, messages: entry }
      try {
        anthropicDialect.parse(whole ? entry : base, {})
        anthropicDialect.parse({ ...base, ...rest }, {})
      } catch (error) {
        assert.ok(error instanceof ApiError && error.code === 'bad_request', String(error))
      }
    }),
    { numRuns: 2500 },
  )
})
