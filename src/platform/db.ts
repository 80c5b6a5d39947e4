// PostgreSQL: the pool, named statements, transactions, and the one place where SQL errors get a meaning.

import {
  type ClientConfig,
  DatabaseError,
  Pool,
  type PoolClient,
  types as pgTypes,
  TypeOverrides,
} from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { ApiError } from './errors.ts'

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
  observe?: (statement: string, seconds: number) => void
}

const CONNECT_TIMEOUT_MS = 5_000
const STATEMENT_TIMEOUT_MS = 30_000
/** Past the server's own limit: only a server that answers nothing at all comes this far. */
const READ_TIMEOUT_MS = 35_000
/** What the driver takes as never: 0 would mean its default. */
const NO_TIMEOUT_MS = 2 ** 31 - 1
const LOCK_TIMEOUT_MS = 10_000
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000

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

// int8 is bigint: money never passes through a double.
const types = new TypeOverrides()
types.setTypeParser(pgTypes.builtins.INT8, (text: string) => BigInt(text))

export function connectionConfig(url: string, application_name: string): ClientConfig {
  return {
    connectionString: url,
    application_name,
    types,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    query_timeout: READ_TIMEOUT_MS,
    // Session settings, not client timers: the server ends the statement, so no answer is ever left unread.
    options: [
      `-c statement_timeout=${STATEMENT_TIMEOUT_MS}`,
      `-c lock_timeout=${LOCK_TIMEOUT_MS}`,
      `-c idle_in_transaction_session_timeout=${IDLE_IN_TRANSACTION_TIMEOUT_MS}`,
      '-c timezone=UTC',
    ].join(' '),
  }
}

export class Db implements Queryable {
  readonly #pool: Pool
  readonly #observe: (statement: string, seconds: number) => void

  constructor(options: DbOptions) {
    this.#pool = new Pool({
      ...connectionConfig(options.url, options.application_name),
      max: options.pool_size,
      idleTimeoutMillis: 60_000,
    })
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
    return await this.#withClient(async (client) => {
      await client.query('begin')
      try {
        const callbacks: (() => void)[] = []
        const tx: Tx = {
          run: (statement, values = []) => this.#execute(client, statement, values),
          afterCommit: (callback) => callbacks.push(callback),
          copyOut: (text, take) => copyOut(client, text, take),
        }
        const result = await work(tx)
        // A commit after a failed statement that `work` swallowed is answered with ROLLBACK, not an error.
        const { command } = await client.query('commit')
        if (command !== 'COMMIT') throw new Error('a transaction hid the failure of a statement')
        for (const callback of callbacks) callback()
        return result
      } catch (error) {
        await client.query('rollback').catch(() => {})
        throw error
      }
    })
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
  // checked out, and only a broken connection is discarded.
  async #withClient<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
    let client: PoolClient
    try {
      client = await this.#pool.connect()
    } catch (error) {
      throw unavailable(error)
    }
    let broken = false
    // The pool listens only while a connection is idle. One that is lost in use fails its next statement;
    // without a listener it would end the process.
    client.on('error', ignoreLoss)
    try {
      return await work(client)
    } catch (error) {
      broken = isConnectionError(error)
      throw translate(error)
    } finally {
      client.release(broken)
      client.off('error', ignoreLoss)
    }
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

/** The constraint a failed statement ran into, if that is why it failed. */
export function violatedConstraint(error: unknown): string | undefined {
  const cause = error instanceof ApiError ? error.cause : error
  if (!(cause instanceof DatabaseError) || !cause.code?.startsWith('23')) return undefined
  return cause.constraint
}

function translate(error: unknown): unknown {
  if (isConnectionError(error)) return connectionLost(error)
  if (!(error instanceof DatabaseError)) return error
  switch (error.code ?? '') {
    // Text PostgreSQL cannot hold: NUL, or half a surrogate pair. Schemas refuse it first; this is the net.
    case '22021':
    case '22P05':
    case '22P02':
      return new ApiError('bad_request', {
        message: 'The request holds characters that cannot be stored.',
        cause: error,
      })
    // Lock wait and statement time-outs, and the two the server asks us to try again.
    case '55P03':
    case '57014':
    case '40001':
    case '40P01':
      return unavailable(error)
    default:
      return error
  }
}

function unavailable(cause: unknown): ApiError {
  return new ApiError('service_unavailable', { cause, headers: { 'retry-after': '1' } })
}

/** A commit may have arrived before the connection broke: nobody here can know. */
function connectionLost(cause: unknown): ApiError {
  return new ApiError('service_unavailable', {
    message: 'The connection to the database was lost: the change may or may not have been made.',
    hint: 'Look before you repeat it; with an Idempotency-Key simply repeat it.',
    cause,
    headers: { 'retry-after': '1' },
  })
}

function isConnectionError(error: unknown): boolean {
  if (error instanceof ApiError) return false
  if (error instanceof DatabaseError) {
    return /^(08|57P0|53300)/.test(error.code ?? '')
  }
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? error.code : undefined
  if (typeof code === 'string' && /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH)/.test(code))
    return true
  return /Connection terminated|Query read timeout|timeout exceeded when trying to connect|Client has encountered a connection error|not queryable/.test(
    error.message,
  )
}
