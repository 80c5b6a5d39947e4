// The installed clients read what we write. Each puts a stream together in its own way and refuses what it does not
// expect, so they are judges beside the documentation.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpenAI as createOpenAI6 } from '@ai-sdk/openai'
import { createOpenAI as createOpenAI7 } from 'ai-sdk-openai-4'
import OpenAI from 'openai'
import OpenAI6 from 'openai-6'
import { checkResponsesStream, type Item } from '../../../../test/support/responses-stream.ts'
import type { ChatEvent } from '../chat-types.ts'
import { formatResponsesReply } from './reply.ts'
import { ResponsesStream } from './stream.ts'
import { FAULT, optionsOf, parts, svc, TERMS } from './test-reply.ts'

const START: ChatEvent = { kind: 'start', id: 'theirs' }
const THOUGHT: ChatEvent[] = [
  { kind: 'thinking', text: 'Let me ' },
  { kind: 'thinking', text: 'think.' },
  { kind: 'thinking_signature', signature: 'sig' },
  { kind: 'redacted_thinking', data: 'opaque' },
]
const TEXT: ChatEvent[] = [
  { kind: 'text', choice: 0, text: 'Hello ' },
  { kind: 'text', choice: 0, text: '“world”.\n' },
]
/** Two calls that are open at once, one of a tool with a namespace. */
const CALLS: ChatEvent[] = [
  { kind: 'tool_call', choice: 0, index: 0, id: 'call_a', name: 'weather', signature: 'proof' },
  { kind: 'tool_arguments', choice: 0, index: 0, fragment: '{"city":' },
  { kind: 'tool_call', choice: 0, index: 1, id: 'call_b', name: 'tools__look' },
  { kind: 'tool_arguments', choice: 0, index: 0, fragment: '"Rome"}' },
]
const TEXT_CALL: ChatEvent[] = [
  { kind: 'tool_call', choice: 0, index: 2, id: 'call_c', name: 'run' },
  { kind: 'tool_arguments', choice: 0, index: 2, fragment: '{"input":"ls \\"a' },
  { kind: 'tool_arguments', choice: 0, index: 2, fragment: '\\""}' },
]
const REFUSAL: ChatEvent = { kind: 'refusal', choice: 0, text: 'No.' }
const LENGTH: ChatEvent = { kind: 'stop', choice: 0, reason: 'length', stop_sequence: null }

const ANSWERS: Record<string, ChatEvent[]> = {
  text: TEXT,
  nothing: [],
  refusal: [...TEXT, REFUSAL],
  'thoughts and text': [...THOUGHT, ...TEXT],
  'thoughts, text and calls': [...THOUGHT, ...TEXT, ...CALLS, ...TEXT_CALL, ...TEXT],
  'thoughts that were cut off': [...THOUGHT.slice(0, 2), LENGTH],
  'a call that was cut off': [...TEXT, ...CALLS.slice(0, 2), LENGTH],
}

const agreed = { ...TERMS, includes_sealed_reasoning: true, stores_items: true }

function streamOf(events: readonly ChatEvent[]): string {
  const stream = new ResponsesStream(optionsOf(agreed), parts)
  const written = [START, ...events].map((event) => stream.write(event) + stream.keepAlive())
  return written.join('') + stream.finish(svc)
}

/** What was said, as one text for each kind; calls by their ids, since they end in any order. */
function saidIn(output: readonly Item[]) {
  const content = output.flatMap((item) => item.content ?? [])
  return {
    text: content.map((part) => part.text ?? part.refusal).join(''),
    thought: output.flatMap((item) => item.summary ?? []).map((part) => part.text),
    calls: Object.fromEntries(
      output
        .filter(({ call_id }) => call_id !== undefined)
        .map(({ call_id, arguments: given, input }) => [call_id, given ?? JSON.stringify(input)]),
    ),
  }
}

function serve(body: string, type = 'text/event-stream') {
  return async () => new Response(body, { headers: { 'content-type': type } })
}

const asked = { model: 'claude-sonnet-4', input: 'Hello' }

for (const [name, events] of Object.entries(ANSWERS)) {
  test(`OpenAI’s clients put ${name} together as the last record has it`, async () => {
    const body = streamOf(events)
    const { response } = checkResponsesStream(body)
    const options = { apiKey: 'x', fetch: serve(body), maxRetries: 0 }
    for (const final of [
      await new OpenAI(options).responses.stream(asked).finalResponse(),
      await new OpenAI6(options).responses.stream(asked).finalResponse(),
    ]) {
      assert.deepEqual(saidIn(JSON.parse(JSON.stringify(final.output))), saidIn(response.output))
      assert.equal(final.status, response.status)
      assert.deepEqual(final.usage, response.usage)
      assert.deepEqual(Reflect.get(final, 'svc'), response.svc)
    }
  })

  test(`the default provider of the AI SDK reads ${name}, streamed and whole`, async () => {
    const body = streamOf(events)
    const { response } = checkResponsesStream(body)
    const whole = formatResponsesReply({ ...optionsOf(agreed), events, svc }, parts)
    const expected = saidIn(response.output)
    const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello' }] }]
    for (const create of [createOpenAI6, createOpenAI7]) {
      const streamed = create({ apiKey: 'x', fetch: serve(body) })(asked.model)
      const { stream } = await streamed.doStream({ prompt })
      const read = await readAll<StreamPart>(stream)
      assert.deepEqual(
        read.filter(({ type }) => type === 'error'),
        [],
      )
      const said = { text: joined(read, 'text-delta'), calls: callsIn(read) }
      assert.deepEqual(said, { text: expected.text, calls: expected.calls })
      assert.equal(joined(read, 'reasoning-delta'), expected.thought.join(''))
      const given = create({ apiKey: 'x', fetch: serve(whole, 'application/json') })(asked.model)
      const { content } = await given.doGenerate({ prompt })
      assert.equal(joined(content, 'text'), expected.text)
      assert.deepEqual(callsIn(content), expected.calls)
    }
  })
}

type StreamPart = {
  type: string
  delta?: unknown
  text?: unknown
  toolCallId?: unknown
  input?: unknown
}

async function readAll<Piece>(stream: AsyncIterable<Piece>): Promise<Piece[]> {
  const read: Piece[] = []
  for await (const piece of stream) read.push(piece)
  return read
}

function joined(read: readonly StreamPart[], type: string): string {
  return read
    .filter((part) => part.type === type)
    .map(({ delta, text }) => delta ?? text)
    .join('')
}

function callsIn(read: readonly StreamPart[]) {
  const made = read.filter(({ type }) => type === 'tool-call')
  return Object.fromEntries(made.map(({ toolCallId, input }) => [toolCallId, input]))
}

test('a fault in the middle reaches whoever reads', async () => {
  const stream = new ResponsesStream(optionsOf(), parts)
  const body = [START, ...TEXT].map((event) => stream.write(event)).join('') + stream.fail(FAULT)
  const client = new OpenAI({ apiKey: 'x', fetch: serve(body), maxRetries: 0 })
  await assert.rejects(client.responses.stream(asked).finalResponse(), /The provider failed/)
  const raw = await client.responses.create({ ...asked, stream: true })
  await assert.rejects(readAll(raw), /The provider failed/)
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello' }] }]
  for (const create of [createOpenAI6, createOpenAI7]) {
    const model = create({ apiKey: 'x', fetch: serve(body) })(asked.model)
    const read = await readAll<StreamPart>((await model.doStream({ prompt })).stream)
    assert.ok(read.some(({ type }) => type === 'error'))
  }
})
