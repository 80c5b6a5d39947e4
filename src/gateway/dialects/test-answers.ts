// Answers for tests: drawn as what is said, then cut into events whose order is drawn too.

import { fc } from '../../../test/support/same-cases.ts'
import type { ChatEvent } from './chat-types.ts'
import { keys, values, words } from './test-json.ts'

/** `pieces`: the JSON of its arguments. */
export type DrawnCall = { id: string; name: string; signature?: string; pieces: string[] }

const input = fc.option(fc.dictionary(keys, values, { maxKeys: 3 }), { freq: 4 })

const call: fc.Arbitrary<DrawnCall> = fc.record({
  id: fc.uuid(),
  name: fc.constantFrom('f', 'get_weather'),
  pieces: piecesOf(input),
})

/** JSON text in pieces; none for null. */
export function piecesOf(drawn: fc.Arbitrary<object | null>): fc.Arbitrary<string[]> {
  return fc
    .tuple(drawn, fc.array(fc.nat(40), { maxLength: 5 }))
    .map(([value, cuts]) => (value === null ? [] : cut(JSON.stringify(value), cuts)))
}

function cut(text: string, cuts: readonly number[]): string[] {
  const places = [0, ...cuts.map((place) => Math.min(place, text.length)).sort((a, b) => a - b)]
  return places.map((place, at) => text.slice(place, places[at + 1] ?? text.length))
}

export const speech: fc.Arbitrary<ChatEvent> = fc.oneof(
  words.map((text): ChatEvent => ({ kind: 'text', choice: 0, text })),
  words.map((text): ChatEvent => ({ kind: 'refusal', choice: 0, text })),
  words.map((text): ChatEvent => ({ kind: 'thinking', text })),
  words.map((signature): ChatEvent => ({ kind: 'thinking_signature', signature })),
  words.map((data): ChatEvent => ({ kind: 'redacted_thinking', data })),
  fc.nat(1000).map(
    (count): ChatEvent => ({
      kind: 'usage',
      raw: null,
      usage: {
        input_tokens: count,
        cache_read_tokens: 1,
        cache_write_5m_tokens: 2,
        cache_write_1h_tokens: 3,
        output_tokens: count,
        reasoning_tokens: 0,
      },
    }),
  ),
)

/** Calls open in order; their fragments and all speech mix freely in between. */
export function answersOf(drawn: {
  speech: fc.Arbitrary<ChatEvent>
  call: fc.Arbitrary<DrawnCall>
  stop: fc.Arbitrary<Extract<ChatEvent, { kind: 'stop' }>['reason'] | null>
}) {
  return fc
    .record({
      speech: fc.array(drawn.speech, { maxLength: 12 }),
      calls: fc.array(drawn.call, { maxLength: 4 }),
      order: fc.array(fc.nat(), { minLength: 1, maxLength: 60 }),
      stop: drawn.stop,
    })
    .map(({ speech: said, calls, order, stop }) => {
      const events: ChatEvent[] = [{ kind: 'start', id: 'answer-1' }, ...mix(said, calls, order)]
      if (stop) events.push({ kind: 'stop', choice: 0, reason: stop, stop_sequence: null })
      return { events, calls }
    })
}

export const answers = answersOf({ speech, call, stop: fc.constantFrom('end', null) })

function mix(
  said: readonly ChatEvent[],
  calls: readonly DrawnCall[],
  order: readonly number[],
): ChatEvent[] {
  const events: ChatEvent[] = []
  const waiting = [...said]
  const fragments = calls.map(({ pieces }) => [...pieces])
  let opened = 0
  for (let step = 0; ; step += 1) {
    const sources: (() => void)[] = []
    if (waiting.length > 0) sources.push(() => events.push(...waiting.splice(0, 1)))
    const next = calls[opened]
    if (next !== undefined) {
      sources.push(() => {
        const { pieces: _pieces, ...named } = next
        events.push({ kind: 'tool_call', choice: 0, index: opened, ...named })
        opened += 1
      })
    }
    for (const [index, rest] of fragments.slice(0, opened).entries()) {
      if (rest.length === 0) continue
      sources.push(() => {
        const fragment = rest.shift() ?? ''
        events.push({ kind: 'tool_arguments', choice: 0, index, fragment })
      })
    }
    if (sources.length === 0) return events
    sources[(order[step % order.length] ?? 0) % sources.length]?.()
  }
}
