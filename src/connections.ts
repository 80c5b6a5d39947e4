// How many database connections the service may open with its settings, and whether the server has them. A start
// that cannot fit stops and says so; it would fail under its first load otherwise.

import { type Config, ConfigError } from './config.ts'
import { readConnectionRoom } from './platform/connection-room.ts'

/** What one process may have open beside its pool. `config.ts` and `docs/operations.md` name the sum. */
const BESIDE_THE_POOL = {
  // The poll of revocations and its LISTEN.
  revocations: 2,
  // Two lanes of the ledger, each with one connection for its batches and one for what waits apart.
  lanes: 4,
  lease: 1,
  migration: 1,
}

/** Of a parent that does no background work: what its probes ask. */
const PROBES = 1

/** For `svc` commands beside the service, and for what the server keeps for its superuser. */
const SPARE = 50
const EMBEDDED = { min: 200, max: 10_000 }

type Sizes = Pick<Config, 'ROLE' | 'WORKERS' | 'DATABASE_POOL_SIZE'>

export function connectionsNeeded(config: Sizes): number {
  const beside = Object.values(BESIDE_THE_POOL).reduce((sum, count) => sum + count, 0)
  const probes = config.WORKERS > 1 && config.ROLE === 'api' ? PROBES : 0
  return processesOf(config) * (config.DATABASE_POOL_SIZE + beside) + probes
}

/** `max_connections` of a server that we run for these settings. */
export function embeddedConnections(config: Sizes): number {
  return Math.min(Math.max(connectionsNeeded(config) + SPARE, EMBEDDED.min), EMBEDDED.max)
}

/** Says nothing when the limit cannot be known, as behind a pooler. */
export async function requireConnectionRoom(url: string, config: Sizes): Promise<void> {
  const needed = connectionsNeeded(config)
  const room = await readConnectionRoom(url)
  if (room === undefined || needed <= room) return
  const { WORKERS, DATABASE_POOL_SIZE } = config
  throw new ConfigError(
    `WORKERS=${WORKERS} and DATABASE_POOL_SIZE=${DATABASE_POOL_SIZE} need ${needed} database connections, ` +
      `the server has ${room}: lower one of them, or raise max_connections of the server`,
  )
}

/** In a cluster also the parent, if it does the background work, and the one more that SIGHUP starts at a time. */
function processesOf({ ROLE, WORKERS }: Sizes): number {
  if (WORKERS === 1 || ROLE === 'worker') return 1
  return WORKERS + (ROLE === 'all' ? 2 : 1)
}
