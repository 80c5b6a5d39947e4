// The client's end of a streamed answer: waits while the client reads slowly, and notices when it leaves.

import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

/** A client that takes nothing for this long has left, whatever its connection says. */
const STALL_LIMIT_MS = 60_000
const EVENTS = 'text/event-stream; charset=utf-8'

export class EventStream {
  readonly #reply: FastifyReply
  #left = false
  #onLeave: (() => void) | undefined
  readonly #stall_limit_ms: number
  #written_at = performance.now()

  constructor(reply: FastifyReply, options: { stall_limit_ms?: number } = {}) {
    this.#reply = reply
    this.#stall_limit_ms = options.stall_limit_ms ?? STALL_LIMIT_MS
    // It may have left before anybody listened.
    this.#left = reply.raw.destroyed
    reply.raw.on('close', () => {
      if (reply.raw.writableFinished || this.#left) return
      this.#left = true
      this.#onLeave?.()
    })
  }

  /** Whether the client has left before the end. */
  get left(): boolean {
    return this.#left
  }

  /** Tells one listener when it leaves, at once if it has. */
  onLeave(listener: () => void): void {
    if (this.#left) listener()
    else this.#onLeave = listener
  }

  /** From here on an error can only be told inside the stream. */
  start(content_type = EVENTS): void {
    this.#reply.hijack()
    this.#reply
      .header('content-type', content_type)
      .header('cache-control', 'no-cache, no-transform')
      // Proxies that buffer would turn a stream into a long wait.
      .header('x-accel-buffering', 'no')
    const headers = Object.entries(this.#reply.getHeaders()).filter(
      ([, value]) => value !== undefined,
    )
    this.#reply.raw.writeHead(200, Object.fromEntries(headers) as OutgoingHttpHeaders)
  }

  /** Resolves when the client has room for more, or has left. */
  async write(piece: string | Uint8Array): Promise<void> {
    if (piece.length === 0 || this.#left) return
    this.#written_at = performance.now()
    if (this.#reply.raw.write(piece)) return
    const stalled = setTimeout(() => this.#reply.raw.destroy(), this.#stall_limit_ms)
    await drained(this.#reply.raw)
    clearTimeout(stalled)
  }

  /** Sends `text` whenever nothing else was sent for that long; returns what ends it. */
  keepAlive(interval_ms: number, text: () => string): () => void {
    const timer = setInterval(() => {
      // To a client that is not even reading, silence says nothing.
      if (this.#reply.raw.writableNeedDrain) return
      if (performance.now() - this.#written_at >= interval_ms) void this.write(text())
    }, interval_ms / 2)
    timer.unref()
    return () => clearInterval(timer)
  }

  end(): void {
    this.#reply.raw.end()
  }

  /** For an answer that broke off in a format that has no words for it: the client sees that it is not whole. */
  cut(): void {
    // What was written in this turn still goes out; the mark of the end does not.
    setImmediate(() => this.#reply.raw.socket?.destroySoon())
  }

  /** For an end that cannot wait until the client has read what was sent. */
  endNow(): void {
    if (this.#reply.raw.writableNeedDrain) this.#reply.raw.destroy()
    else this.end()
  }
}

/** Also when it will never be, because the client has left. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.on('drain', done).on('close', done)
  })
}
