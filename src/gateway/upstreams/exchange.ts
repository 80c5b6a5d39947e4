// One call to a provider, as all upstreams make it: JSON out, then either events or one JSON body back.
// Whatever goes wrong leaves here as an ApiError.

import { type Clock, systemClock } from '../../platform/clock.ts'
import type { CallSignal, HttpLimits, HttpReply } from '../../platform/http-call.ts'
import type { HttpClient } from '../../platform/http-client.ts'
import { readEvents, type ServerSentEvent } from '../../platform/sse.ts'
import type { UpstreamFrame } from './contract.ts'
import {
  errorFromAnswer,
  errorFromEvent,
  errorFromTransport,
  type ProviderErrors,
  type ProviderName,
  senseless,
} from './error-mapping.ts'
import { isRecord, type JsonRecord, parseJson } from './json-values.ts'

const MAX_ERROR_BYTES = 1024 * 1024

export type UpstreamLimits = {
  first_byte_stream_ms: number
  first_byte_ms: number
  idle_ms: number
  total_ms: number
}

export const UPSTREAM_LIMITS: UpstreamLimits = {
  first_byte_stream_ms: 120_000,
  first_byte_ms: 600_000,
  idle_ms: 120_000,
  total_ms: 900_000,
}

export type UpstreamOptions = {
  client: HttpClient
  clock?: Clock
  limits?: Partial<UpstreamLimits>
}

export type Exchange = {
  errors: ProviderErrors
  url: string
  headers: Record<string, string>
  body: JsonRecord
  stream: boolean
  signal: CallSignal
}

/** Turns the parsed records of one answer into events; it may remember what came before. */
export type FrameReader = {
  /** One record of a stream; `data` is its text. */
  readChunk(chunk: JsonRecord, data: string): UpstreamFrame['events']
  /** The events of a record that is known without parsing it; undefined: parse it. */
  recognise?(data: string): UpstreamFrame['events'] | undefined
  /** The JSON of an answer that is not streamed. */
  readWhole(body: JsonRecord): UpstreamFrame['events']
  /** Whether this record ends the stream, before the connection does. */
  isEnd?(data: string): boolean
  /** Whether the record that was read last says that none follows. */
  hasEnded?(): boolean
  /** Throws when what was read so far says that there will be no answer. */
  check?(): void
  /** Throws when everything arrived and the answer is still not whole. */
  checkEnd(): void
}

/** Resolves when the provider has accepted the call. */
export async function openExchange(
  options: UpstreamOptions,
  exchange: Exchange,
): Promise<HttpReply> {
  const { errors, stream } = exchange
  try {
    const reply = await options.client.send({
      url: exchange.url,
      headers: { ...exchange.headers, 'content-type': 'application/json' },
      body: JSON.stringify(exchange.body),
      limits: httpLimits({ ...UPSTREAM_LIMITS, ...options.limits }, stream),
      signal: exchange.signal,
    })
    if (reply.status === 200) return reply
    throw errorFromAnswer(errors, {
      status: reply.status,
      headers: reply.headers,
      body: await readErrorText(reply),
      now: clockOf(options).now(),
    })
  } catch (error) {
    throw errorFromTransport(errors.provider, error)
  }
}

export function readFrames(
  options: UpstreamOptions,
  exchange: Exchange,
  answer: { reply: HttpReply; reader: FrameReader },
): AsyncIterable<UpstreamFrame[]> {
  return exchange.stream
    ? readStream(options, exchange.errors, answer)
    : new WholeAnswer(exchange.errors.provider, answer)
}

async function* readStream(
  options: UpstreamOptions,
  errors: ProviderErrors,
  { reply, reader }: { reply: HttpReply; reader: FrameReader },
): AsyncGenerator<UpstreamFrame[], void, undefined> {
  const { provider } = errors
  const reading: Reading = { options, errors, reader, began: false, ended: false }
  try {
    for await (const events of readEvents(reply.body)) {
      const { frames, fault } = readBatch(reading, events)
      if (frames.length > 0) yield frames
      if (fault !== undefined) throw fault.error
      if (!reading.ended) continue
      reply.release()
      break
    }
  } catch (error) {
    throw errorFromTransport(provider, error)
  }
  if (!reading.began) throw senseless(provider, 'the stream is empty')
  reader.checkEnd()
}

type Reading = {
  options: UpstreamOptions
  errors: ProviderErrors
  reader: FrameReader
  /** Something was passed on: from then on a failure can no longer become an HTTP status. */
  began: boolean
  ended: boolean
}

/** What came before a fault is passed on; the fault comes after it. */
function readBatch(
  reading: Reading,
  events: readonly ServerSentEvent[],
): { frames: UpstreamFrame[]; fault?: { error: unknown } } {
  const { reader } = reading
  const frames: UpstreamFrame[] = []
  try {
    for (const { data, name } of events) {
      if (reader.isEnd?.(data) === true) {
        reading.ended = true
        break
      }
      const frame = { events: readEvent(reading, data), data, name }
      if (!reading.began) reader.check?.()
      reading.began = true
      frames.push(frame)
      reader.check?.()
      if (reader.hasEnded?.() !== true) continue
      reading.ended = true
      break
    }
  } catch (error) {
    return { frames, fault: { error } }
  }
  return { frames }
}

/** The one frame of an answer that is not streamed. Not a generator, which waits several times for each step. */
class WholeAnswer implements AsyncIterableIterator<UpstreamFrame[]> {
  readonly #provider: ProviderName
  readonly #reply: HttpReply
  readonly #reader: FrameReader
  #read = false

  constructor(
    provider: ProviderName,
    { reply, reader }: { reply: HttpReply; reader: FrameReader },
  ) {
    this.#provider = provider
    this.#reply = reply
    this.#reader = reader
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<UpstreamFrame[], undefined>> {
    if (!this.#read) return { done: false, value: [this.#toFrame(await this.#readText())] }
    this.#reader.check?.()
    this.#reader.checkEnd()
    return { done: true, value: undefined }
  }

  #toFrame(data: string): UpstreamFrame {
    const body = parseJson(data)
    if (!isRecord(body)) throw senseless(this.#provider, 'the answer is no JSON object')
    return { events: this.#reader.readWhole(body), data, name: undefined }
  }

  async #readText(): Promise<string> {
    this.#read = true
    try {
      return await this.#reply.text()
    } catch (error) {
      throw errorFromTransport(this.#provider, error)
    }
  }
}

/** The status has said enough when the body of an error cannot be read. */
async function readErrorText(reply: HttpReply): Promise<string> {
  try {
    return await reply.text(MAX_ERROR_BYTES)
  } catch {
    return ''
  }
}

function readEvent({ options, errors, reader }: Reading, data: string): UpstreamFrame['events'] {
  const known = reader.recognise?.(data)
  if (known !== undefined) return known
  const chunk = parseJson(data)
  const first: unknown = Array.isArray(chunk) ? chunk[0] : chunk
  if (isRecord(first) && (first['error'] ?? null) !== null) {
    throw errorFromEvent(errors, chunk, clockOf(options).now())
  }
  if (!isRecord(chunk)) throw senseless(errors.provider, 'an event is no JSON object')
  return reader.readChunk(chunk, data)
}

function clockOf(options: UpstreamOptions): Clock {
  return options.clock ?? systemClock
}

function httpLimits(limits: UpstreamLimits, stream: boolean): HttpLimits {
  return {
    headers_ms: stream ? limits.first_byte_stream_ms : limits.first_byte_ms,
    idle_ms: limits.idle_ms,
    total_ms: limits.total_ms,
  }
}
