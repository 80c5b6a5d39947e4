// Server-sent events, read and written as the HTML standard says. Providers stream answers in this
// format, and we stream them on. A reader pulls: nothing is read ahead of the event it waits for.

import { StringDecoder } from 'node:string_decoder'

/** The longest event that is taken, in characters: far above any real one, far below memory. */
export const EVENT_LIMIT = 4 * 1024 * 1024

const BYTE_ORDER_MARK = '\uFEFF'
const FIRST_BYTE_BEYOND_ASCII = 0x80
const DATA_FIELD = 'data: '

export type ServerSentEvent = { name: string | undefined; data: string }

export class EventTooLarge extends Error {
  constructor(limit: number) {
    super(`an event has more than ${limit} characters`)
    this.name = 'EventTooLarge'
  }
}

/**
 * The events of one read together: a wait for each of them would cost more than all else about it. An event
 * that the stream ends in the middle of is dropped: half a record is not a record.
 */
export async function* readEvents(
  body: AsyncIterable<Uint8Array>,
  limit: number = EVENT_LIMIT,
): AsyncGenerator<ServerSentEvent[], void, undefined> {
  const decode = createDecoder()
  const state = createParser(limit)
  for await (const chunk of body) {
    if (chunk.length === 0) continue
    const events = parseText(state, decode(chunk))
    if (events.length > 0) yield events
    // What came before an event that is too large stands.
    if (isTooLarge(state)) throw new EventTooLarge(limit)
  }
}

export function formatEvent(event: { name?: string | undefined; data: string }): string {
  const name = event.name === undefined ? '' : `event: ${event.name}\n`
  const data = /[\r\n]/.test(event.data)
    ? event.data.split(/\r\n|\r|\n/).join('\ndata: ')
    : event.data
  return `${name}data: ${data}\n\n`
}

/** Text of each chunk; the bytes of a character torn apart wait for the next one. */
function createDecoder(): (chunk: Uint8Array) => string {
  const decoder = new StringDecoder('utf8')
  let torn = false
  let first = true
  return (chunk) => {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const ends_whole = (bytes.at(-1) ?? 0) < FIRST_BYTE_BEYOND_ASCII
    // A chunk that ends in ASCII holds whole characters only: no need for the decoder's memory.
    const text = ends_whole && !torn ? bytes.toString('utf8') : decoder.write(bytes)
    torn = !ends_whole
    if (!first || text === '') return text
    first = false
    return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
  }
}

type ParserState = {
  limit: number
  /** Pieces of a line whose end has not come yet: joined once, so that long lines cost linear time. */
  pieces: string[]
  /** The last character was CR: an LF that follows belongs to it. */
  after_cr: boolean
  name: string | undefined
  data: string[]
  /** Characters of the event so far. */
  size: number
}

function createParser(limit: number): ParserState {
  return { limit, pieces: [], after_cr: false, name: undefined, data: [], size: 0 }
}

/** Stops where the event becomes too large. */
function parseText(state: ParserState, text: string): ServerSentEvent[] {
  const events: ServerSentEvent[] = []
  let at = state.after_cr && text.startsWith('\n') ? 1 : 0
  if (text !== '') state.after_cr = false
  let next_cr = text.indexOf('\r', at)
  while (at < text.length) {
    const next_lf = text.indexOf('\n', at)
    // Most streams have no CR at all: it is looked for again only once it has been passed.
    if (next_cr !== -1 && next_cr < at) next_cr = text.indexOf('\r', at)
    const ends_in_cr = next_cr !== -1 && (next_lf === -1 || next_cr < next_lf)
    const end = ends_in_cr ? next_cr : next_lf
    if (end === -1) break
    const event = takeLine(state, text.slice(at, end))
    if (event !== undefined) events.push(event)
    if (isTooLarge(state)) return events
    at = end + 1
    if (ends_in_cr && text.charAt(at) === '\n') at += 1
    else if (ends_in_cr) state.after_cr = at === text.length
  }
  if (at >= text.length) return events
  state.pieces.push(text.slice(at))
  state.size += text.length - at
  return events
}

function takeLine(state: ParserState, ending: string): ServerSentEvent | undefined {
  let line = ending
  if (state.pieces.length > 0) {
    line = state.pieces.join('') + ending
    state.pieces = []
  }
  if (line === '') return finishEvent(state)
  state.size += ending.length
  // What nearly every line is.
  if (line.startsWith(DATA_FIELD)) {
    state.data.push(line.slice(DATA_FIELD.length))
    return undefined
  }
  const colon = line.indexOf(':')
  if (colon === 0) return undefined
  const field = colon === -1 ? line : line.slice(0, colon)
  const from = line.charAt(colon + 1) === ' ' ? colon + 2 : colon + 1
  const value = colon === -1 ? '' : line.slice(from)
  if (field === 'data') state.data.push(value)
  else if (field === 'event') state.name = value
  return undefined
}

function finishEvent(state: ParserState): ServerSentEvent | undefined {
  const { name, data } = state
  state.name = undefined
  state.size = 0
  if (data.length === 0) return undefined
  state.data = []
  const [only = ''] = data
  return {
    name: name === '' ? undefined : name,
    data: data.length === 1 ? only : data.join('\n'),
  }
}

function isTooLarge(state: ParserState): boolean {
  return state.size > state.limit
}
