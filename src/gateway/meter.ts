// Counts what an answer used: what the provider reported where it did, an honest estimate where it did not.

import type { ChatModel } from '../catalog/models.ts'
import type { ChatEvent, Usage } from './dialects/chat-types.ts'
import { countTokens, countTokensCautiously } from './prompt-size.ts'

/** Counting short pieces one by one overcounts; this much is gathered first, and no more is kept. */
const COUNT_AT_LENGTH = 4_000

export type Metered = {
  usage: Usage
  /** Rests, in part or whole, on our own count. */
  estimated: boolean
  /** The provider's own words, for the record. */
  raw: unknown
}

export class Meter {
  readonly #model: ChatModel
  readonly #estimatePrompt: () => number
  #usage: Usage | undefined
  #raw: unknown
  #stopped = false
  #is_final = false
  #text = ''
  #counted = 0
  #counted_cautiously: number | undefined
  /** Whether anything was produced that a client can have seen. */
  has_output = false
  /** Of the output so far: what it counts for at most can be told from it without counting. */
  characters = 0

  /**
   * `estimatePrompt`: our own count, asked for only if the provider never says. `counts_along`: `countOutput` will
   * be asked for.
   */
  constructor(options: {
    model: ChatModel
    estimatePrompt: () => number
    counts_along?: boolean
  }) {
    this.#model = options.model
    this.#estimatePrompt = options.estimatePrompt
    this.#counted_cautiously = options.counts_along ? 0 : undefined
  }

  observe(events: readonly ChatEvent[]): void {
    if (events.some((event) => event.kind === 'stop')) this.#stopped = true
    for (const event of events) this.#observeOne(event)
  }

  /** What the provider has said so far. */
  get reported(): Usage | undefined {
    return this.#usage
  }

  /** Whether the provider has said that nothing more comes. */
  get stopped(): boolean {
    return this.#stopped
  }

  /** The output so far, by our own cautious count. */
  countOutput(): number {
    return (this.#counted_cautiously ?? 0) + countTokensCautiously(this.#text, this.#model)
  }

  conclude(): Metered {
    if (this.#usage && this.#is_final)
      return { usage: this.#usage, estimated: false, raw: this.#raw }
    this.#count()
    const reported = this.#usage ?? nothingBut(this.#estimatePrompt())
    const output_tokens = Math.max(reported.output_tokens, this.#counted)
    return { usage: { ...reported, output_tokens }, estimated: true, raw: this.#raw ?? null }
  }

  /** Of an answer that ended because the hold was used up: by the same count. */
  concludeAtLimit(): Metered {
    const output_tokens = this.countOutput()
    const metered = this.conclude()
    return { ...metered, usage: { ...metered.usage, output_tokens } }
  }

  /** The prompt, and no more output than was passed on: totals so far may have thoughts in them that nobody saw. */
  concludeDelivered(): Metered {
    const metered = this.conclude()
    if (!metered.estimated) return metered
    const usage = { ...metered.usage, output_tokens: this.#counted, reasoning_tokens: 0 }
    return { ...metered, usage }
  }

  #observeOne(event: ChatEvent): void {
    switch (event.kind) {
      case 'text':
      case 'refusal':
      case 'thinking':
        this.#produced(event.text)
        return
      case 'tool_call':
        this.#produced(event.name)
        return
      case 'tool_arguments':
        this.#produced(event.fragment)
        return
      case 'usage':
        this.#usage = event.usage
        this.#raw = event.raw
        // Totals that come with or after the stop are the last word; earlier ones are of an unfinished answer.
        this.#is_final = this.#stopped
        return
      case 'start':
      case 'stop':
      case 'text_signature':
      case 'thinking_signature':
      case 'redacted_thinking':
        return
    }
  }

  #produced(text: string): void {
    if (text === '') return
    this.has_output = true
    this.characters += text.length
    this.#text += text
    if (this.#text.length >= COUNT_AT_LENGTH) this.#count()
  }

  #count(): void {
    this.#counted += countTokens(this.#text, this.#model)
    if (this.#counted_cautiously !== undefined) {
      this.#counted_cautiously += countTokensCautiously(this.#text, this.#model)
    }
    this.#text = ''
  }
}

function nothingBut(input_tokens: number): Usage {
  return {
    input_tokens,
    cache_read_tokens: 0,
    cache_write_5m_tokens: 0,
    cache_write_1h_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
  }
}
