// Takes what a tool of free text is given out of the JSON that it travels in, `{"input":"…"}`, while that arrives.

import { freeTextOf } from '../openai/reply.ts'

const OPENING = /^\s*\{\s*"input"\s*:\s*"/
const HIGH_SURROGATE = /[\ud800-\udbff]$/

export class FreeText {
  /** As far as it is known. */
  text = ''
  #json = ''
  /** How far the text was read in the JSON; undefined until it begins. */
  #place: number | undefined
  #is_over = false

  /** What became known with this fragment. */
  read(fragment: string): string {
    this.#json += fragment
    this.#place ??= OPENING.exec(this.#json)?.[0].length
    if (this.#place === undefined || this.#is_over) return ''
    const end = endOfWhole(this.#json, this.#place)
    this.#is_over = this.#json.charAt(end) === '"'
    return this.#add(this.#json.slice(this.#place, end), end)
  }

  /** All arguments are there. What a model wrote in another form is given as it is. */
  end(): string {
    if (this.#place !== undefined) return ''
    this.text = freeTextOf(this.#json)
    return this.text
  }

  #add(escaped: string, end: number): string {
    const piece = unescape(escaped)
    // One half of a character is no text. The other half comes next, unless the text is over.
    if (HIGH_SURROGATE.test(piece) && !this.#is_over) return ''
    this.#place = end
    this.text += piece
    return piece
  }
}

/** Where the string ends, or else the last escape that is not all there begins, or else the JSON ends. */
function endOfWhole(json: string, from: number): number {
  let place = from
  while (place < json.length && json.charAt(place) !== '"') {
    const length = lengthAt(json, place)
    if (place + length > json.length) return place
    place += length
  }
  return place
}

/** Of one character: itself, `\n` or `\u000a`. */
function lengthAt(json: string, place: number): number {
  if (json.charAt(place) !== '\\') return 1
  return json.charAt(place + 1) === 'u' ? '\\u0000'.length : '\\n'.length
}

/** What is not JSON, such as a bare line break, is taken as it stands. */
function unescape(escaped: string): string {
  try {
    return String(JSON.parse(`"${escaped}"`))
  } catch {
    return escaped
  }
}
