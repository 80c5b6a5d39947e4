// The lease of this process: what tells every sweeper that its holds are alive. It has a connection of its own, because
// neither a busy pool nor a busy lane may end it, and it is judged by nobody's wall clock: the process counts a number
// up, and a watcher calls it dead when it has seen the same number for the whole time of a lease (node-watch.ts).

import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../platform/log.ts'
import type { LedgerMetrics } from '../../platform/metrics.ts'
import { mintId } from '../../platform/tokens.ts'
import { BEAT, END_LEASE } from '../store.ts'
import { LaneConnection } from './connection.ts'

export const LEASE_MS = 15_000
const BEAT_EVERY_MS = 2_000
const BEAT_AGAIN_MS = 500
const BEAT_DEADLINE_MS = 5_000
/** A process stops placing holds this long before anybody could call it dead. */
const MARGIN_MS = 3_000

export type LeaseOptions = { url: string; log: Log; metrics: LedgerMetrics }

export class Lease {
  /** Of this process alone: one that starts anew has another, and its former holds are swept. */
  readonly node_id = mintId()
  readonly #options: LeaseOptions
  readonly #connection: LaneConnection
  readonly #stop = new AbortController()
  #beating: Promise<void> = Promise.resolve()
  #live_until = Number.NEGATIVE_INFINITY
  /** The server's clock less this process's monotonic one, at the last beat. */
  #server_offset_ms = 0
  #beats = 0

  constructor(options: LeaseOptions) {
    this.#options = options
    const { url } = options
    this.#connection = new LaneConnection({
      url,
      application_name: 'svc ledger lease',
      deadline_ms: BEAT_DEADLINE_MS,
    })
  }

  /** Throws if the database cannot be reached. */
  async take(): Promise<void> {
    await this.#beat()
    this.#beating = this.#keepBeating()
  }

  /** False: a hold that is placed now may be swept while its call runs. */
  get is_live(): boolean {
    return performance.now() < this.#live_until
  }

  /** What the server's clock will say, in milliseconds since 1970, at a moment of this process's monotonic clock; early by a round trip at most. */
  serverTime(monotonic_ms: number): number {
    return Math.floor(monotonic_ms + this.#server_offset_ms)
  }

  /** Gives the lease back; if that fails it ends by itself. */
  async end(): Promise<void> {
    this.#stop.abort()
    await this.#beating
    try {
      await this.#connection.run(END_LEASE, [this.node_id])
    } catch (error) {
      this.#options.log.warn({ err: error }, 'the lease is left to end')
    }
    await this.#connection.close()
    this.#live_until = Number.NEGATIVE_INFINITY
  }

  async #keepBeating(): Promise<void> {
    const { signal } = this.#stop
    let pause_ms = BEAT_EVERY_MS
    while (!signal.aborted) {
      await sleep(pause_ms, undefined, { signal, ref: false }).catch(() => {})
      if (signal.aborted) return
      try {
        await this.#beat()
        pause_ms = BEAT_EVERY_MS
      } catch (error) {
        this.#options.log.warn({ err: error, live: this.is_live }, 'the lease was not renewed')
        pause_ms = BEAT_AGAIN_MS
        if (!this.is_live) this.#options.metrics.ledger_lease_live.set(0)
      }
    }
  }

  async #beat(): Promise<void> {
    const asked_at = performance.now()
    const [row] = await this.#connection.run(BEAT, [this.node_id])
    if (!row) throw new Error('a beat has an answer')
    this.#live_until = asked_at + LEASE_MS - MARGIN_MS
    this.#options.metrics.ledger_lease_live.set(1)
    this.#server_offset_ms = row.server_time.getTime() - performance.now()
    if (row.beat === 1n && this.#beats > 0) {
      // This process stood still, or could not reach the database, for longer than its lease.
      this.#options.metrics.ledger_leases_lost.inc()
      const { node_id } = this
      this.#options.log.error(
        { alarm: 'ledger_node', node_id },
        'the lease was lost and taken anew',
      )
    }
    this.#beats++
  }
}
