// The client's end of a streamed answer: waits while the client reads slowly, and notices when it leaves.

import { once } from 'node:events'
import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'

/** A client that takes nothing for this long has left, whatever its connection says. */
const STALL_LIMIT_MS = 60_000

export class EventStream {
  readonly #reply: FastifyReply
  readonly #gone = new AbortController()
  readonly #stall_limit_ms: number
  #written_at = performance.now()

  constructor(reply: FastifyReply, options: { stall_limit_ms?: number } = {}) {
    this.#reply = reply
    this.#stall_limit_ms = options.stall_limit_ms ?? STALL_LIMIT_MS
    // It may have left before anybody listened.
    if (reply.raw.destroyed) this.#gone.abort()
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished) this.#gone.abort()
    })
  }

  /** Aborts when the client leaves before the end. */
  get gone(): AbortSignal {
    return this.#gone.signal
  }

  /** From here on an error can only be told inside the stream. */
  start(): void {
    this.#reply.hijack()
    this.#reply
      .header('content-type', 'text/event-stream; charset=utf-8')
      .header('cache-control', 'no-cache, no-transform')
      // Proxies that buffer would turn a stream into a long wait.
      .header('x-accel-buffering', 'no')
    const headers = Object.entries(this.#reply.getHeaders()).filter(
      ([, value]) => value !== undefined,
    )
    this.#reply.raw.writeHead(200, Object.fromEntries(headers) as OutgoingHttpHeaders)
  }

  /** Resolves when the client has room for more, or has left. */
  async write(text: string): Promise<void> {
    if (text === '' || this.gone.aborted) return
    this.#written_at = performance.now()
    if (this.#reply.raw.write(text)) return
    const stalled = setTimeout(() => this.#reply.raw.destroy(), this.#stall_limit_ms)
    await once(this.#reply.raw, 'drain', { signal: this.gone }).catch(() => {})
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
}
