// One session of PostgreSQL: how it is opened, which time limits it has, and what it may say by the way. Every
// connection of the service is made here or, by the pool, from the same pieces.
//
// The limits are set by a statement after connecting, never in the startup packet: PgBouncer refuses `options` there.

import { Client, type ClientBase, type ClientConfig, types as pgTypes, TypeOverrides } from 'pg'

const CONNECT_TIMEOUT_MS = 5_000
/** Past the server's own limit for a statement: only a server that answers nothing at all comes this far. */
const READ_TIMEOUT_MS = 35_000

/** By name, and written as the server shows it, so that its answer can be compared. */
export type SessionSettings = Readonly<Record<string, string>>

// The server ends what takes too long, not a timer of ours, so no answer is ever left unread.
const SETTINGS: SessionSettings = {
  statement_timeout: '30s',
  lock_timeout: '10s',
  // Nothing here waits for anybody else in the middle of a transaction; who does so holds locks that others need.
  idle_in_transaction_session_timeout: '5s',
  timezone: 'UTC',
}

export type SessionOptions = {
  url: string
  application_name: string
  /** On top of the settings that every session has. */
  settings?: SessionSettings
  /** How long an answer is waited for; 0 is for ever. */
  query_timeout?: number
  /** The session has committed, but only here: see `watchStandbyWait`. */
  onStandbyWaitCancelled?: () => void
}

// int8 is bigint: money never passes through a double.
const types = new TypeOverrides()
types.setTypeParser(pgTypes.builtins.INT8, (text: string) => BigInt(text))

/** For whoever connects by other means than `openClient` and then calls `applySettings`. */
export function connectionConfig(url: string, application_name: string): ClientConfig {
  return {
    connectionString: url,
    application_name,
    types,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    query_timeout: READ_TIMEOUT_MS,
  }
}

/** A connection that has its settings. It is never left open when it cannot be used. */
export async function openClient(options: SessionOptions): Promise<Client> {
  const { url, application_name, settings, query_timeout = READ_TIMEOUT_MS } = options
  const client = new Client({ ...connectionConfig(url, application_name), query_timeout })
  // A broken connection shows at the next query; without a listener it would end the process.
  client.on('error', () => {})
  if (options.onStandbyWaitCancelled) watchStandbyWait(client, options.onStandbyWaitCancelled)
  try {
    await client.connect()
    await applySettings(client, settings)
    return client
  } catch (error) {
    void client.end().catch(() => {})
    throw error
  }
}

/** One round trip. Throws unless the server says that it took every one of them. */
export async function applySettings(client: ClientBase, more: SessionSettings = {}): Promise<void> {
  const settings = { ...SETTINGS, ...more }
  const question = {
    text: `select name, set_config(name, value, false) as taken
           from unnest($1::text[], $2::text[]) as given (name, value)`,
    values: [Object.keys(settings), Object.values(settings)],
    query_timeout: CONNECT_TIMEOUT_MS,
  }
  const { rows } = await client.query<{ name: string; taken: string }>(question)
  const taken = new Map(rows.map((row) => [row.name, row.taken]))
  for (const [name, value] of Object.entries(settings)) {
    if (taken.get(name) === value) continue
    throw new Error(`the database set ${name} to ${taken.get(name)} instead of ${value}`)
  }
}

/**
 * A commit waits for the synchronous standby. When somebody cancels that wait the server warns and then reports
 * success, but the change is in one place only and may be lost in a failover. The warning is known by where it comes
 * from, because its text is in the server's language.
 */
export function watchStandbyWait(client: ClientBase, onCancelled: () => void): void {
  client.on('notice', (notice) => {
    if (notice.routine === 'SyncRepWaitForLSN') onCancelled()
  })
}
