// Which nodes are dead, as one watcher sees it: those whose beat it has seen unchanged for the whole time of a lease, on
// its own monotonic clock, while the database took writes. Two wall clocks are never compared, and time in which the
// watcher or the database was away counts for nobody: after it every node has the whole time of a lease again.

import type { NodeRow } from '../store.ts'
import { LEASE_MS } from './lease.ts'

/** Longer between two looks, and nobody knows what happened in between. */
const GAP_MAX_MS = 8_000
/** The watcher's own beat must move: a database that can be read but not written keeps every node from beating. */
const OWN_BEAT_MAX_MS = 6_000

type Seen = { beat: bigint; since_ms: number }

export type Look = {
  rows: readonly NodeRow[]
  /** The watcher's own lease. */
  own_node_id: string
  /** On the monotonic clock: the rows are of a moment between the two. */
  asked_ms: number
  answered_ms: number
}

export class NodeWatch {
  #seen = new Map<string, Seen>()
  #last_ms = Number.NEGATIVE_INFINITY

  /** Answers the nodes that are dead. */
  look({ rows, own_node_id, asked_ms, answered_ms }: Look): NodeRow[] {
    const gap = answered_ms - this.#last_ms > GAP_MAX_MS
    this.#last_ms = answered_ms
    if (gap) this.#seen.clear()
    this.#note(rows, answered_ms)
    const own = this.#seen.get(own_node_id)
    if (!own || asked_ms - own.since_ms > OWN_BEAT_MAX_MS) {
      this.interrupt()
      return []
    }
    return rows.filter(({ node_id }) => {
      const since_ms = this.#seen.get(node_id)?.since_ms ?? answered_ms
      return asked_ms - since_ms >= LEASE_MS
    })
  }

  /** The database did not answer: everything that was seen counts for nothing. */
  interrupt(): void {
    this.#seen.clear()
    this.#last_ms = Number.NEGATIVE_INFINITY
  }

  #note(rows: readonly NodeRow[], answered_ms: number): void {
    const seen = new Map<string, Seen>()
    for (const { node_id, beat } of rows) {
      const before = this.#seen.get(node_id)
      seen.set(node_id, before?.beat === beat ? before : { beat, since_ms: answered_ms })
    }
    this.#seen = seen
  }
}
