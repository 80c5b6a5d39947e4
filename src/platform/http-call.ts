// One call to a provider, from its request to the last piece that was read. Every wait has a limit, and what nobody
// reads stays at the sender.

import type { Readable } from 'node:stream'
import type { Agent, Dispatcher } from 'undici'

/** How long the rest of an answer may take that its reader does not need any more. */
const LINGER_MS = 1_000
const MAX_BODY_BYTES = 50 * 1024 * 1024
/** With this much arrived and not read, the sender is held back. */
const UNREAD_BYTES_MAX = 64 * 1024

/** The first two are kept to about a second: undici looks at them that often. */
export type HttpLimits = {
  /** From the request to the status line. */
  headers_ms: number
  /** Between two pieces of the body; a reader that is slow does not count. */
  idle_ms: number
  /** From the request to the end of the body. */
  total_ms: number
}

/** Ends one call. An AbortSignal for each, with its event target, would cost as much as parsing the answer. */
export class CallSignal {
  aborted = false
  #listener: (() => void) | undefined

  abort(): void {
    if (this.aborted) return
    this.aborted = true
    this.#listener?.()
  }

  /** One listener at a time: the call it belongs to. */
  listen(listener: () => void): void {
    this.#listener = listener
  }

  forget(listener: () => void): void {
    if (this.#listener === listener) this.#listener = undefined
  }
}

export type HttpCall = {
  method?: 'GET' | 'POST'
  url: string
  headers: Record<string, string>
  /** What is streamed is read only as fast as it is sent. */
  body?: string | Uint8Array | Readable
  limits: HttpLimits
  signal: CallSignal
}

export type HttpReply = {
  status: number
  /** By lower-case name. */
  headers: Readonly<Record<string, string | undefined>>
  /** To be read once. Leaving the loop early ends the connection. */
  body: AsyncIterable<Uint8Array>
  /** All of the body, instead of its pieces. */
  text(max_bytes?: number): Promise<string>
  /** Says that the rest does not matter: the connection is kept if the rest is short. */
  release(): void
}

export type HttpFailureKind = 'aborted' | 'busy' | 'cut' | 'timeout' | 'too_large' | 'unreachable'

/** Why there is no answer, or only half of one. Its message holds neither address nor header. */
export class HttpFailure extends Error {
  readonly kind: HttpFailureKind

  constructor(kind: HttpFailureKind, message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'HttpFailure'
    this.kind = kind
  }
}

/** Takes what undici dispatches itself: a stream, its iterator and an abort controller for each cost more than the call. */
export class DispatchedCall
  implements Dispatcher.DispatchHandler, AsyncIterableIterator<Uint8Array>
{
  readonly #call: HttpCall
  readonly #onOver: () => void
  #timer: NodeJS.Timeout
  #controller: Dispatcher.DispatchController | undefined
  #answered: { resolve(reply: HttpReply): void; reject(failure: HttpFailure): void } | undefined
  #unread: Uint8Array[] = []
  #unread_bytes = 0
  #arrived = false
  #released = false
  #over = false
  #failure: HttpFailure | undefined
  /** Wakes the reader that waits for a piece. */
  #wake: (() => void) | undefined

  constructor(call: HttpCall, onOver: () => void) {
    this.#call = call
    this.#onOver = onOver
    this.#timer = this.#endAfter(call.limits.total_ms)
    call.signal.listen(this.#giveUp)
  }

  send(agent: Agent): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      this.#answered = { resolve, reject }
      try {
        agent.dispatch(describeCall(this.#call), this)
      } catch (error) {
        this.#fail(toFailure(error, 'unreachable'))
      }
    })
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#failure) controller.abort(this.#failure)
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // Below 200 it only announces an answer.
    if (status < 200) return
    this.#answered?.resolve({
      status,
      headers: flattenHeaders(headers),
      body: this,
      text: (max_bytes) => this.#readText(max_bytes),
      release: () => this.#release(),
    })
    this.#answered = undefined
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Uint8Array): void {
    if (this.#released) return
    this.#unread.push(piece)
    this.#unread_bytes += piece.length
    if (this.#unread_bytes >= UNREAD_BYTES_MAX) controller.pause()
    this.#wake?.()
  }

  onResponseEnd(): void {
    this.#arrived = true
    if (this.#released) this.#end()
    this.#wake?.()
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#fail(toFailure(error, this.#answered ? 'unreachable' : 'cut'))
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** Everything that has arrived. */
  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#unread.length === 0 && !this.#arrived && !this.#over) await this.#news()
    if (this.#unread.length > 0) return { done: false, value: this.#takeUnread() }
    if (this.#failure) throw this.#failure
    this.#end()
    return { done: true, value: undefined }
  }

  /** The reader leaves early. */
  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (!this.#released && !this.#over) this.#giveUp()
    return { done: true, value: undefined }
  }

  /** Mostly it is there by the time it is asked for, and nothing is waited for. */
  async #readText(max_bytes = MAX_BODY_BYTES): Promise<string> {
    const pieces: Uint8Array[] = []
    for (let size = 0; ; ) {
      if (this.#unread.length > 0) {
        const piece = this.#takeUnread()
        size += piece.length
        pieces.push(piece)
      }
      if (size > max_bytes) {
        this.#giveUp()
        throw new HttpFailure('too_large', `the answer has more than ${max_bytes} bytes`)
      }
      if (this.#failure) throw this.#failure
      if (this.#arrived || this.#over) break
      await this.#news()
    }
    this.#end()
    return joinPieces(pieces).toString('utf8')
  }

  async #news(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    this.#wake = undefined
  }

  #takeUnread(): Uint8Array {
    const pieces = this.#unread
    this.#unread = []
    this.#unread_bytes = 0
    if (this.#controller?.paused) this.#controller.resume()
    return joinPieces(pieces)
  }

  #release(): void {
    if (this.#over) return
    this.#released = true
    this.#unread = []
    if (this.#arrived) this.#end()
    else this.#timer = this.#endAfter(LINGER_MS)
    if (this.#controller?.paused) this.#controller.resume()
  }

  /** Whatever was agreed before. */
  #endAfter(limit_ms: number): NodeJS.Timeout {
    clearTimeout(this.#timer)
    const expire = () => this.#fail(new HttpFailure('timeout', 'the answer took too long'))
    return setTimeout(expire, limit_ms).unref()
  }

  readonly #giveUp = (): void => this.#fail(new HttpFailure('aborted', 'the call was given up'))

  #fail(failure: HttpFailure): void {
    if (this.#over) return
    this.#failure = failure
    this.#end()
    this.#controller?.abort(failure)
    this.#answered?.reject(failure)
    this.#wake?.()
  }

  #end(): void {
    if (this.#over) return
    this.#over = true
    clearTimeout(this.#timer)
    this.#call.signal.forget(this.#giveUp)
    this.#onOver()
  }
}

/** By hand: parsing and normalising it as browsers do takes longer than all else that is done with it here. */
function splitUrl(url: string): { origin: string; path: string } {
  const host = url.indexOf('://') + '://'.length
  const slash = url.indexOf('/', host)
  return slash === -1
    ? { origin: url, path: '/' }
    : { origin: url.slice(0, slash), path: url.slice(slash) }
}

function describeCall({ method = 'POST', url, headers, body, limits }: HttpCall) {
  const { origin, path } = splitUrl(url)
  const { headers_ms: headersTimeout, idle_ms: bodyTimeout } = limits
  return { origin, path, method, headers, body: body ?? null, headersTimeout, bodyTimeout }
}

function joinPieces(pieces: readonly Uint8Array[]): Buffer {
  const [only] = pieces
  if (pieces.length !== 1 || !only) return Buffer.concat(pieces)
  return Buffer.from(only.buffer, only.byteOffset, only.byteLength)
}

function flattenHeaders(
  headers: Record<string, string | string[] | undefined>,
): Record<string, string | undefined> {
  const flat: Record<string, string | undefined> = {}
  for (const name of Object.keys(headers)) {
    const value = headers[name]
    flat[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return flat
}

const TIMEOUTS = [
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
]

function toFailure(error: unknown, other: HttpFailureKind): HttpFailure {
  if (error instanceof HttpFailure) return error
  const code = errorCode(error)
  if (TIMEOUTS.includes(code))
    return new HttpFailure('timeout', `no answer in time (${code})`, error)
  return new HttpFailure(other, `the connection failed (${code})`, error)
}

function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
