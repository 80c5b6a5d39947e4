// A connection of a lane or of the lease, used by one query at a time, outside the pool: neither may wait for requests
// that read. What a failure means for a batch is decided here.

import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, DatabaseError } from 'pg'
import type { Statement } from '../../platform/db.ts'
import { openClient } from '../../platform/session.ts'
import type { Failure } from './batch-entry.ts'

export type LaneConnectionOptions = {
  url: string
  application_name: string
  deadline_ms: number
}

/** The batch may or may not have been committed, durably. Sending it again is safe and finds out. */
export class UnknownOutcome extends Error {}

/** There is no connection: nothing was sent. */
export class Unreachable extends Error {}

/** Processes that share a wallet wait for each other far shorter; whoever keeps a lock longer is waited for apart. */
const LOCK_WAIT = '1s'

/**
 * Bad data (21, 22), a broken constraint (23), a limit of the server that no wait lifts (54) and what our
 * functions raise (P0001) are the fault of an item, whatever else is tried.
 */
const ITEM_FAULT = /^(21|22|23|54|P0001)/

/** Lost, read-only after a failover, not allowed, or ended by the server: the next batch needs another session. */
const SESSION_IS_USELESS = /^(08|25|28|57P)/

export function classifyFailure(error: unknown): Failure {
  if (error instanceof Unreachable) return 'unreachable'
  if (error instanceof UnknownOutcome) return 'unknown'
  if (!(error instanceof DatabaseError)) return 'refused'
  const code = error.code ?? ''
  if (code === '40001' || code === '40P01') return 'conflict'
  if (code === '55P03') return 'blocked'
  return ITEM_FAULT.test(code) ? 'refused' : 'failed'
}

export class LaneConnection {
  readonly #options: LaneConnectionOptions
  #client: Client | undefined
  #wait_cancelled = false

  constructor(options: LaneConnectionOptions) {
    this.#options = options
  }

  async run<Row extends object>(
    statement: Statement<Row>,
    values: readonly unknown[],
  ): Promise<Row[]> {
    try {
      const client = this.#client ?? (await this.#connect())
      this.#wait_cancelled = false
      const { rows } = await this.#ask(client, statement, values)
      // The server reports success when its wait for the standby is cancelled. It is not one: the row
      // may be lost in a failover. Sent again, the batch locks its wallets, which is a write, so its
      // commit waits for the standby and for everything before it.
      if (this.#wait_cancelled) throw new UnknownOutcome('the wait for the standby was cancelled')
      return rows
    } catch (error) {
      if (error instanceof DatabaseError && !SESSION_IS_USELESS.test(error.code ?? '')) throw error
      await this.close()
      if (error instanceof DatabaseError || error instanceof Unreachable) throw error
      throw new UnknownOutcome('the connection broke', { cause: error })
    }
  }

  async close(): Promise<void> {
    const client = this.#client
    this.#client = undefined
    if (!client) return
    // A connection that hangs must not hold up the next one.
    await Promise.race([client.end().catch(() => {}), sleep(250, undefined, { ref: false })])
    client.connection.stream.destroy()
  }

  async #connect(): Promise<Client> {
    const { url, application_name } = this.#options
    try {
      this.#client = await openClient({
        url,
        application_name,
        // The deadline is watched here.
        query_timeout: 0,
        // Whatever the server's default: an acknowledged settlement is on its disk, and on its standby's.
        settings: { synchronous_commit: 'on', lock_timeout: LOCK_WAIT },
        onStandbyWaitCancelled: () => {
          this.#wait_cancelled = true
        },
      })
    } catch (error) {
      throw new Unreachable('the database cannot be reached', { cause: error })
    }
    return this.#client
  }

  /** With a callback: a query that the driver makes a promise for was seen to survive every minor collection. */
  #ask<Row extends object>(
    client: Client,
    { name, text }: Statement<Row>,
    values: readonly unknown[],
  ): Promise<{ rows: Row[] }> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new UnknownOutcome('no answer within the deadline'))
      }, this.#options.deadline_ms)
      client.query<Row>({ name, text, values: [...values] }, (error, result) => {
        clearTimeout(timer)
        // The types do not say that there is none.
        if (error as Error | null) reject(error)
        else resolve(result)
      })
    })
  }
}
