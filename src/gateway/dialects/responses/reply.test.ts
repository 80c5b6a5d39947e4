import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEvent, StopReason } from '../chat-types.ts'
import { formatResponsesReply, outputItems } from './reply.ts'
import { ResponsesStream } from './stream.ts'
import { optionsOf, parts, svc, TERMS } from './test-reply.ts'

const usage = {
  input_tokens: 3,
  cache_read_tokens: 20,
  cache_write_5m_tokens: 300,
  cache_write_1h_tokens: 4000,
  output_tokens: 550,
  reasoning_tokens: 50,
}
const USAGE =
  '{"input_tokens":4323,"input_tokens_details":{"cached_tokens":20,"cache_write_tokens":4300},"output_tokens":550,"output_tokens_details":{"reasoning_tokens":50},"total_tokens":4873}'
const SVC =
  '{"credits_used":54399,"balance_before":9007199254740991,"balance_after":9007199254686592,"billing_mode":"user"}'

const EVENTS: ChatEvent[] = [
  { kind: 'start', id: 'msg_1' },
  { kind: 'usage', usage: { ...usage, output_tokens: 1 }, raw: {} },
  { kind: 'thinking', text: 'Two tools.' },
  { kind: 'thinking_signature', signature: 'sig' },
  { kind: 'text', choice: 0, text: 'Let me ' },
  { kind: 'text', choice: 0, text: 'see "it".' },
  { kind: 'tool_call', choice: 0, index: 0, id: 'toolu_1', name: 'tools__look' },
  { kind: 'tool_arguments', choice: 0, index: 0, fragment: '{"city":' },
  { kind: 'tool_call', choice: 0, index: 1, id: 'toolu_2', name: 'run' },
  { kind: 'tool_arguments', choice: 0, index: 1, fragment: '{"input":"ls"}' },
  { kind: 'tool_arguments', choice: 0, index: 0, fragment: '"Rome"}' },
  { kind: 'stop', choice: 0, reason: 'tool_calls', stop_sequence: null },
  { kind: 'usage', usage, raw: {} },
]

/** Ids by their kind: the rest of them is a secret. */
const plain = (text: string) => text.replaceAll(/((?:resp|rs|msg|fc|ctc)_)\w{26}/g, '$1')
const [RESPONSE, THOUGHT, MESSAGE, LOOK, RUN] = ['resp_', 'rs_', 'msg_', 'fc_', 'ctc_']

const items = {
  thought: `{"id":"${THOUGHT}","type":"reasoning","summary":[{"type":"summary_text","text":"Two tools."}]}`,
  message: `{"id":"${MESSAGE}","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Let me see \\"it\\"."}],"role":"assistant"}`,
  look: `{"id":"${LOOK}","type":"function_call","status":"completed","arguments":"{\\"city\\":\\"Rome\\"}","call_id":"toolu_1","name":"look","namespace":"tools"}`,
  run: `{"id":"${RUN}","type":"custom_tool_call","status":"completed","input":"ls","call_id":"toolu_2","name":"run"}`,
}

const echo = {
  instructions: 'Be brief.',
  max_output_tokens: 900,
  metadata: { user: 'a' },
  parallel_tool_calls: false,
  reasoning: { effort: 'low', summary: 'auto' },
  store: false,
  temperature: 0.5,
  tools: [{ type: 'custom', name: 'run' }],
}

const response = (status: string, completed_at: string, rest: { output: string; end: string }) =>
  `{"id":"${RESPONSE}","object":"response","created_at":1794744000,"completed_at":${completed_at},"status":"${status}","background":false,"error":null,"incomplete_details":null,"instructions":"Be brief.","max_output_tokens":900,"max_tool_calls":null,"metadata":{"user":"a"},"model":"claude-sonnet-4","output":[${rest.output}],"parallel_tool_calls":false,"previous_response_id":null,"prompt_cache_key":null,"reasoning":{"effort":"low","summary":"auto"},"service_tier":"default","store":false,"temperature":0.5,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[{"type":"custom","name":"run"}],"top_logprobs":0,"top_p":1,"truncation":"disabled",${rest.end}}`

const WHOLE = response('completed', '1794744003', {
  output: [items.thought, items.message, items.look, items.run].join(','),
  end: `"usage":${USAGE},"user":null,"svc":${SVC}`,
})
const BEGUN = response('in_progress', 'null', { output: '', end: '"usage":null,"user":null' })

const options = optionsOf({ ...TERMS, echo })

test('a whole reply has every field OpenAI documents, in its order, and our numbers', () => {
  assert.equal(plain(formatResponsesReply({ ...options, events: EVENTS, svc }, parts)), WHOLE)
})

test('a stream is record for record what OpenAI documents', () => {
  const stream = new ResponsesStream(options, parts)
  const text = EVENTS.map((event) => stream.write(event)).join('') + stream.finish(svc)
  const of = (id: string, index: number, rest: string) =>
    `"item_id":"${id}","output_index":${index},${rest}`
  const part = (type: string, at: string) => `"content_index":0,"part":{"type":"${type}",${at}}`
  const opened = (item: string, from: string | RegExp, to: string) =>
    item.replace('"completed"', '"in_progress"').replace(from, to)
  const expected: [string, string][] = [
    ['created', `"response":${BEGUN}`],
    ['in_progress', `"response":${BEGUN}`],
    ['output_item.added', `"output_index":0,"item":${opened(items.thought, /\[.*\]/, '[]')}`],
    [
      'reasoning_summary_part.added',
      of(THOUGHT, 0, '"summary_index":0,"part":{"type":"summary_text","text":""}'),
    ],
    ['reasoning_summary_text.delta', of(THOUGHT, 0, '"summary_index":0,"delta":"Two tools."')],
    ['reasoning_summary_text.done', of(THOUGHT, 0, '"summary_index":0,"text":"Two tools."')],
    [
      'reasoning_summary_part.done',
      of(THOUGHT, 0, '"summary_index":0,"part":{"type":"summary_text","text":"Two tools."}'),
    ],
    ['output_item.done', `"output_index":0,"item":${items.thought}`],
    ['output_item.added', `"output_index":1,"item":${opened(items.message, /\[\{.*\}\]/, '[]')}`],
    [
      'content_part.added',
      of(MESSAGE, 1, part('output_text', '"annotations":[],"logprobs":[],"text":""')),
    ],
    ['output_text.delta', of(MESSAGE, 1, '"content_index":0,"delta":"Let me ","logprobs":[]')],
    [
      'output_text.delta',
      of(MESSAGE, 1, '"content_index":0,"delta":"see \\"it\\".","logprobs":[]'),
    ],
    [
      'output_text.done',
      of(MESSAGE, 1, '"content_index":0,"text":"Let me see \\"it\\".","logprobs":[]'),
    ],
    [
      'content_part.done',
      of(
        MESSAGE,
        1,
        part('output_text', '"annotations":[],"logprobs":[],"text":"Let me see \\"it\\"."'),
      ),
    ],
    ['output_item.done', `"output_index":1,"item":${items.message}`],
    [
      'output_item.added',
      `"output_index":2,"item":${opened(items.look, /"arguments":"(?:\\.|[^"])*"/, '"arguments":""')}`,
    ],
    ['function_call_arguments.delta', of(LOOK, 2, '"delta":"{\\"city\\":"')],
    ['output_item.added', `"output_index":3,"item":${opened(items.run, '"ls"', '""')}`],
    ['custom_tool_call_input.delta', of(RUN, 3, '"delta":"ls"')],
    ['custom_tool_call_input.done', of(RUN, 3, '"input":"ls"')],
    ['output_item.done', `"output_index":3,"item":${items.run}`],
    ['function_call_arguments.delta', of(LOOK, 2, '"delta":"\\"Rome\\"}"')],
    ['function_call_arguments.done', of(LOOK, 2, '"arguments":"{\\"city\\":\\"Rome\\"}"')],
    ['output_item.done', `"output_index":2,"item":${items.look}`],
    ['completed', `"response":${WHOLE}`],
  ]
  const records = plain(text).slice(0, -2).split('\n\n')
  for (const [number, [type, members]] of expected.entries()) {
    const name = `response.${type}`
    const data = `{"type":"${name}","sequence_number":${number},${members}}`
    assert.equal(records[number], `event: ${name}\ndata: ${data}`)
  }
  assert.equal(records.length, expected.length)
})

test('a repeated reply has the same ids, and another call has others', () => {
  const idsOf = (call_id: string) => {
    const reply = formatResponsesReply({ ...options, call_id, events: EVENTS, svc }, parts)
    return reply.match(/(?:resp|rs|msg|fc|ctc)_\w{26}/g) ?? []
  }
  assert.deepEqual(idsOf('a'), idsOf('a'))
  assert.equal(new Set([...idsOf('a'), ...idsOf('b')]).size, 10)
})

const replyTo = (events: readonly ChatEvent[], credits_limit = false) =>
  JSON.parse(formatResponsesReply({ ...options, credits_limit, events, svc }, parts))

test('the end of an answer is its status', () => {
  const ended = (reason: StopReason, credits_limit?: boolean) => {
    const text: ChatEvent = { kind: 'text', choice: 0, text: 'Hi' }
    const stop: ChatEvent = { kind: 'stop', choice: 0, reason, stop_sequence: null }
    const { status, incomplete_details, output, svc: told } = replyTo([text, stop], credits_limit)
    return [status, incomplete_details?.reason, output[0].status, 'hint' in told]
  }
  assert.deepEqual(ended('end'), ['completed', undefined, 'completed', false])
  assert.deepEqual(ended('stop_sequence'), ['completed', undefined, 'completed', false])
  assert.deepEqual(ended('tool_calls', true), ['completed', undefined, 'completed', false])
  assert.deepEqual(ended('length'), ['incomplete', 'max_output_tokens', 'incomplete', false])
  assert.deepEqual(ended('length', true), ['incomplete', 'max_output_tokens', 'incomplete', true])
  assert.deepEqual(ended('content_filter', true), [
    'incomplete',
    'content_filter',
    'incomplete',
    false,
  ])
})

test('an answer without a word has an empty message, so that nobody asks again for one', () => {
  for (const events of [[], EVENTS.slice(0, 4)]) {
    const last = replyTo(events).output.at(-1)
    assert.equal(last.type, 'message')
    assert.deepEqual(last.content, [
      { type: 'output_text', annotations: [], logprobs: [], text: '' },
    ])
  }
})

test('thoughts and proofs are sealed for whoever asked, and for the items that are kept', () => {
  const events: ChatEvent[] = [
    { kind: 'thinking', text: 'Hm.' },
    { kind: 'tool_call', choice: 0, index: 0, id: 'call_1', name: 'f', signature: 'proof' },
    { kind: 'text', choice: 0, text: 'So.' },
    { kind: 'text_signature', choice: 0, signature: 'text proof' },
  ]
  const terms = { ...TERMS, shows_summary: false, stores_items: true }
  const answer = { ...optionsOf(terms), events, svc }
  const told = JSON.parse(formatResponsesReply(answer, parts))
  assert.ok(!JSON.stringify(told).includes('encrypted_content'))
  assert.deepEqual(told.output[0].summary, [])
  const opened = outputItems(answer, parts).map(({ type, encrypted_content: sealed }) => [
    type,
    typeof sealed === 'string' ? parts.reasoning.open(sealed) : undefined,
  ])
  const seal = { sealed_for: 'anthropic/x', thoughts: [] }
  assert.deepEqual(opened, [
    ['reasoning', { ...seal, call_signatures: { call_1: 'proof' }, text_signature: undefined }],
    ['function_call', undefined],
    ['message', undefined],
    ['reasoning', { ...seal, call_signatures: {}, text_signature: 'text proof' }],
  ])
  const asked = optionsOf({ ...terms, includes_sealed_reasoning: true, stores_items: false })
  const shown = JSON.parse(formatResponsesReply({ ...asked, events, svc }, parts))
  assert.match(shown.output[0].encrypted_content, /^svc1\./)
  // An item that nobody can send back would say nothing.
  const neither = optionsOf({ ...terms, stores_items: false })
  const { output } = JSON.parse(formatResponsesReply({ ...neither, events, svc }, parts))
  assert.equal(output.length, 3)
})

test('waiting is a record of its own, after the beginning', () => {
  const stream = new ResponsesStream(options, parts)
  const [created, in_progress, waiting] = stream.keepAlive().split('\n\n')
  assert.match(created ?? '', /^event: response\.created\n/)
  assert.match(in_progress ?? '', /^event: response\.in_progress\n/)
  assert.equal(waiting, 'event: keepalive\ndata: {"type":"keepalive","sequence_number":2}')
})

test('a text that is signed at its beginning stays one message, and its proof follows', () => {
  const events: ChatEvent[] = [
    { kind: 'text', choice: 0, text: 'Sunny ' },
    { kind: 'text_signature', choice: 0, signature: 'text proof' },
    { kind: 'text', choice: 0, text: 'in Rome.' },
    { kind: 'tool_call', choice: 0, index: 0, id: 'call_1', name: 'f' },
    { kind: 'stop', choice: 0, reason: 'tool_calls', stop_sequence: null },
  ]
  const stream = new ResponsesStream(optionsOf({ ...TERMS, stores_items: true }), parts)
  const text = events.map((event) => stream.write(event)).join('') + stream.finish(svc)
  const added = [...text.matchAll(/output_item\.added".*"output_index":(\d).*?"type":"(\w+)"/g)]
  assert.deepEqual(
    added.map(([, index, type]) => [index, type]),
    [
      ['0', 'message'],
      ['1', 'reasoning'],
      ['2', 'function_call'],
    ],
  )
  assert.match(text, /output_text\.done".*"Sunny in Rome\."/)
})
