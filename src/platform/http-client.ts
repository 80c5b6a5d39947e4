// The one way out to providers. Every wait has a limit, nothing is retried, redirects are not
// followed, and a body is pulled by its reader: what nobody reads stays at the sender.

import { Agent, request } from 'undici'

const CONNECT_MS = 10_000
const KEEP_ALIVE_MS = 30_000
const MAX_OPEN = 2_000
/** How long the rest of an answer may take that its reader does not need any more. */
const LINGER_MS = 1_000
export const MAX_BODY_BYTES = 50 * 1024 * 1024

/** The first two are kept to about a second: undici looks at them that often. */
export type HttpLimits = {
  /** From the request to the status line. */
  headers_ms: number
  /** Between two pieces of the body; a reader that is slow does not count. */
  idle_ms: number
  /** From the request to the end of the body. */
  total_ms: number
}

export type HttpCall = {
  method?: 'GET' | 'POST'
  url: string
  headers: Record<string, string>
  body?: string | Uint8Array
  limits: HttpLimits
  signal: AbortSignal
}

export type HttpReply = {
  status: number
  /** By lower-case name. */
  headers: Readonly<Record<string, string | undefined>>
  /** To be read once. Leaving the loop early ends the connection. */
  body: AsyncIterable<Uint8Array>
  /** Says that the rest does not matter: the connection is kept if the rest is short. */
  release(): void
}

export type HttpClient = {
  send(call: HttpCall): Promise<HttpReply>
  close(): Promise<void>
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

export function createHttpClient(options: { max_open?: number } = {}): HttpClient {
  const max_open = options.max_open ?? MAX_OPEN
  const agent = new Agent({
    // As many connections as calls: a call is never parked where no timer sees it.
    connections: max_open,
    pipelining: 1,
    // One stalled HTTP/2 connection would hold up every answer on it.
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connect: { timeout: CONNECT_MS },
  })
  let open = 0
  return {
    async send(call) {
      if (call.signal.aborted) throw new HttpFailure('aborted', 'the call was given up')
      if (open >= max_open) throw new HttpFailure('busy', `${open} calls are open already`)
      open += 1
      const watch = watchCall(call, () => {
        open -= 1
      })
      return await sendCall(agent, call, watch)
    },
    close: () => agent.destroy(),
  }
}

/** The whole body as text. */
export async function readText(reply: HttpReply, max_bytes = MAX_BODY_BYTES): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of reply.body) {
    size += chunk.length
    if (size > max_bytes) {
      throw new HttpFailure('too_large', `the answer has more than ${max_bytes} bytes`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size).toString('utf8')
}

type Watch = {
  signal: AbortSignal
  /** Ends the call within this time, whatever was agreed before. */
  endWithin(limit_ms: number): void
  /** The call is over: timers and listeners go. */
  stop(): void
}

/** Joins the caller's signal and the total limit into one signal, and lets go of both at the end. */
function watchCall(call: HttpCall, onEnd: () => void): Watch {
  const controller = new AbortController()
  const onAbort = () => controller.abort(new HttpFailure('aborted', 'the call was given up'))
  const expire = () => controller.abort(new HttpFailure('timeout', 'the answer took too long'))
  let timer = setTimeout(expire, call.limits.total_ms).unref()
  let ended = false
  call.signal.addEventListener('abort', onAbort, { once: true })
  return {
    signal: controller.signal,
    endWithin(limit_ms) {
      clearTimeout(timer)
      if (!ended) timer = setTimeout(expire, limit_ms).unref()
    },
    stop() {
      if (ended) return
      ended = true
      clearTimeout(timer)
      call.signal.removeEventListener('abort', onAbort)
      onEnd()
    },
  }
}

async function sendCall(agent: Agent, call: HttpCall, watch: Watch): Promise<HttpReply> {
  try {
    const response = await request(call.url, {
      dispatcher: agent,
      method: call.method ?? 'POST',
      headers: call.headers,
      body: call.body ?? null,
      headersTimeout: call.limits.headers_ms,
      bodyTimeout: call.limits.idle_ms,
      signal: watch.signal,
    })
    const { body } = response
    body.once('close', () => watch.stop())
    // Without a listener, a failure while nobody reads would end the process; readers see it anyway.
    body.on('error', () => undefined)
    const reading: Reading = { body, signal: watch.signal, began: false, released: false }
    return {
      status: response.statusCode,
      headers: flattenHeaders(response.headers),
      body: readBody(reading),
      release() {
        reading.released = true
        watch.endWithin(LINGER_MS)
        if (!reading.began) body.resume()
      },
    }
  } catch (error) {
    watch.stop()
    throw toFailure(error, watch.signal, 'unreachable')
  }
}

type Reading = {
  body: Awaited<ReturnType<typeof request>>['body']
  signal: AbortSignal
  began: boolean
  released: boolean
}

async function* readBody(reading: Reading): AsyncGenerator<Uint8Array, void, undefined> {
  const { body, signal } = reading
  reading.began = true
  let ended = false
  try {
    const chunks: AsyncIterable<Uint8Array> = body.iterator({ destroyOnReturn: false })
    for await (const chunk of chunks) yield chunk
    ended = true
  } catch (error) {
    throw toFailure(error, signal, 'cut')
  } finally {
    if (!ended && reading.released) body.resume()
    else if (!ended) body.destroy()
  }
}

function flattenHeaders(headers: Record<string, string | string[] | undefined>) {
  const flat: Record<string, string | undefined> = {}
  for (const [name, value] of Object.entries(headers)) {
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

function toFailure(error: unknown, signal: AbortSignal, other: HttpFailureKind): HttpFailure {
  if (error instanceof HttpFailure) return error
  if (signal.aborted && signal.reason instanceof HttpFailure) return signal.reason
  const code = errorCode(error)
  if (TIMEOUTS.includes(code))
    return new HttpFailure('timeout', `no answer in time (${code})`, error)
  return new HttpFailure(other, `the connection failed (${code})`, error)
}

function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
