// What Google is sent, field by field.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ChatMessage, type ChatRequest } from '../../dialects/chat-types.ts'
import { type JsonRecord } from '../json-values.ts'
import { at, names, refuses, say, toGoogle } from '../test-body.ts'
import { MODELS, type RequestParts, testCall, testModel, testRequest } from '../test-call.ts'
import { draftGoogle } from './request.ts'

const GEMINI_3 = testModel('google', 'gemini-3.1-pro-preview')

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
    for (const [dialect, field] of [
      ['openai', 'response_format'],
      ['anthropic', 'output_config.format'],
      ['responses', 'text.format'],
    ] as const) {
      const words = new RegExp(`\`tools\` and a JSON \`${field}\` together`)
      refuses(() => toGoogle({ tools, response_format, dialect }), words)
    }
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
