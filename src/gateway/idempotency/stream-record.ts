// A stream as it will be told again: what came in many pieces is put together, and the order stays.

import type { ChatEvent, Usage } from '../dialects/chat-types.ts'
import type { UpstreamFrame } from '../upstreams/contract.ts'
import { RESULT_MAX_BYTES } from './kept-result.ts'

export class StreamRecord {
  #events: ChatEvent[] = []
  /** The last event of each answer: what goes on with it is added to it. */
  readonly #last = new Map<number, ChatEvent>()
  #usage: Extract<ChatEvent, { kind: 'usage' }> | undefined
  #characters = 0

  add(frames: readonly UpstreamFrame[]): void {
    for (const { events } of frames) for (const event of events) this.#add(event)
  }

  /** Where we ended it: with the end that the provider would have given it at its limit. */
  reachLimit(usage: Usage): void {
    this.#add({ kind: 'usage', usage, raw: null })
    this.#add({ kind: 'stop', choice: 0, reason: 'length', stop_sequence: null })
  }

  /** Undefined where there was more than is kept. */
  read(): ChatEvent[] | undefined {
    if (this.#is_full) return undefined
    return this.#usage ? [...this.#events, this.#usage] : this.#events
  }

  get #is_full(): boolean {
    return this.#characters > RESULT_MAX_BYTES
  }

  #add(event: ChatEvent): void {
    if (event.kind === 'usage') {
      this.#usage = { ...event, raw: null }
      return
    }
    this.#characters += lengthOf(event)
    if (this.#is_full) {
      // It will not be kept; nothing of it has to stay in memory.
      this.#events = []
      return
    }
    const choice = 'choice' in event ? event.choice : 0
    if (goOn(this.#last.get(choice), event)) return
    const own = { ...event }
    this.#last.set(choice, own)
    this.#events.push(own)
  }
}

/** Whether `last` could take it up. */
function goOn(last: ChatEvent | undefined, event: ChatEvent): boolean {
  if (event.kind === 'text' && last?.kind === 'text') last.text += event.text
  else if (event.kind === 'refusal' && last?.kind === 'refusal') last.text += event.text
  else if (event.kind === 'thinking' && last?.kind === 'thinking') last.text += event.text
  else if (event.kind !== 'tool_arguments' || last?.kind !== 'tool_arguments') return false
  else if (last.index !== event.index) return false
  else last.fragment += event.fragment
  return true
}

function lengthOf(event: ChatEvent): number {
  if ('text' in event) return event.text.length
  if ('fragment' in event) return event.fragment.length
  if ('data' in event) return event.data.length
  return 'signature' in event ? (event.signature?.length ?? 0) : 0
}
