// Properties of every answer in both formats. The checkers below read a stream as a client would and know
// nothing of the writers: what they collect must be what the events said.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../test/support/same-cases.ts'
import { NO_USAGE } from './answer.ts'
import { anthropicDialect } from './anthropic/dialect.ts'
import type { ChatEvent } from './chat-types.ts'
import { openAiDialect } from './openai/dialect.ts'
import { answers } from './test-answers.ts'
import { words } from './test-json.ts'

const created = new Date('2026-11-15T12:00:00Z')
const svc = {
  credits_used: 1n,
  balance_before: 3n,
  balance_after: 2n,
  billing_mode: 'user',
} as const

type Said = {
  text: string
  thinking: string
  signatures: string[]
  redacted: string[]
  calls: { id: string; name: string; arguments: string }[]
}

type SseRecord = { event: string | undefined; data: string }

function readRecords(text: string): SseRecord[] {
  assert.ok(text === '' || text.endsWith('\n\n'), 'a record is cut off')
  return text
    .split('\n\n')
    .filter((record) => record !== '' && !record.startsWith(':'))
    .map((record) => {
      const lines = record.split('\n')
      const data = lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice(6))
      const event = lines.find((line) => line.startsWith('event: '))?.slice(7)
      assert.equal(data.length + (event === undefined ? 0 : 1), lines.length, record)
      return { event, data: data.join('\n') }
    })
}

const DELTAS: Record<string, string[]> = {
  text: ['text_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
}

/** message_start (start delta* stop)* message_delta message_stop svc_usage; pings anywhere. */
function checkAnthropic(text: string): Said {
  const said: Said = { text: '', thinking: '', signatures: [], redacted: [], calls: [] }
  let state: 'before' | 'between' | 'block' | 'delta' | 'stopped' | 'over' = 'before'
  let index = -1
  let type = ''
  let signed = false
  for (const { event, data } of readRecords(text)) {
    const json = JSON.parse(data)
    if (event === 'svc_usage') {
      assert.equal(state, 'stopped')
      assert.deepEqual(json, { type: 'ping', credits_used: 1, balance_before: 3, balance_after: 2 })
      state = 'over'
      continue
    }
    assert.equal(json.type, event)
    if (event === 'ping') continue
    if (event === 'message_start') {
      assert.equal(state, 'before')
      assert.deepEqual(json.message.content, [])
      state = 'between'
    } else if (event === 'content_block_start') {
      assert.equal(state, 'between')
      index += 1
      assert.equal(json.index, index)
      const block = json.content_block
      type = block.type
      signed = false
      if (type === 'tool_use') {
        assert.deepEqual(block.input, {})
        said.calls.push({ id: block.id, name: block.name, arguments: '' })
      } else if (type === 'redacted_thinking') said.redacted.push(block.data)
      else assert.equal(block[type], '')
      state = 'block'
    } else if (event === 'content_block_delta') {
      assert.equal(state, 'block')
      assert.equal(json.index, index)
      const { delta } = json
      assert.equal(signed, false, 'a delta after the signature')
      assert.ok(DELTAS[type]?.includes(delta.type), `${delta.type} in a block of ${type}`)
      signed = delta.type === 'signature_delta'
      if (signed) said.signatures.push(delta.signature)
      else if (type === 'text') said.text += delta.text
      else if (type === 'thinking') said.thinking += delta.thinking
      else {
        const call = said.calls.at(-1)
        assert.ok(call)
        call.arguments += delta.partial_json
      }
    } else if (event === 'content_block_stop') {
      assert.equal(state, 'block')
      assert.equal(json.index, index)
      state = 'between'
    } else if (event === 'message_delta') {
      assert.equal(state, 'between')
      assert.ok(json.delta.stop_reason)
      assert.equal(typeof json.usage.output_tokens, 'number')
      state = 'delta'
    } else {
      assert.equal(event, 'message_stop')
      assert.equal(state, 'delta')
      state = 'stopped'
    }
  }
  assert.equal(state, 'over')
  return said
}

/** For each choice: role, deltas, finish; then usage if asked for, [DONE], the numbers. */
function checkOpenAi(text: string, include_usage: boolean): Map<number, Said> {
  const records = readRecords(text)
  assert.deepEqual(JSON.parse(records.pop()?.data ?? ''), {
    choices: [],
    svc: { credits_used: 1, balance_before: 3, balance_after: 2 },
  })
  assert.equal(records.pop()?.data, '[DONE]')
  const chunks = records.map(({ data }) => JSON.parse(data))
  if (include_usage) {
    const last = chunks.pop()
    assert.deepEqual(last.choices, [])
    assert.equal(last.usage.total_tokens, last.usage.prompt_tokens + last.usage.completion_tokens)
  }
  const choices = new Map<number, Said & { finished: boolean }>()
  for (const chunk of chunks) {
    assert.equal(chunk.object, 'chat.completion.chunk')
    assert.equal('usage' in chunk ? chunk.usage : 'none', include_usage ? null : 'none')
    assert.equal(chunk.id, chunks[0].id)
    assert.equal(chunk.choices.length, 1)
    const [{ index, delta, finish_reason }] = chunk.choices
    let said = choices.get(index)
    if (said === undefined) {
      assert.deepEqual(delta, { role: 'assistant', content: '', refusal: null })
      said = { text: '', thinking: '', signatures: [], redacted: [], calls: [], finished: false }
      choices.set(index, said)
      continue
    }
    assert.equal(said.finished, false, 'a chunk after the end of its choice')
    if (finish_reason !== null) {
      assert.deepEqual(delta, {})
      said.finished = true
      continue
    }
    assert.equal(Object.keys(delta).length, 1)
    said.text += delta.content ?? delta.refusal ?? ''
    said.thinking += delta.reasoning_content ?? ''
    for (const call of delta.tool_calls ?? []) {
      if ('id' in call) {
        assert.equal(call.index, said.calls.length)
        assert.equal(call.type, 'function')
        said.calls.push({ id: call.id, name: call.function.name, arguments: '' })
      }
      const open: Said['calls'][number] | undefined = said.calls[call.index]
      assert.ok(open, 'arguments of a call that was not opened')
      open.arguments += call.function.arguments
    }
  }
  for (const said of choices.values()) assert.ok(said.finished, 'a choice without end')
  return choices
}

function saidBy(events: readonly ChatEvent[]): Pick<Said, 'text' | 'thinking'> {
  let text = ''
  let thinking = ''
  for (const event of events) {
    if (event.kind === 'text' || event.kind === 'refusal') text += event.text
    if (event.kind === 'thinking') thinking += event.text
  }
  return { text, thinking }
}

function writeAll(
  dialect: typeof openAiDialect,
  events: readonly ChatEvent[],
  include_usage = false,
): string {
  const stream = dialect.openStream({ call_id: 'call', model: 'm', created, include_usage })
  const written = events.map((event) => stream.write(event) + stream.keepAlive())
  return written.join('') + stream.finish(svc)
}

test('any answer becomes a well-formed Anthropic stream that says the same', () => {
  fc.assert(
    fc.property(answers, ({ events, calls }) => {
      const said = checkAnthropic(writeAll(anthropicDialect, events))
      const expected = saidBy(events)
      assert.equal(said.text, expected.text)
      assert.equal(said.thinking, expected.thinking)
      assert.deepEqual(
        said.calls,
        calls.map(({ id, name, pieces }) => ({ id, name, arguments: pieces.join('') })),
      )
      const kinds = (kind: ChatEvent['kind']) => events.filter((event) => event.kind === kind)
      assert.equal(said.signatures.length, kinds('thinking_signature').length)
      assert.equal(said.redacted.length, kinds('redacted_thinking').length)
    }),
    { numRuns: 600 },
  )
})

test('any answer becomes a well-formed OpenAI stream that says the same', () => {
  fc.assert(
    fc.property(answers, fc.boolean(), ({ events, calls }, include_usage) => {
      const said = checkOpenAi(writeAll(openAiDialect, events, include_usage), include_usage).get(0)
      const expected = saidBy(events)
      assert.equal(said?.text, expected.text)
      assert.equal(said?.thinking, expected.thinking)
      assert.deepEqual(
        said?.calls,
        calls.map(({ id, name, pieces }) => ({ id, name, arguments: pieces.join('') || '{}' })),
      )
    }),
    { numRuns: 600 },
  )
})

test('several answers at once stay apart in an OpenAI stream', () => {
  const parts = fc.array(fc.tuple(fc.nat(3), words), { maxLength: 20 })
  fc.assert(
    fc.property(parts, (list) => {
      const events = list.map(([choice, text]): ChatEvent => ({ kind: 'text', choice, text }))
      const choices = checkOpenAi(writeAll(openAiDialect, events), false)
      for (const [choice, said] of choices) {
        const own = list.filter(([index]) => index === choice).map(([, text]) => text)
        assert.equal(said.text, own.join(''))
      }
    }),
  )
})

test('a whole answer says what the stream says', () => {
  fc.assert(
    fc.property(answers, ({ events }) => {
      const streamed = checkAnthropic(writeAll(anthropicDialect, events))
      const whole = JSON.parse(
        anthropicDialect.formatReply({ call_id: 'call', model: 'm', created, events, svc }),
      )
      type Block = { type: string; text?: string; thinking?: string; id?: string; input?: unknown }
      const blocks: Block[] = whole.content
      assert.equal(blocks.map(({ text }) => text ?? '').join(''), streamed.text)
      assert.equal(blocks.map(({ thinking }) => thinking ?? '').join(''), streamed.thinking)
      assert.deepEqual(
        blocks.filter(({ type }) => type === 'tool_use').map(({ id, input }) => ({ id, input })),
        streamed.calls.map((made) => ({ id: made.id, input: JSON.parse(made.arguments || '{}') })),
      )
      const [choice] = JSON.parse(
        openAiDialect.formatReply({ call_id: 'call', model: 'm', created, events, svc }),
      ).choices
      const { content, refusal } = choice.message
      const length = (content ?? '').length + (refusal ?? '').length
      assert.equal(length, streamed.text.length)
    }),
  )
})

test('an answer that is cut anywhere, translated or relayed, ends well-formed and as at its limit', () => {
  const usage = { ...NO_USAGE, input_tokens: 5, output_tokens: 7 }
  fc.assert(
    fc.property(answers, fc.nat(60), fc.boolean(), ({ events }, place, include_usage) => {
      for (const dialect of [openAiDialect, anthropicDialect]) {
        const options = { call_id: 'call', model: 'm', created, include_usage }
        const first: ChatEvent = { kind: 'start', id: 'theirs' }
        const said = [first, ...events.filter(({ kind }) => kind !== 'start' && kind !== 'stop')]
        const begun = said.slice(0, 1 + place)
        const writer = dialect.openStream(options)
        const translated = begun.map((event) => writer.write(event)).join('')
        const provider = dialect.openStream({ ...options, model: 'their-model' })
        const records = readRecords(begun.map((event) => provider.write(event)).join(''))
        const relay = dialect.openStream(options)
        const relayed = records
          .map(({ event, data }) => relay.relay({ name: event, data }))
          .join('')
        const cut = [
          translated + writer.reachLimit(usage) + writer.finish(svc),
          relayed + relay.reachLimit(usage) + relay.finish(svc),
        ]
        for (const text of cut) {
          if (dialect === openAiDialect) checkOpenAi(text, include_usage)
          else checkAnthropic(text)
          assert.equal(
            text.match(/"(finish_reason":"length|stop_reason":"max_tokens)"/g)?.length,
            1,
          )
          assert.doesNotMatch(text, /their-model/)
          if (include_usage || dialect === anthropicDialect) {
            assert.match(text, /"(completion_tokens|output_tokens)":7/)
          }
        }
      }
    }),
  )
})
