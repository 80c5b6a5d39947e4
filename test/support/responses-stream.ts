// Reads a stream of the Responses API as its documentation describes it, and fails where the stream does not keep to it:
// numbers without gaps, items and parts opened and closed once, ids that stay, deltas that add up. Knows nothing of
// the writer.

import assert from 'node:assert/strict'

type Part = { type: string; text?: string; refusal?: string }

export type Item = {
  id: string
  type: string
  status?: string
  role?: string
  content?: Part[]
  summary?: Part[]
  encrypted_content?: string
  call_id?: string
  name?: string
  namespace?: string
  arguments?: string
  input?: string
}

export type ResponseObject = {
  id: string
  object: string
  status: string
  completed_at: number | null
  output: Item[]
  usage: { input_tokens: number; output_tokens: number; total_tokens: number } | null
  error: { code: string; message: string } | null
  incomplete_details: { reason: string } | null
  svc?: { credits_used: number; hint?: string }
}

type StreamRecord = {
  type: string
  sequence_number: number
  response: ResponseObject
  output_index: number
  item: Item
  item_id: string
  content_index?: number
  summary_index?: number
  part: Part
  delta: string
  text?: string
  refusal?: string
  arguments?: string
  input?: string
  logprobs?: unknown[]
  code?: string
  message?: string
}

type TextKey = 'text' | 'refusal'
type CallKey = 'arguments' | 'input'
type OpenPart = { key: TextKey; part: Part; text: string; is_done: boolean }
type SeenItem = {
  item: Item
  parts: OpenPart[]
  /** Of a call. */
  text: string
  text_done: boolean
  is_done: boolean
}

export type CheckedStream = {
  /** Of the last record that holds one. */
  response: ResponseObject
  /** Of the record `error`, where the response has failed. */
  error: StreamRecord | undefined
}

const PREFIXES: Record<string, string> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
}

export function checkResponsesStream(text: string): CheckedStream {
  const records = readRecords(text)
  const [created, in_progress] = records
  assert.ok(created && in_progress, 'the stream has no beginning')
  assert.equal(created.type, 'response.created')
  assert.equal(in_progress.type, 'response.in_progress')
  assert.deepEqual(created.response, in_progress.response)
  checkBeginning(created.response)
  const seen: SeenItem[] = []
  const rest = records.slice(2)
  const at = rest.findIndex(({ type }) => /^response\.(completed|incomplete|failed)$/.test(type))
  const terminal = rest[at]
  assert.ok(terminal, 'the stream has no end')
  for (const record of rest.slice(0, at)) if (record.type !== 'keepalive') follow(record, seen)
  const { response } = terminal
  assert.equal(response.id, created.response.id, 'the id of the response changed')
  assert.equal(terminal.type, `response.${response.status}`)
  const last = rest.slice(at + 1)
  assert.deepEqual(
    last.map(({ type }) => type),
    response.status === 'failed' ? ['error'] : [],
  )
  checkEnd(response, seen)
  return { response, error: last[0] }
}

function readRecords(text: string): StreamRecord[] {
  assert.ok(text.endsWith('\n\n'), 'a record is cut off')
  const records = text.slice(0, -2).split('\n\n')
  return records.map((record, number) => {
    const [, name, data] = /^event: ([a-z_.]+)\ndata: (\{.*\})$/.exec(record) ?? []
    assert.ok(name !== undefined && data !== undefined, record)
    const json: StreamRecord = JSON.parse(data)
    assert.equal(json.type, name)
    assert.equal(json.sequence_number, number)
    return json
  })
}

function checkBeginning(response: ResponseObject): void {
  assert.match(response.id, /^resp_\w+$/)
  assert.equal(response.object, 'response')
  assert.equal(response.status, 'in_progress')
  assert.deepEqual(response.output, [])
  for (const name of ['completed_at', 'usage', 'error', 'incomplete_details'] as const) {
    assert.equal(response[name], null, name)
  }
}

function follow(record: StreamRecord, seen: SeenItem[]): void {
  const { type, output_index } = record
  if (type === 'response.output_item.added') return openItem(record, seen)
  const open = seen[output_index]
  assert.ok(open && !open.is_done, `${type} of an item that is not open`)
  if (type === 'response.output_item.done') return closeItem(record, open)
  assert.equal(record.item_id, open.item.id, 'the id of an item changed')
  if (/\.(content_part|reasoning_summary_part)\.added$/.test(type)) openPart(record, open)
  else if (/\.(content_part|reasoning_summary_part)\.done$/.test(type)) closePart(record, open)
  else if (/\.(function_call_arguments|custom_tool_call_input)\./.test(type)) {
    followCall(record, open)
  } else followText(record, open)
}

function openItem({ output_index, item }: StreamRecord, seen: SeenItem[]): void {
  assert.equal(output_index, seen.length, 'items are not numbered in order')
  assert.ok(!seen.some(({ item: { id } }) => id === item.id), 'two items have one id')
  assert.match(item.id, new RegExp(`^${PREFIXES[item.type]}_\\w+$`))
  if (item.type === 'message') assert.deepEqual(item.content, [])
  else if (item.type === 'reasoning') assert.deepEqual(item.summary, [])
  else assert.equal(item[callKey(item)], '')
  if (item.type !== 'reasoning') assert.equal(item.status, 'in_progress')
  seen.push({ item, parts: [], text: '', text_done: false, is_done: false })
}

function openPart(record: StreamRecord, { item, parts }: SeenItem): void {
  const { part } = record
  const is_summary = item.type === 'reasoning'
  const index = is_summary ? record.summary_index : record.content_index
  assert.equal(index, parts.length, 'parts are not numbered in order')
  assert.ok(
    parts.every(({ is_done }) => is_done),
    'two parts are open',
  )
  assert.equal(part.type === 'summary_text', is_summary)
  const key = part.type === 'refusal' ? 'refusal' : 'text'
  assert.equal(part[key], '')
  parts.push({ key, part, text: '', is_done: false })
}

/** Which events a part has is its own: text, refusal or summary. */
function followText(record: StreamRecord, { item, parts }: SeenItem): void {
  const [, kind = '', step = ''] = /^response\.([a-z_]+)\.(delta|done)$/.exec(record.type) ?? []
  const open = parts.at(-1)
  assert.ok(open && !open.is_done, `${record.type} outside a part`)
  assert.equal(kind.replace('reasoning_', '').replace('summary_text', 'summary'), partName(open))
  const index = item.type === 'reasoning' ? record.summary_index : record.content_index
  assert.equal(index, parts.length - 1)
  if (kind === 'output_text') assert.deepEqual(record.logprobs, [])
  if (step === 'delta') {
    assert.notEqual(record.delta, '')
    open.text += record.delta
  } else {
    assert.equal(record[open.key], open.text, 'the deltas do not add up')
    open.part = { ...open.part, [open.key]: open.text }
  }
}

function partName({ part }: OpenPart): string {
  return part.type === 'summary_text' ? 'summary' : part.type
}

function closePart({ part }: StreamRecord, { parts }: SeenItem): void {
  const open = parts.at(-1)
  assert.ok(open && !open.is_done, 'a part is closed that is not open')
  assert.deepEqual(part, open.part, 'a part is closed before its text, or as another')
  assert.equal(part[open.key], open.text)
  open.is_done = true
}

function followCall(record: StreamRecord, open: SeenItem): void {
  const key = callKey(open.item)
  const kind = key === 'arguments' ? 'function_call_arguments' : 'custom_tool_call_input'
  assert.equal(open.text_done, false, `${record.type} after the end of the call`)
  if (record.type === `response.${kind}.delta`) {
    open.text += record.delta
    return
  }
  assert.equal(record.type, `response.${kind}.done`)
  assert.equal(record[key], open.text, 'the deltas do not add up')
  open.text_done = true
}

function closeItem({ item }: StreamRecord, open: SeenItem): void {
  assert.ok(
    open.parts.every(({ is_done }) => is_done),
    'an item is closed while a part is open',
  )
  if (open.item.type.endsWith('_call'))
    assert.ok(open.text_done, 'a call is closed without its end')
  if (item.type !== 'reasoning') assert.match(item.status ?? '', /^(completed|incomplete)$/)
  assert.deepEqual(comparable(item), comparable(assemble(open, item.status)))
  open.item = item
  open.is_done = true
}

/** The item as the deltas say it. */
function assemble({ item, parts, text }: SeenItem, status: string | undefined): Item {
  const told = parts.map((open) => ({ ...open.part, [open.key]: open.text }))
  if (item.type === 'reasoning') return { ...item, summary: told }
  const ended = { ...item, ...(status !== undefined && { status }) }
  return item.type === 'message' ? { ...ended, content: told } : { ...ended, [callKey(item)]: text }
}

function callKey({ type }: Item): CallKey {
  return type === 'custom_tool_call' ? 'input' : 'arguments'
}

/** Seals come with the end of an item. */
function comparable({
  encrypted_content: _sealed,
  ...item
}: Item): Omit<Item, 'encrypted_content'> {
  return item
}

function checkEnd(response: ResponseObject, seen: readonly SeenItem[]): void {
  const { status, output, usage, error, incomplete_details, completed_at } = response
  if (status === 'failed') {
    assert.ok(error?.code)
    assert.ok(error.message)
    const said = seen.map((open) => (open.is_done ? open.item : assemble(open, 'incomplete')))
    assert.deepEqual(output.map(comparable), said.map(comparable))
    return
  }
  assert.ok(
    seen.every(({ is_done }) => is_done),
    'an item is open at the end',
  )
  assert.deepEqual(
    output,
    seen.map(({ item }) => item),
    'the response says something else than its stream',
  )
  assert.equal(error, null)
  assert.equal(incomplete_details === null, status === 'completed')
  assert.equal(completed_at === null, status !== 'completed')
  assert.ok(usage)
  assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens)
}
