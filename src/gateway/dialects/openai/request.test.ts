import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fc } from '../../../../test/support/same-cases.ts'
import { ApiError } from '../../../platform/errors.ts'
import { MODELS } from '../../upstreams/test-call.ts'
import { cacheWrites } from '../cache-hints.ts'
import { judgeFields } from '../field-rules.ts'
import { openAiDialect } from './dialect.ts'
import { OPENAI_FIELDS } from './fields.ts'

const HELLO = [{ role: 'user', content: 'Hello' }]
const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    strict: true,
  },
}
const parse = (fields: Record<string, unknown>) =>
  openAiDialect.parse({ model: 'gpt-4o', messages: HELLO, ...fields }, {})

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

test('a whole conversation with images, tools and results reads into neutral words', () => {
  const request = parse({
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'developer', content: [{ type: 'text', text: 'Answer in French.' }] },
      {
        role: 'user',
        name: 'ada',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
          { type: 'image_url', image_url: { url: 'data:image/jpg;base64,/9j/4AA=' } },
          { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'mp3' } },
          {
            type: 'file',
            file: { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'a.pdf' },
          },
        ],
      },
      {
        role: 'assistant',
        content: null,
        refusal: null,
        tool_calls: [
          {
            id: 'call_1',
            type: 'function',
            function: { name: 'get_weather', arguments: '{"city":"Rome"}' },
            extra_content: { google: { thought_signature: 'c2ln' } },
          },
          { id: 'call_2', type: 'function', function: { name: 'now', arguments: '' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '19 degrees' },
      { role: 'tool', tool_call_id: 'call_2', content: [{ type: 'text', text: 'noon' }] },
      { role: 'user', content: 'Thanks' },
    ],
    tools: [WEATHER, { type: 'function', function: { name: 'now' } }],
    tool_choice: 'auto',
    parallel_tool_calls: false,
    max_tokens: 100,
    max_completion_tokens: 200,
    temperature: 0.5,
    top_p: 0.9,
    seed: 7,
    frequency_penalty: -1,
    presence_penalty: null,
    stop: ['END'],
    reasoning_effort: 'xhigh',
    verbosity: 'low',
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'out', schema: { type: 'object' }, strict: true },
    },
    n: 2,
    stream: true,
    stream_options: { include_usage: true },
  })
  const { original, ...neutral } = request
  assert.equal(original.dialect, 'openai')
  assert.deepEqual(neutral, {
    model: 'gpt-4o',
    system: [
      { kind: 'text', text: 'Be brief.' },
      { kind: 'text', text: 'Answer in French.' },
    ],
    messages: [
      {
        role: 'user',
        content: [
          { kind: 'text', text: 'What is this?' },
          {
            kind: 'image',
            source: { kind: 'url', url: 'https://example.com/a.png' },
            detail: 'low',
          },
          { kind: 'image', source: { kind: 'data', media_type: 'image/jpeg', data: '/9j/4AA=' } },
          { kind: 'audio', source: { kind: 'data', media_type: 'audio/mpeg', data: 'UklGRg==' } },
          {
            kind: 'file',
            source: { kind: 'data', media_type: 'application/pdf', data: 'JVBERi0=' },
            name: 'a.pdf',
          },
        ],
      },
      {
        role: 'assistant',
        content: [
          {
            kind: 'tool_call',
            id: 'call_1',
            name: 'get_weather',
            input: { city: 'Rome' },
            signature: 'c2ln',
          },
          { kind: 'tool_call', id: 'call_2', name: 'now', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          {
            kind: 'tool_result',
            call_id: 'call_1',
            content: [{ kind: 'text', text: '19 degrees' }],
          },
          { kind: 'tool_result', call_id: 'call_2', content: [{ kind: 'text', text: 'noon' }] },
        ],
      },
      { role: 'user', content: [{ kind: 'text', text: 'Thanks' }] },
    ],
    tools: [
      {
        name: 'get_weather',
        description: 'Weather of a city',
        parameters: WEATHER.function.parameters,
        strict: true,
      },
      { name: 'now', description: undefined, parameters: { type: 'object', properties: {} } },
    ],
    tool_choice: { kind: 'auto' },
    parallel_tool_calls: false,
    max_output_tokens: 200,
    temperature: 0.5,
    top_p: 0.9,
    top_k: undefined,
    seed: 7,
    frequency_penalty: -1,
    presence_penalty: undefined,
    stop: ['END'],
    reasoning: { kind: 'effort', effort: 'high' },
    verbosity: 'low',
    response_format: { kind: 'json_schema', name: 'out', schema: { type: 'object' }, strict: true },
    n: 2,
    stream: true,
    include_usage: true,
  })
})

test('the body for an OpenAI upstream loses what only we understand, and what OpenAI finds contradictory', () => {
  const { original } = parse({
    messages: [
      ...HELLO,
      {
        role: 'assistant',
        content: 'Hi',
        reasoning_content: 'They greet.',
        tool_calls: [
          {
            id: 'c',
            type: 'function',
            function: { name: 'f', arguments: '{}' },
            extra_content: { google: { thought_signature: 's' } },
          },
        ],
      },
    ],
    logit_bias: { 50256: -100 },
    logprobs: true,
    top_logprobs: 3,
    prediction: { type: 'content', content: 'x' },
    prompt_cache_key: 'k',
    modalities: ['text'],
    seed: null,
    tools: [],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    stream_options: { include_usage: true },
  })
  const { relayed, ignored } = judgeFields(OPENAI_FIELDS, original.body, MODELS.gpt4o)
  const lost = ['messages[].reasoning_content', 'messages[].tool_calls[].extra_content']
  assert.deepEqual(ignored, lost)
  assert.deepEqual(relayed, {
    messages: [
      ...HELLO,
      {
        role: 'assistant',
        content: 'Hi',
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
    ],
    logit_bias: { 50256: -100 },
    logprobs: true,
    top_logprobs: 3,
    prediction: { type: 'content', content: 'x' },
    prompt_cache_key: 'k',
  })
})

test('instructions alone become what the user says, since only OpenAI answers to nobody', () => {
  const request = parse({ messages: [{ role: 'system', content: 'Say hi' }] })
  assert.deepEqual(request.system, [])
  assert.deepEqual(request.messages, [
    { role: 'user', content: [{ kind: 'text', text: 'Say hi' }] },
  ])
})

test('instructions in the middle of a conversation stay there, in turns of their own', () => {
  const { system, messages } = parse({
    messages: [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: 'Hello' },
      { role: 'system', content: 'Speak French.' },
      { role: 'system', content: '' },
    ],
  })
  assert.deepEqual(system, [{ kind: 'text', text: 'Be brief.' }])
  assert.deepEqual(messages, [
    { role: 'user', content: [{ kind: 'text', text: 'Hello' }] },
    { role: 'user', content: [{ kind: 'text', text: 'Speak French.', instruction: true }] },
  ])
})

test('-1 is what older LangChain sends for a top_p that is not set', () => {
  const request = parse({ top_p: -1 })
  assert.equal(request.top_p, undefined)
  assert.equal('top_p' in request.original.body, false)
})

test('a choice of allowed tools offers only those', () => {
  const request = parse({
    tools: [WEATHER, { type: 'function', function: { name: 'now' } }],
    tool_choice: {
      type: 'allowed_tools',
      allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'now' } }] },
    },
  })
  assert.deepEqual(request.tool_choice, { kind: 'required' })
  assert.deepEqual(
    request.tools.map(({ name }) => name),
    ['now'],
  )
  const forced = parse({
    tools: [WEATHER],
    tool_choice: { type: 'function', function: { name: 'get_weather' } },
  })
  assert.deepEqual(forced.tool_choice, { kind: 'tool', name: 'get_weather' })
})

describe('functions, as they were before tools,', () => {
  const functions = [{ name: 'get_weather', parameters: WEATHER.function.parameters }]
  const CALL = { name: 'get_weather', arguments: '{"city":"Rome"}' }

  test('are tools, for everybody', () => {
    const request = parse({ functions, function_call: { name: 'get_weather' } })
    assert.equal(request.tools[0]?.name, 'get_weather')
    assert.deepEqual(request.tool_choice, { kind: 'tool', name: 'get_weather' })
    assert.equal(request.parallel_tool_calls, false)
    assert.equal(request.style?.function_call, true)
    assert.deepEqual(judgeFields(OPENAI_FIELDS, request.original.body, MODELS.gpt4o), {
      relayed: {
        messages: HELLO,
        tools: [{ type: 'function', function: functions[0] }],
        tool_choice: { type: 'function', function: { name: 'get_weather' } },
      },
      ignored: [],
    })
  })

  test('that were called and answered are calls and results', () => {
    const { messages, original } = parse({
      functions,
      messages: [
        ...HELLO,
        { role: 'assistant', content: null, function_call: CALL },
        { role: 'function', name: 'get_weather', content: '19 degrees' },
      ],
    })
    assert.deepEqual(messages.slice(1), [
      {
        role: 'assistant',
        content: [
          { kind: 'tool_call', id: 'call_1', name: 'get_weather', input: { city: 'Rome' } },
        ],
      },
      {
        role: 'user',
        content: [
          {
            kind: 'tool_result',
            call_id: 'call_1',
            content: [{ kind: 'text', text: '19 degrees' }],
          },
        ],
      },
    ])
    assert.deepEqual(original.body['messages'], [
      ...HELLO,
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: CALL }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '19 degrees' },
    ])
  })

  test('need no answer, which tools do', () => {
    const { original } = parse({
      messages: [...HELLO, { role: 'assistant', content: null, function_call: CALL }, ...HELLO],
    })
    const roles = (original.body['messages'] as { role: string }[]).map(({ role }) => role)
    assert.deepEqual(roles, ['user', 'assistant', 'tool', 'user'])
  })

  test('that are none leave the body as it is', () => {
    const fields = { functions: [], function_call: 'auto' }
    const { original, style } = parse(fields)
    assert.deepEqual(original.body, { model: 'gpt-4o', messages: HELLO })
    assert.equal(style, undefined)
  })
})

test('a tool that takes free text is a function of one text, and its grammar is told', () => {
  const grammar = { syntax: 'lark', definition: 'start: "x"' }
  const request = parse({
    tools: [
      {
        type: 'custom',
        custom: { name: 'run', description: 'Runs.', format: { type: 'grammar', grammar } },
      },
      WEATHER,
    ],
    tool_choice: { type: 'custom', custom: { name: 'run' } },
    messages: [
      ...HELLO,
      {
        role: 'assistant',
        tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'run', input: 'ls' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'a.txt' },
    ],
  })
  assert.deepEqual(request.style?.free_text_tools, ['run'])
  assert.deepEqual(request.tool_choice, { kind: 'tool', name: 'run' })
  assert.deepEqual(request.messages[1]?.content, [
    { kind: 'tool_call', id: 'c', name: 'run', input: { input: 'ls' } },
  ])
  const [tool] = request.tools
  assert.equal(tool?.free_text, true)
  assert.deepEqual(Object.keys(tool.parameters['properties'] ?? {}), ['input'])
  assert.match(String(tool.description), /^Runs\.\n.*\(lark\):\nstart: "x"$/)
})

describe('a mark where a cache may end', () => {
  const cache_control = { type: 'ephemeral' }
  const text = (words: string) => ({ type: 'text', text: words, cache_control })
  const HOUR = { type: 'ephemeral', ttl: '1h' }

  test('is read wherever clients of OpenRouter put it', () => {
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
    const request = parse({
      messages: [
        { role: 'system', content: [text('Rules')] },
        { role: 'user', content: [text('A book'), { type: 'text', text: 'Why?' }] },
        { role: 'assistant', content: 'Look', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c', content: [text('found')] },
        { role: 'user', content: 'And?', cache_control: HOUR },
      ],
      tools: [{ ...WEATHER, cache_control }],
    })
    const cache = { ttl: '5m' }
    assert.deepEqual(request.system, [{ kind: 'text', text: 'Rules', cache }])
    assert.deepEqual(request.tools[0]?.cache, cache)
    const marks = request.messages.map(({ content }) =>
      content.map((part) => ('cache' in part ? part.cache?.ttl : undefined)),
    )
    assert.deepEqual(marks, [['5m', undefined], [undefined, undefined], ['5m'], ['1h']])
    assert.equal(cacheWrites(request), '1h')
  })

  test('of the whole request stands at its end', () => {
    const request = parse({ cache_control })
    assert.deepEqual(request.messages[0]?.content, [
      { kind: 'text', text: 'Hello', cache: { ttl: '5m' } },
    ])
    assert.equal(cacheWrites(request), '5m')
    assert.equal(cacheWrites(parse({})), false)
  })

  test('is named for OpenAI and Gemini, which cache by themselves', () => {
    const body = parse({
      messages: [{ role: 'user', content: [text('A book')] }],
      tools: [{ ...WEATHER, cache_control }],
      cache_control,
    }).original.body
    const marks = ['messages[].content[].cache_control', 'tools[].cache_control', 'cache_control']
    assert.deepEqual(judgeFields(OPENAI_FIELDS, body, MODELS.gpt4o), {
      relayed: {
        messages: [{ role: 'user', content: [{ type: 'text', text: 'A book' }] }],
        tools: [WEATHER],
      },
      ignored: marks,
    })
    const named = new Set(judgeFields(OPENAI_FIELDS, body, MODELS.flash).ignored)
    assert.ok(new Set(marks).isSubsetOf(named))
    assert.deepEqual(judgeFields(OPENAI_FIELDS, body, MODELS.sonnet).ignored, [
      'tools[].function.strict',
    ])
  })
})

test('the fields of OpenRouter are understood', () => {
  const reasoningOf = (reasoning: unknown, more = {}) => parse({ reasoning, ...more }).reasoning
  const effort = (word: string) => ({ kind: 'effort', effort: word })
  assert.deepEqual(reasoningOf({ effort: 'low' }), effort('low'))
  assert.deepEqual(reasoningOf({ effort: 'xhigh' }), effort('high'))
  assert.deepEqual(reasoningOf({ effort: 'low' }, { reasoning_effort: 'high' }), effort('high'))
  assert.deepEqual(reasoningOf({ max_tokens: 3000 }), { kind: 'budget', tokens: 3000 })
  assert.deepEqual(reasoningOf({ enabled: true }), effort('medium'))
  assert.deepEqual(reasoningOf({ enabled: false }), effort('none'))
  assert.equal(reasoningOf({}), undefined)
  assert.equal(parse({ reasoning: { exclude: true } }).style?.hides_thinking, true)
  assert.equal(parse({ include_reasoning: false }).style?.hides_thinking, true)
  assert.equal(parse({ stream: true, usage: { include: true } }).include_usage, true)
  assert.equal(parse({ top_k: 40 }).top_k, 40)
})

test('-1 means not set, where it can mean nothing else', () => {
  const { top_p, top_k, original } = parse({ top_p: -1, top_k: -1 })
  assert.deepEqual([top_p, top_k], [undefined, undefined])
  for (const model of Object.values(MODELS)) {
    const { relayed, ignored } = judgeFields(OPENAI_FIELDS, original.body, model)
    assert.deepEqual(ignored, [])
    assert.equal('top_p' in relayed, false)
  }
})

test("Claude's thoughts come back with their proofs, and no others do", () => {
  const format = 'anthropic-claude-v1'
  const { messages } = parse({
    messages: [
      ...HELLO,
      {
        role: 'assistant',
        content: 'Hi',
        reasoning_details: [
          { type: 'reasoning.text', text: 'They greet.', signature: 'sig', format, index: 0 },
          { type: 'reasoning.encrypted', data: 'opaque', format },
          { type: 'reasoning.text', text: 'Unsigned.', format },
          { type: 'reasoning.encrypted', data: 'x', format: 'google-gemini-v1' },
          7,
        ],
      },
      { role: 'assistant', content: 'Hm', reasoning_details: 'none' },
    ],
  })
  assert.deepEqual(messages.slice(1), [
    {
      role: 'assistant',
      content: [
        { kind: 'thinking', text: 'They greet.', signature: 'sig' },
        { kind: 'redacted_thinking', data: 'opaque' },
        { kind: 'text', text: 'Hi' },
      ],
    },
    { role: 'assistant', content: [{ kind: 'text', text: 'Hm' }] },
  ])
})

const user = (part: unknown) => ({ messages: [{ role: 'user', content: [part] }] })
const image = (url: unknown) => user({ type: 'image_url', image_url: { url } })

describe('what is refused is named', () => {
  const cases: [string, Record<string, unknown>, RegExp][] = [
    ['no model', { model: undefined }, /^model is missing/],
    ['a model that is no text', { model: 4 }, /^model must be a string/],
    ['no messages', { messages: undefined }, /^messages is missing/],
    ['empty messages', { messages: [] }, /^messages must not be empty/],
    [
      'too many messages',
      { messages: Array(10_001).fill(HELLO[0]) },
      /^messages must have at most/,
    ],
    ['a message that is no object', { messages: ['hi'] }, /^messages\[0\] must be an object/],
    ['an unknown role', { messages: [{ role: 'king' }] }, /^messages\[0\]\.role must be one of/],
    [
      'a result of a function that nobody called',
      { messages: [{ role: 'function', name: 'f', content: '1' }] },
      /^messages\[0\] answers no function call/,
    ],
    ['a choice of functions without any', { function_call: { name: 'f' } }, /^function_call needs/],
    [
      'functions beside tools',
      { functions: [{ name: 'f' }], tools: [WEATHER] },
      /^functions cannot be sent beside/,
    ],
    ['a cache mark of another kind', { cache_control: { type: 'x' } }, /^cache_control\.type must/],
    ['an effort nobody knows', { reasoning: { effort: 'huge' } }, /^reasoning\.effort must be one/],
    ['no content', { messages: [{ role: 'user' }] }, /^messages\[0\]\.content is missing/],
    [
      'a part that does not exist',
      {
        messages: [...HELLO, ...HELLO, { role: 'user', content: [{ type: 'video' }] }],
      },
      /^messages\[2\]\.content\[0\]\.type must be one of/,
    ],
    [
      'a result without a call',
      { messages: [{ role: 'tool', tool_call_id: 'x', content: 'y' }] },
      /^messages\[0\]\.tool_call_id answers no tool call/,
    ],
    [
      'arguments that are no JSON',
      {
        messages: [
          {
            role: 'assistant',
            tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{"a' } }],
          },
        ],
      },
      /tool_calls\[0\]\.function\.arguments is not valid JSON/,
    ],
    ['max_tokens of 0', { max_tokens: 0 }, /^max_tokens must be at least 1/],
    ['a broken max_completion_tokens', { max_completion_tokens: 1.5 }, /whole number/],
    ['temperature above 2', { temperature: 2.1 }, /^temperature must be between 0 and 2/],
    ['five stops', { stop: ['a', 'b', 'c', 'd', 'e'] }, /^stop must have at most 4/],
    ['no answers', { n: 0 }, /^n must be at least 1/],
    ['spoken answers by modality', { modalities: ['text', 'audio'] }, /^modalities must be/],
    [
      'a custom tool without a name',
      { tools: [{ type: 'custom', custom: {} }] },
      /^tools\[0\]\.custom\.name is missing/,
    ],
    [
      'a tool of another kind',
      { tools: [{ type: 'web_search' }] },
      /^tools\[0\]\.type must be one of/,
    ],
    ['a forced tool without tools', { tool_choice: 'required' }, /^tool_choice needs/],
    [
      'a forced tool that is not there',
      { tools: [WEATHER], tool_choice: { type: 'function', function: { name: 'x' } } },
      /^tool_choice\.function\.name names no tool/,
    ],
    ['an image by file address', image('file:///etc/passwd'), /image_url\.url must be an http/],
    ['an image inside our network', image('http://127.0.0.1/a.png'), /private network/],
    ['the metadata service', image('http://169.254.169.254/latest'), /private network/],
    ['an address in disguise', image('http://0x7f.1/a.png'), /private network/],
    ['an IPv6 loopback', image('http://[::1]/a.png'), /private network/],
    ['a mapped loopback', image('http://[::ffff:127.0.0.1]/a.png'), /private network/],
    ['a local name', image('https://db.internal/a.png'), /private network/],
    ['a bare name with a dot', image('https://localhost./a.png'), /private network/],
    ['a password in the address', image('https://a:b@example.com/'), /password/],
    ['an image of another kind', image('data:image/svg+xml;base64,AAAA'), /type of image/],
    ['image bytes that are no base64', image('data:image/png;base64,****'), /must be base64/],
    ['an image that is not encoded', image('data:image/png,abc'), /must be base64/],
    [
      'a stored file',
      user({ type: 'file', file: { file_id: 'file-1' } }),
      /file_id is not supported/,
    ],
  ]
  for (const [name, fields, message] of cases) {
    test(name, () => assert.match(refusal(fields), message))
  }
})

test('depth bombs and 10 MB of base64 are answered without a stack overflow', () => {
  let nested: unknown = 'x'
  for (let depth = 0; depth < 200_000; depth += 1) nested = [nested]
  assert.match(refusal({ prediction: { content: nested } }), /nested deeper/)
  const text = '{"a":'.repeat(200_000) + '1' + '}'.repeat(200_000)
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: text } }
  assert.match(refusal({ messages: [{ role: 'assistant', tool_calls: [call] }] }), /nested deeper/)
  assert.equal(refusal(image(`data:image/png;base64,${'A'.repeat(10_000_000)}`)), 'accepted')
})

const words = fc.constantFrom(
  ...'role user assistant tool system content text type image_url url tool_calls id function'.split(
    ' ',
  ),
)
const shaped = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, '', 'auto', 'data:,', '{}', 0, 1, -1, 1e300),
    words,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(words, tie('value'), { maxKeys: 6 }),
  ),
}))
const conversations = fc.array(
  fc.record({
    role: fc.constantFrom('user', 'assistant', 'system', 'tool', 'x'),
    content: fc.oneof(
      fc.array(fc.tuple(words, shaped.value).map(([type, rest]) => Object.assign({ type }, rest))),
      shaped.value,
    ),
  }),
)

test('no JSON value makes the reader throw anything but a refusal', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.jsonValue(), shaped.value, conversations),
      fc.boolean(),
      (value, whole) => {
        const body = whole
          ? value
          : { model: 'm', messages: value, tools: value, tool_choice: value }
        try {
          openAiDialect.parse(body, {})
        } catch (error) {
          assert.ok(error instanceof ApiError && error.code === 'bad_request', String(error))
        }
      },
    ),
    { numRuns: 2500 },
  )
})
