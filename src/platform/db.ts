// PostgreSQL: the pool, named statements and transactions.

import { type ClientBase, Pool, type PoolClient } from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { applySettings, connectionConfig, watchStandbyWait } from './session.ts'
import { endsSession, StandbyWaitCancelled, translate, unavailable } from './sql-errors.ts'

/** One SQL statement. The name is the prepared statement's name, the metric label and the log field. */
export type Statement<Row extends object> = {
  readonly name: string
  readonly text: string
  /** A report, which lifts the server's time limit for itself. */
  readonly may_take_long?: boolean
  /** Carries the row type only; never set. */
  readonly row?: Row
}

export interface Queryable {
  run<Row extends object>(statement: Statement<Row>, values?: readonly unknown[]): Promise<Row[]>
}

/** A transaction that is open. Store functions that must not stand alone take this. */
export interface Tx extends Queryable {
  /** Runs once the change is durable, before the caller of the transaction goes on. Must not throw. */
  afterCommit(callback: () => void): void
  /** Hands on what a `copy … to stdout` answers, piece by piece, and answers the number of rows. */
  copyOut(text: string, take: (bytes: Buffer) => void | Promise<void>): Promise<number>
}

export type DbOptions = {
  url: string
  pool_size: number
  application_name: string
  /** How long a connection is used before it is replaced. */
  connection_life_ms?: number
  observe?: (statement: string, seconds: number) => void
}

/** What the driver takes as never: 0 would mean its default. */
const NO_TIMEOUT_MS = 2 ** 31 - 1
/** Whatever is wrong with a session that nobody notices, it ends with it. */
const CONNECTION_LIFE_MS = 600_000
/** Connections that were opened together must not all be replaced at the same moment. */
const LIFE_SPREAD = 0.2
const IDLE_LIFE_MS = 60_000

/** What is known of a connection of the pool. Times are of this process's monotonic clock. */
type Session = { opened_at: number; replace_at: number; standby_wait_cancelled: boolean }

const registered = new Map<string, Statement<object>>()

/** Registers a statement, so that one test can prepare every one of them on the migrated schema. */
export function statement<Row extends object>(
  name: string,
  text: string,
  options: { may_take_long?: boolean } = {},
): Statement<Row> {
  if (registered.has(name)) throw new Error(`two statements are named ${name}`)
  const made: Statement<Row> = { name, text, ...options }
  registered.set(name, made)
  return made
}

export function registeredStatements(): Statement<object>[] {
  return [...registered.values()]
}

export class Db implements Queryable {
  readonly #pool: Pool
  readonly #pool_size: number
  readonly #life_ms: number
  readonly #observe: (statement: string, seconds: number) => void
  readonly #sessions = new WeakMap<ClientBase, Session>()
  /** Connections that were opened before are not used again. */
  #stale_before = Number.NEGATIVE_INFINITY

  constructor(options: DbOptions) {
    // The pool waits for what it returns, though its type does not say so.
    const onConnect = (client: ClientBase): unknown => this.#prepare(client)
    this.#pool = new Pool({
      ...connectionConfig(options.url, options.application_name),
      max: options.pool_size,
      idleTimeoutMillis: IDLE_LIFE_MS,
      onConnect,
    })
    this.#pool_size = options.pool_size
    this.#life_ms = options.connection_life_ms ?? CONNECTION_LIFE_MS
    this.#observe = options.observe ?? (() => {})
    // An idle connection that the server closes is replaced at the next query; without a listener it
    // would end the process.
    this.#pool.on('error', ignoreLoss)
  }

  async run<Row extends object>(
    statement: Statement<Row>,
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    return await this.#withClient((client) => this.#execute(client, statement, values))
  }

  /** The caller owns the whole change: all of `work` commits, or none. */
  async transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    const callbacks: (() => void)[] = []
    const result = await this.#withClient(async (client) => {
      await client.query('begin')
      try {
        const tx: Tx = {
          run: (statement, values = []) => this.#execute(client, statement, values),
          afterCommit: (callback) => callbacks.push(callback),
          copyOut: (text, take) => copyOut(client, text, take),
        }
        const done = await work(tx)
        // A commit after a failed statement that `work` swallowed is answered with ROLLBACK, not an error.
        const { command } = await client.query('commit')
        if (command !== 'COMMIT') throw new Error('a transaction hid the failure of a statement')
        return done
      } catch (error) {
        await client.query('rollback').catch(() => {})
        throw error
      }
    })
    for (const callback of callbacks) callback()
    return result
  }

  async isReachable(): Promise<boolean> {
    try {
      await this.#withClient((client) => client.query('select 1'))
      return true
    } catch {
      return false
    }
  }

  /** How many connections are open, idle and waited for: a gauge for the metrics. */
  counts(): { total: number; idle: number; waiting: number } {
    return {
      total: this.#pool.totalCount,
      idle: this.#pool.idleCount,
      waiting: this.#pool.waitingCount,
    }
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }

  // pool.query() throws the connection away after any SQL error, even a unique violation; so a client is
  // checked out, and only one that is of no use is discarded.
  async #withClient<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
    const { client, session } = await this.#checkOut()
    // The pool listens only while a connection is idle. One that is lost in use fails its next statement;
    // without a listener it would end the process.
    client.on('error', ignoreLoss)
    session.standby_wait_cancelled = false
    try {
      const result = await work(client)
      if (session.standby_wait_cancelled) throw new StandbyWaitCancelled()
      return result
    } catch (error) {
      this.#judge(error)
      throw translate(error)
    } finally {
      client.release(!this.#isFresh(session))
      client.off('error', ignoreLoss)
    }
  }

  async #checkOut(): Promise<{ client: PoolClient; session: Session }> {
    try {
      // Each turn throws one connection away, so the last turn gets a new one.
      for (let turn = 0; turn <= this.#pool_size; turn++) {
        const client = await this.#pool.connect()
        const session = this.#sessions.get(client)
        if (session && this.#isFresh(session)) return { client, session }
        client.release(true)
      }
    } catch (error) {
      throw unavailable(error)
    }
    throw unavailable(new Error('every connection went stale while one was looked for'))
  }

  async #prepare(client: ClientBase): Promise<void> {
    const opened_at = performance.now()
    const life_ms = this.#life_ms * (1 - LIFE_SPREAD * Math.random())
    const session = { opened_at, replace_at: opened_at + life_ms, standby_wait_cancelled: false }
    this.#sessions.set(client, session)
    watchStandbyWait(client, () => {
      session.standby_wait_cancelled = true
    })
    await applySettings(client)
  }

  #isFresh({ opened_at, replace_at }: Session): boolean {
    return opened_at > this.#stale_before && performance.now() < replace_at
  }

  // What one session has run into, a server that is gone or now a standby, the others will run into too. They
  // are not asked: after a failover each would fail one request more.
  #judge(error: unknown): void {
    if (endsSession(error)) this.#stale_before = performance.now()
  }

  async #execute<Row extends object>(
    client: PoolClient,
    statement: Statement<Row>,
    values: readonly unknown[],
  ): Promise<Row[]> {
    const started = performance.now()
    try {
      const result = await client.query<Row>({
        name: statement.name,
        text: statement.text,
        values: [...values],
        ...(statement.may_take_long && { query_timeout: NO_TIMEOUT_MS }),
      })
      return result.rows
    } catch (error) {
      // Also when the work that asked swallows it.
      this.#judge(error)
      throw error
    } finally {
      this.#observe(statement.name, (performance.now() - started) / 1000)
    }
  }
}

type CopyStream = ReturnType<typeof copyTo> & { query_timeout?: number; callback?: () => void }

async function copyOut(
  client: PoolClient,
  text: string,
  take: (bytes: Buffer) => void | Promise<void>,
): Promise<number> {
  const stream: CopyStream = copyTo(text)
  stream.query_timeout = NO_TIMEOUT_MS
  client.query(stream)
  try {
    for await (const bytes of stream.iterator({ destroyOnReturn: false })) await take(bytes)
    return stream.rowCount
  } finally {
    // A reader that fails must not leave an answer on the connection, nor the driver its timer.
    stream.resume()
    stream.callback?.()
  }
}

function ignoreLoss(): void {}
