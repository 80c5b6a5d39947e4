// Nearly every chunk of a stream is the one before with another text. Once such a chunk has been parsed, those
// that differ from it in nothing but the characters of its text need no parsing: their text can be cut out.

import { parseJson } from './json-values.ts'

/** All that cannot stand in a JSON string as it is, and a little more. */
const NEEDS_PARSING = /["\\\p{Cc}]/u
/** So many chunks in a row that were like none before: this stream is not of that kind. */
const MISSES_MAX = 4
const PROBE = 'probe'

export class TextTemplate {
  readonly #textIn: (chunk: unknown) => unknown
  #before = ''
  #after = ''
  #misses = 0

  /** `textIn` finds the text in a parsed chunk. */
  constructor(textIn: (chunk: unknown) => unknown) {
    this.#textIn = textIn
  }

  /** The text of a chunk that is like the one learned; undefined: it has to be parsed. */
  match(data: string): string | undefined {
    const before = this.#before
    const after = this.#after
    const text_end = data.length - after.length
    if (before === '' || text_end < before.length) return undefined
    // As fast as memory is compared; `startsWith` goes from character to character.
    if (data.slice(text_end) !== after || data.slice(0, before.length) !== before) return undefined
    const text = data.slice(before.length, text_end)
    if (NEEDS_PARSING.test(text)) return undefined
    this.#misses = 0
    return text
  }

  /** From a chunk that was parsed and holds this text and nothing else of meaning. */
  learn(data: string, text: string): void {
    if (this.#misses >= MISSES_MAX) return
    this.#misses += 1
    const quoted = JSON.stringify(text)
    const at = data.lastIndexOf(quoted)
    if (at === -1) return
    const before = data.slice(0, at + 1)
    const after = data.slice(at + quoted.length - 1)
    // The same characters may stand in another place: only a text put there and found again proves it.
    if (this.#textIn(parseJson(before + PROBE + after)) !== PROBE) return
    this.#before = before
    this.#after = after
  }
}
