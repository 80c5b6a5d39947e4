// The ledger of this process, from the moment its database is there to the moment it stops: a lease that keeps
// its holds alive, and the lanes.

import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import type { LedgerMetrics } from '../platform/metrics.ts'
import { mintId } from '../platform/tokens.ts'
import { endNode, type GatewayNode, startNode } from './jobs.ts'
import { type CallLedger, createCallLedger } from './lanes/call-ledger.ts'

export type LiveLedgerOptions = {
  db: Db
  url: string
  clock: Clock
  log: Log
  metrics: LedgerMetrics
}

export class LiveLedger {
  readonly #options: LiveLedgerOptions
  #node: GatewayNode | undefined
  #ledger: CallLedger | undefined

  constructor(options: LiveLedgerOptions) {
    this.#options = options
  }

  /** A name of its own for each process: a machine that starts anew must not take another's lease. */
  async start(): Promise<void> {
    const { db, clock } = this.#options
    this.#node = await startNode(db, { node_id: mintId({ at: clock.now() }), clock })
    this.#ledger = createCallLedger({ ...this.#options, node: this.#node })
  }

  get ledger(): CallLedger {
    if (this.#ledger) return this.#ledger
    throw new ApiError('service_unavailable', { headers: { 'retry-after': '1' } })
  }

  get node(): GatewayNode {
    if (this.#node) return this.#node
    throw new Error('the ledger has not started')
  }

  /** A lease that cannot be given back ends by itself. */
  async #giveLeaseBack(node: GatewayNode): Promise<void> {
    try {
      await endNode(this.#options.db, node)
    } catch (error) {
      this.#options.log.warn({ err: error }, 'the lease is left to end')
    }
  }

  /** Answers everything it took, then gives the lease back. */
  async stop(): Promise<void> {
    await this.#ledger?.close()
    if (this.#node) await this.#giveLeaseBack(this.#node)
    this.#ledger = undefined
    this.#node = undefined
  }
}
