import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../test/support/same-cases.ts'
import { createAnthropicReader } from './anthropic/frames.ts'
import type { FrameReader } from './exchange.ts'
import { isRecord, type JsonRecord, recordOf } from './json-values.ts'
import { createOpenaiReader } from './openai/frames.ts'
import { TextTemplate } from './text-template.ts'
import { createToolNames } from './tool-names.ts'

const names = createToolNames({ pattern: /./, max_length: 64 })

/** Texts that are hard to tell from their surroundings, or not to be written as they are. */
const text = fc.oneof(
  fc.constantFrom(
    '',
    'content',
    'text',
    'null',
    ',',
    ':',
    '}',
    '"',
    '\\',
    '\n',
    '\u2028',
    'é🦊',
    '","content":"x',
  ),
  fc.string({ unit: 'binary', maxLength: 20 }),
)

test('a text is cut out of a chunk exactly as parsing would find it', () => {
  const template = new TextTemplate((chunk) => recordOf(chunk)['text'])
  template.learn('{"id":1,"text":"one","end":null}', 'one')
  assert.equal(template.match('{"id":1,"text":"two","end":null}'), 'two')
  assert.equal(template.match('{"id":1,"text":"","end":null}'), '')
  for (const other of [
    '{"id":2,"text":"two","end":null}',
    '{"id":1,"text":"two","end":1}',
    '{"id":1,"text":"a\\nb","end":null}',
    '{"id":1,"text":"a\nb","end":null}',
    '{"id":1,"text":"a","text":"b","end":null}',
    '{"id":1,"text","end":null}',
    '',
  ]) {
    assert.equal(template.match(other), undefined, other)
  }
})

test('a text that also stands in another place is not learned from there', () => {
  const template = new TextTemplate((chunk) => recordOf(chunk)['text'])
  template.learn('{"text":"\\u0061","name":"a"}', 'a')
  assert.equal(template.match('{"text":"\\u0061","name":"b"}'), undefined)
})

test('a text that is punctuation is not mistaken for the structure around it', () => {
  for (const punctuation of [',', ':', '{', '":"', '},{']) {
    const template = new TextTemplate((chunk) => recordOf(chunk)['text'])
    const data = JSON.stringify({ text: punctuation, logprobs: [{ token: punctuation }], end: 'x' })
    assert.doesNotThrow(() => template.learn(data, punctuation), punctuation)
  }
})

test('a stream whose chunks are never alike is soon left to the parser', () => {
  const template = new TextTemplate((chunk) => recordOf(chunk)['text'])
  for (let id = 0; id < 9; id++) template.learn(`{"id":${id},"text":"x"}`, 'x')
  assert.equal(template.match('{"id":8,"text":"y"}'), undefined)
})

test('streams read with and without parsing give the same events', () => {
  const delta = fc.record(
    { role: fc.constant('assistant'), content: fc.option(text), refusal: fc.option(text) },
    { requiredKeys: [] },
  )
  const choice = fc.record({
    index: fc.constantFrom(0, 0, 0, 1),
    delta,
    logprobs: fc.option(
      fc.record({ content: fc.array(fc.record({ token: text, bytes: fc.constant([44]) })) }),
    ),
    finish_reason: fc.constantFrom(null, null, null, 'stop'),
  })
  const openai = fc.array(
    fc.record(
      { choices: fc.array(choice, { maxLength: 2 }), obfuscation: text },
      { requiredKeys: ['choices'] },
    ),
  )
  const block = fc.oneof(
    fc.record({ type: fc.constant('text_delta'), text }),
    fc.record({ type: fc.constant('thinking_delta'), thinking: text }),
    fc.record({ type: fc.constant('input_json_delta'), partial_json: text }),
  )
  const event = fc.record({ type: fc.constant('content_block_delta'), delta: block })
  fc.assert(
    fc.property(openai, fc.array(event), (chunks, events) => {
      compare(() => createOpenaiReader(names), chunks)
      compare(() => createAnthropicReader({ names, json_tool: undefined }), events)
    }),
    { numRuns: 500 },
  )
})

function compare(createReader: () => FrameReader, records: readonly JsonRecord[]): void {
  const quick = createReader()
  const thorough = createReader()
  for (const record of records) {
    const data = JSON.stringify(record)
    const parsed: unknown = JSON.parse(data)
    assert.ok(isRecord(parsed))
    const known = quick.recognise?.(data) ?? quick.readChunk(parsed, data)
    assert.deepEqual(known, thorough.readChunk(parsed, data))
  }
}
