// Bodies of POST /v1/responses in neutral words, and what is refused of them.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '../../../platform/errors.ts'
import { mintSecretKey, parseSecretKeys } from '../../../platform/secret-box.ts'
import { MODELS } from '../../upstreams/test-call.ts'
import { judgeFields } from '../field-rules.ts'
import { RESPONSES_FIELDS } from './fields.ts'
import { parseResponsesRequest } from './request.ts'
import { ReasoningSeal, type SealedReasoning, sealedFor } from './sealed-reasoning.ts'

const keys = parseSecretKeys(mintSecretKey()) ?? []
const reasoning = new ReasoningSeal(() => keys)
const findModel = (name: string) => Object.values(MODELS).find((model) => model.name === name)
const parts = { reasoning, findModel, keeps_items: true }
const parse = (fields: Record<string, unknown>) =>
  parseResponsesRequest(parts, { model: MODELS.sonnet.name, input: 'Hello', ...fields })
const conversation = (input: readonly unknown[]) => parse({ input }).messages

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

const user = (text: string) => ({ role: 'user', content: [{ kind: 'text', text }] })
const WEATHER = {
  type: 'function',
  name: 'weather',
  description: 'Weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  strict: true,
}

describe('input', () => {
  test('a text is a user who says it', () => {
    assert.deepEqual(parse({ input: 'Hello' }).messages, [user('Hello')])
  })

  test('items of the model in a row are one turn, and results of its calls the next', () => {
    const messages = conversation([
      { role: 'user', content: 'Rome?' },
      { type: 'reasoning', id: 'rs_1', summary: [] },
      {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Let me see.' }],
      },
      { type: 'function_call', call_id: 'a', name: 'weather', arguments: '{"city":"Rome"}' },
      { type: 'custom_tool_call', call_id: 'b', name: 'exec', input: 'ls', id: 'ctc_1' },
      { type: 'function_call_output', call_id: 'a', output: 'Sun', status: 'completed' },
      {
        type: 'custom_tool_call_output',
        call_id: 'b',
        output: [{ type: 'input_text', text: 'file' }],
      },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'And?' }] },
    ])
    assert.deepEqual(messages, [
      user('Rome?'),
      {
        role: 'assistant',
        content: [
          { kind: 'text', text: 'Let me see.' },
          { kind: 'tool_call', id: 'a', name: 'weather', input: { city: 'Rome' } },
          { kind: 'tool_call', id: 'b', name: 'exec', input: { input: 'ls' } },
        ],
      },
      {
        role: 'user',
        content: [
          { kind: 'tool_result', call_id: 'a', content: [{ kind: 'text', text: 'Sun' }] },
          { kind: 'tool_result', call_id: 'b', content: [{ kind: 'text', text: 'file' }] },
        ],
      },
      user('And?'),
    ])
  })

  test('instructions stand first, and later ones keep their place', () => {
    const request = parse({
      instructions: 'Be brief.',
      input: [
        { role: 'developer', content: 'Answer in French.' },
        { role: 'user', content: 'Hello' },
        { role: 'system', content: [{ type: 'input_text', text: 'Now in Latin.' }] },
      ],
    })
    assert.deepEqual(
      request.system.map(({ text }) => text),
      ['Be brief.', 'Answer in French.'],
    )
    assert.deepEqual(request.messages.at(-1), {
      role: 'user',
      content: [{ kind: 'text', text: 'Now in Latin.', instruction: true }],
    })
  })

  test('instructions alone are answered, with an empty text or with none', () => {
    for (const input of ['', [{ role: 'system', content: 'Be brief.' }]]) {
      const { system, messages } = parse({ instructions: 'Hello', input })
      assert.deepEqual(system, [])
      assert.deepEqual(messages[0]?.content[0], { kind: 'text', text: 'Hello' })
    }
  })

  test('pictures and files are those of chat completions, in other words', () => {
    const [message] = conversation([
      {
        role: 'user',
        content: [
          { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'original' },
          { type: 'input_file', file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' },
          { type: 'input_file', file_url: 'https://example.com/b.pdf' },
        ],
      },
    ])
    assert.deepEqual(message?.content, [
      { kind: 'image', source: { kind: 'url', url: 'https://example.com/a.png' }, detail: 'high' },
      {
        kind: 'file',
        source: { kind: 'data', media_type: 'application/pdf', data: 'AAAA' },
        name: 'a.pdf',
      },
      { kind: 'file', source: { kind: 'url', url: 'https://example.com/b.pdf' } },
    ])
  })

  test('what nobody here can do or has kept is refused by its name', () => {
    const item = (given: object) => refusal({ input: [given] })
    assert.match(item({ type: 'computer_call', id: 'x' }), /input\[0\]\.type "computer_call"/)
    assert.match(item({ type: 'compaction', encrypted_content: 'x' }), /"compaction"/)
    assert.match(item({ type: 'mcp_call' }), /"mcp_call"/)
    assert.match(item({ type: 7 }), /of this kind/)
    assert.match(item({ type: 'item_reference', id: 'msg_1' }), /refers to "msg_1"/)
    assert.match(item({ id: 'msg_1' }), /refers to "msg_1"/)
    const file = { type: 'input_file', file_id: 'file-1' }
    assert.match(item({ role: 'user', content: [file] }), /content\[0\]\.file_id/)
    const picture = { type: 'input_image', file_id: 'file-1' }
    assert.match(item({ role: 'user', content: [picture] }), /content\[0\]\.file_id/)
    assert.match(item({ type: 'function_call_output', call_id: 'a', output: '' }), /no call/)
    assert.match(refusal({ input: undefined }), /input is missing/)
    assert.match(refusal({ input: [] }), /must not be empty/)
    assert.match(refusal({ input: '' }), /input must hold some content/)
    assert.match(item({ type: 'reasoning', summary: [] }), /must hold some content/)
    for (const path of ['http://127.0.0.1/', 'file:///etc/passwd']) {
      const content = [{ type: 'input_image', image_url: path }]
      assert.match(item({ role: 'user', content }), /image_url/)
    }
  })
})

describe('sealed reasoning', () => {
  const sealed = (given: Partial<SealedReasoning>, model = MODELS.sonnet) => ({
    type: 'reasoning',
    id: 'rs_1',
    summary: [],
    encrypted_content: reasoning.seal({
      sealed_for: sealedFor(model),
      thoughts: [],
      call_signatures: {},
      text_signature: undefined,
      ...given,
    }),
  })
  const thought = { kind: 'thinking', text: 'Hm.', signature: 'sig' } as const
  const call = { type: 'function_call', call_id: 'a', name: 'weather', arguments: '' }

  test('comes back to the model that thought it, before its calls', () => {
    const [, turn] = conversation([
      { role: 'user', content: 'x' },
      sealed({ thoughts: [thought] }),
      call,
    ])
    assert.deepEqual(turn?.content, [
      thought,
      { kind: 'tool_call', id: 'a', name: 'weather', input: {} },
    ])
  })

  test('signs calls wherever it stands, and the text beside it', () => {
    const text = { role: 'assistant', content: 'Sun' }
    const proofs = sealed({ call_signatures: { a: 'proof' }, text_signature: 'text proof' })
    const [turn] = conversation([text, call, proofs])
    assert.deepEqual(turn?.content, [
      { kind: 'text', text: 'Sun' },
      { kind: 'tool_call', id: 'a', name: 'weather', input: {}, signature: 'proof' },
      { kind: 'text', text: '', signature: 'text proof' },
    ])
  })

  test('of another model, or of somebody else, is left out', () => {
    const foreign = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' }
    const other = sealed({ thoughts: [thought] }, MODELS.haiku)
    const plain = { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm' }] }
    const messages = conversation([{ role: 'user', content: 'x' }, foreign, other, plain])
    assert.deepEqual(messages, [user('x')])
  })
})

describe('tools', () => {
  const NAMESPACE = {
    type: 'namespace',
    name: 'files',
    description: 'Files',
    tools: [
      { ...WEATHER, name: 'read' },
      { type: 'custom', name: 'patch' },
    ],
  }
  const SEARCH = { type: 'web_search', search_context_size: 'low' }
  const namesOf = (fields: Record<string, unknown>) => parse(fields).tools.map(({ name }) => name)

  test('of a namespace have a flat name upstream, and a way back', () => {
    const request = parse({ tools: [WEATHER, NAMESPACE, { type: 'custom', name: 'exec' }] })
    const names = request.tools.map(({ name }) => name)
    assert.deepEqual(names, ['weather', 'files__read', 'files__patch', 'exec'])
    assert.deepEqual(request.tools[0], {
      name: 'weather',
      description: 'Weather of a city',
      parameters: WEATHER.parameters,
      strict: true,
    })
    assert.deepEqual(
      [...(request.style?.responses?.tools ?? [])],
      [
        ['files__read', { kind: 'function', name: 'read', namespace: 'files' }],
        ['files__patch', { kind: 'custom', name: 'patch', namespace: 'files' }],
        ['exec', { kind: 'custom', name: 'exec' }],
      ],
    )
    const call = { type: 'function_call', call_id: 'a', name: 'read', namespace: 'files' }
    const [turn] = conversation([{ ...call, arguments: '{}' }])
    assert.deepEqual(turn?.content, [
      { kind: 'tool_call', id: 'a', name: 'files__read', input: {} },
    ])
  })

  test('that stand in the input are offered as well', () => {
    const input = [
      { type: 'additional_tools', role: 'developer', tools: [NAMESPACE] },
      { role: 'user', content: 'x' },
    ]
    assert.deepEqual(namesOf({ input, tools: [WEATHER] }), [
      'weather',
      'files__read',
      'files__patch',
    ])
  })

  test('with a grammar are told it', () => {
    const format = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' }
    const [tool] = parse({
      tools: [{ type: 'custom', name: 'exec', description: 'Run.', format }],
    }).tools
    assert.match(String(tool?.description), /^Run\.\n.*\(lark\):\nstart: "x"$/)
    assert.equal(tool?.free_text, true)
  })

  test('that run at OpenAI are left out beside others, named, and refused alone or by choice', () => {
    const request = parse({ tools: [SEARCH, WEATHER, { type: 'mcp', server_label: 'x' }] })
    assert.deepEqual(request.ignored, ['tools.web_search', 'tools.mcp'])
    assert.deepEqual(request.style?.responses?.echo['tools'], [WEATHER])
    assert.match(refusal({ tools: [SEARCH] }), /only tools that run at OpenAI \(web_search\)/)
    const tool_choice = { type: 'web_search' }
    assert.match(refusal({ tools: [SEARCH, WEATHER], tool_choice }), /tool_choice\.type/)
  })

  test('of one name are refused, also where a namespace makes them one', () => {
    assert.match(refusal({ tools: [WEATHER, WEATHER] }), /tools\[1\]\.name is the name of another/)
    const flat = { ...WEATHER, name: 'files__read' }
    assert.match(refusal({ tools: [flat, NAMESPACE] }), /tools\[1\]\.tools\[0\]\.name/)
  })

  test('are chosen by name, with or without their namespace', () => {
    const tools = [WEATHER, NAMESPACE]
    const chosen = (tool_choice: unknown) => parse({ tools, tool_choice }).tool_choice
    assert.deepEqual(chosen('required'), { kind: 'required' })
    assert.deepEqual(chosen({ type: 'function', name: 'weather' }), {
      kind: 'tool',
      name: 'weather',
    })
    const read = { kind: 'tool', name: 'files__read' }
    assert.deepEqual(chosen({ type: 'function', name: 'read', namespace: 'files' }), read)
    assert.deepEqual(chosen({ type: 'function', name: 'read' }), read)
    assert.deepEqual(chosen({ type: 'function', name: 'files__read' }), read)
    assert.match(refusal({ tools, tool_choice: { type: 'function', name: 'x' } }), /names no tool/)
    assert.match(refusal({ tool_choice: 'required' }), /needs `tools`/)
  })

  test('that are not allowed are not offered', () => {
    const tools = [WEATHER, NAMESPACE]
    const allowed = (list: unknown[]) => ({ type: 'allowed_tools', mode: 'required', tools: list })
    const weather = { type: 'function', name: 'weather' }
    const request = parse({ tools, tool_choice: allowed([weather, { type: 'web_search' }]) })
    assert.deepEqual(request.tool_choice, { kind: 'required' })
    assert.deepEqual(
      request.tools.map(({ name }) => name),
      ['weather'],
    )
    const all = parse({ tools, tool_choice: allowed([{ type: 'namespace', name: 'files' }]) })
    assert.deepEqual(
      all.tools.map(({ name }) => name),
      ['files__read', 'files__patch'],
    )
    assert.match(refusal({ tools, tool_choice: allowed([{ type: 'mcp' }]) }), /must name a tool/)
  })
})

describe('settings', () => {
  test('efforts are those of chat completions, and none is no error anywhere', () => {
    const asked = (effort: string) => parse({ reasoning: { effort } }).reasoning
    assert.deepEqual(asked('none'), { kind: 'effort', effort: 'none' })
    assert.deepEqual(asked('xhigh'), { kind: 'effort', effort: 'high' })
    assert.deepEqual(asked('max'), { kind: 'effort', effort: 'high' })
    assert.match(refusal({ reasoning: { effort: 'huge' } }), /reasoning\.effort/)
  })

  test('a summary asks for thoughts where a model can show some', () => {
    const asked = (model: string) => parse({ model, reasoning: { summary: 'auto' } })
    const medium = { kind: 'effort', effort: 'medium' }
    assert.deepEqual(asked(MODELS.sonnet.name).reasoning, medium)
    assert.deepEqual(asked(MODELS.flash.name).reasoning, medium)
    assert.equal(asked(MODELS.gpt4o.name).reasoning, undefined)
    assert.equal(asked(MODELS.gpt5.name).reasoning, undefined)
    assert.equal(asked(MODELS.gpt4o.name).style?.responses?.shows_summary, true)
    assert.equal(parse({ reasoning: {} }).style?.responses?.shows_summary, false)
  })

  test('a format is flat', () => {
    const schema = { type: 'object', properties: {} }
    const format = { type: 'json_schema', name: 'poem', schema, strict: true }
    assert.deepEqual(parse({ text: { format } }).response_format, {
      kind: 'json_schema',
      name: 'poem',
      schema,
      strict: true,
    })
    assert.equal(parse({ text: {} }).response_format, undefined)
    assert.match(refusal({ text: { format: { type: 'xml' } } }), /text\.format\.type/)
  })

  test('what counts on kept state or changes the price is refused with a way out', () => {
    for (const [field, value] of Object.entries({
      previous_response_id: 'resp_1',
      conversation: { id: 'conv_1' },
      background: true,
      prompt: { id: 'pmpt_1' },
      context_management: [{ type: 'compaction' }],
      top_logprobs: 3,
      include: ['message.output_text.logprobs'],
    })) {
      assert.match(refusal({ [field]: value }), new RegExp(`^${field}`))
    }
    assert.match(refusal({ reasoning: { mode: 'pro' } }), /^reasoning\.mode/)
    const idle = { background: false, context_management: [], top_logprobs: 0, include: [] }
    parse({ ...idle, previous_response_id: null, reasoning: { mode: 'standard' } })
  })

  test('every other field is named if it is dropped, on every model', () => {
    const body = {
      service_tier: 'ultrafast',
      safety_identifier: 'x',
      client_metadata: { a: 'b' },
      made_up: 1,
      truncation: 'auto',
      stream_options: { include_obfuscation: true },
      metadata: { a: 'b' },
      tools: [WEATHER],
    }
    for (const model of Object.values(MODELS)) {
      const { relayed, ignored } = judgeFields(RESPONSES_FIELDS, body, model)
      assert.deepEqual(relayed, {})
      const strict = model.provider === 'openai' ? [] : ['tools[].strict']
      assert.deepEqual(
        ignored.toSorted(),
        [
          'service_tier',
          'safety_identifier',
          'client_metadata',
          'made_up',
          'truncation',
          'stream_options',
          ...strict,
        ].sort(),
      )
    }
  })

  test('OpenAI’s cache is keyed, and never at another price', () => {
    const prompt_cache_options = { mode: 'explicit', prewarm: true, ttl: '12h', region: 'far' }
    const body = { prompt_cache_key: 'k', prompt_cache_options }
    const { relayed, ignored } = judgeFields(RESPONSES_FIELDS, body, MODELS.gpt4o)
    assert.deepEqual(relayed, {
      prompt_cache_key: 'k',
      prompt_cache_options: { mode: 'explicit' },
    })
    assert.deepEqual(ignored, [
      'prompt_cache_options.prewarm',
      'prompt_cache_options.ttl',
      'prompt_cache_options.region',
    ])
  })

  test('what nobody knows is named inside other fields, too', () => {
    const body = { reasoning: { effort: 'low', patience: 3 }, text: { tone: 'warm' } }
    const { ignored } = judgeFields(RESPONSES_FIELDS, body, MODELS.sonnet)
    assert.deepEqual(ignored, ['reasoning.patience', 'text.tone'])
  })
})

describe('what a reply repeats', () => {
  test('is the request, with OpenAI’s defaults', () => {
    const { style } = parse({
      metadata: { a: 'b' },
      truncation: 'auto',
      reasoning: { effort: 'max' },
    })
    assert.deepEqual(style?.responses?.echo, {
      background: false,
      instructions: null,
      max_output_tokens: null,
      max_tool_calls: null,
      metadata: { a: 'b' },
      parallel_tool_calls: true,
      previous_response_id: null,
      prompt_cache_key: null,
      reasoning: { effort: 'max', summary: null },
      service_tier: 'default',
      store: true,
      temperature: 1,
      text: { format: { type: 'text' } },
      tool_choice: 'auto',
      tools: [],
      top_logprobs: 0,
      top_p: 1,
      truncation: 'disabled',
      user: null,
    })
    assert.equal(parse({ store: false }).style?.responses?.stores_items, false)
  })

  test('is short: metadata has its limits', () => {
    const many = Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`k${at}`, 'v']))
    assert.match(refusal({ metadata: many }), /at most 16 pairs/)
    assert.match(refusal({ metadata: { a: 'x'.repeat(513) } }), /at most 512/)
    assert.match(refusal({ metadata: { a: 1 } }), /metadata\.a must be a string/)
  })
})
