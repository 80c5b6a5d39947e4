// Properties of every response, streamed and whole. The checker reads a stream as its documentation says and knows
// nothing of the writer; what it has read must be what the events said.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  checkResponsesStream,
  type Item,
  type ResponseObject,
} from '../../../../test/support/responses-stream.ts'
import { fc } from '../../../../test/support/same-cases.ts'
import type { ChatEvent } from '../chat-types.ts'
import { answersOf, piecesOf, speech } from '../test-answers.ts'
import { keys, values, words } from '../test-json.ts'
import { formatResponsesReply, outputItems } from './reply.ts'
import { ResponsesStream } from './stream.ts'
import type { OutputItem, ResponsesTerms } from './terms.ts'
import { FAULT, optionsOf, parts, svc, TOO_LONG_BODY, TOOLS } from './test-reply.ts'

const LONG = process.env['SVC_LONG'] === '1'
const RUNS = { numRuns: LONG ? 10_000 : 150 }

const signature = fc.option(fc.string({ maxLength: 5 }), { nil: undefined })
const named = (names: string[]) => ({ id: fc.uuid(), name: fc.constantFrom(...names) })
const call = fc
  .tuple(
    fc.oneof(
      fc.record({
        ...named(['f', 'tools__look']),
        pieces: piecesOf(fc.option(fc.dictionary(keys, values, { maxKeys: 3 }), { freq: 4 })),
      }),
      fc.record({ ...named(['run']), pieces: piecesOf(fc.record({ input: words })) }),
    ),
    signature,
  )
  .map(([drawn, proof]) => ({ ...drawn, ...(proof !== undefined && { signature: proof }) }))

const answers = answersOf({
  speech: fc.oneof(
    { weight: 6, arbitrary: speech },
    {
      weight: 1,
      arbitrary: words.map(
        (proof): ChatEvent => ({ kind: 'text_signature', choice: 0, signature: proof }),
      ),
    },
  ),
  call,
  stop: fc.constantFrom(null, 'end', 'tool_calls', 'stop_sequence', 'length', 'content_filter'),
})

const terms = fc.record({
  echo: fc.constant({}),
  tools: fc.constant(TOOLS),
  shows_summary: fc.boolean(),
  includes_sealed_reasoning: fc.boolean(),
  sealed_for: fc.constant('anthropic/x'),
  stores_items: fc.boolean(),
})

test('any answer becomes a stream that keeps to the documentation and says the same', () => {
  fc.assert(
    fc.property(answers, terms, ({ events, calls }, agreed) => {
      const { stores_items, includes_sealed_reasoning } = agreed
      const stream = new ResponsesStream(optionsOf(agreed), parts)
      const written = events.map((event) => stream.write(event) + stream.keepAlive()).join('')
      const kept = stores_items ? stream.items() : []
      const { response } = checkResponsesStream(written + stream.finish(svc))
      checkSaid(response, events, agreed)
      checkCalls(response, calls)
      const proofs = events.flatMap(proofIn)
      assert.deepEqual(proofsOf(response.output), includes_sealed_reasoning ? proofs : [])
      if (!stores_items) return
      assert.deepEqual(kept.map(withoutSeal), response.output.map(withoutSeal))
      assert.deepEqual(proofsOf(kept), proofs)
    }),
    RUNS,
  )
})

test('a whole reply is the response that the stream ends with, and its items are those kept', () => {
  fc.assert(
    fc.property(answers, terms, ({ events }, agreed) => {
      const stream = new ResponsesStream(optionsOf(agreed), parts)
      const written = events.map((event) => stream.write(event)).join('')
      const { response } = checkResponsesStream(written + stream.finish(svc))
      const answer = { ...optionsOf(agreed), events, svc }
      const whole: ResponseObject = JSON.parse(formatResponsesReply(answer, parts))
      const items = response.output.map(withoutSeal)
      assert.deepEqual(whole.output.map(withoutSeal), items)
      assert.deepEqual({ ...whole, output: [] }, { ...response, output: [] })
      assert.deepEqual(outputItems(answer, parts).map(withoutSeal), items)
    }),
    RUNS,
  )
})

test('an answer that is cut or fails anywhere ends as the documentation says', () => {
  fc.assert(
    fc.property(answers, terms, fc.nat(40), ({ events }, agreed, place) => {
      const begin = () => {
        const stream = new ResponsesStream(optionsOf(agreed), parts)
        const begun = events.filter(({ kind }) => kind !== 'stop').slice(0, place)
        return { stream, written: begun.map((event) => stream.write(event)).join('') }
      }
      const usage = { ...NO_COUNT, input_tokens: 5, output_tokens: 7 }
      const cut = begin()
      const limit = cut.stream.reachLimit(usage)
      const { response } = checkResponsesStream(cut.written + limit + cut.stream.finish(svc))
      assert.deepEqual(response.incomplete_details, { reason: 'max_output_tokens' })
      assert.equal(response.usage?.total_tokens, 12)
      assert.match(response.svc?.hint ?? '', /credits/)
      const failed = begin()
      const { error, response: told } = checkResponsesStream(
        failed.written + failed.stream.fail(FAULT),
      )
      assert.equal(error?.code, 'provider_error')
      assert.deepEqual(told.error, { code: 'provider_error', message: 'The provider failed.' })
    }),
    RUNS,
  )
})

const NO_COUNT = {
  input_tokens: 0,
  cache_read_tokens: 0,
  cache_write_5m_tokens: 0,
  cache_write_1h_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
}

function checkSaid(
  { output }: ResponseObject,
  events: readonly ChatEvent[],
  { shows_summary }: ResponsesTerms,
): void {
  let text = ''
  let thought = ''
  for (const event of events) {
    if (event.kind === 'text' || event.kind === 'refusal') text += event.text
    if (event.kind === 'thinking') thought += event.text
  }
  const joined = output.flatMap(({ content = [] }) => content)
  assert.equal(joined.map((part) => part.text ?? part.refusal).join(''), text)
  const summary = output.flatMap((item) => item.summary ?? []).map((part) => part.text)
  assert.equal(summary.join(''), shows_summary ? thought : '')
}

function checkCalls(
  { output, status }: ResponseObject,
  calls: readonly { id: string; name: string; pieces: readonly string[] }[],
): void {
  const made = output.filter(({ call_id }) => call_id !== undefined)
  assert.equal(made.length, calls.length)
  for (const { id, name, pieces } of calls) {
    const item = made.find(({ call_id }) => call_id === id)
    assert.equal(item?.name, TOOLS.get(name)?.name ?? name)
    assert.equal(item?.namespace, TOOLS.get(name)?.namespace)
    const json = pieces.join('')
    if (name === 'run') assert.equal(item?.input, JSON.parse(json).input)
    else assert.equal(item?.arguments, json === '' && status === 'completed' ? '{}' : json)
  }
}

function proofIn(event: ChatEvent): string[] {
  if (event.kind === 'redacted_thinking') return [event.data]
  return 'signature' in event && event.signature !== undefined ? [event.signature] : []
}

/** Those that the seals hold. */
function proofsOf(items: readonly (Item | OutputItem)[]): string[] {
  return items.flatMap(({ encrypted_content }) => {
    if (typeof encrypted_content !== 'string') return []
    const reasoning = parts.reasoning.open(encrypted_content)
    assert.equal(reasoning?.sealed_for, 'anthropic/x')
    const thoughts = reasoning.thoughts.map((thought) =>
      thought.kind === 'thinking' ? thought.signature : thought.data,
    )
    const texts = reasoning.text_signature === undefined ? [] : [reasoning.text_signature]
    return [...thoughts, ...texts, ...Object.values(reasoning.call_signatures)]
  })
}

function withoutSeal(item: Item | OutputItem) {
  const { encrypted_content: _sealed, ...rest } = item
  return rest
}

test('codes of faults are those that Codex does not repeat, and ours in the error record', () => {
  const codesOf = (body: string) => {
    const stream = new ResponsesStream(optionsOf(), parts)
    const { response, error } = checkResponsesStream(stream.fail(body))
    return [response.error?.code, error?.code]
  }
  const filtered = '{"error":{"code":"content_filtered","message":"No."}}'
  assert.deepEqual(codesOf(filtered), ['invalid_prompt', 'content_filtered'])
  assert.deepEqual(codesOf(TOO_LONG_BODY), ['context_length_exceeded', 'bad_request'])
  assert.deepEqual(codesOf(FAULT), ['provider_error', 'provider_error'])
})
