// What a test can ask: what came in, how often each key was executed, and whether anybody was paid
// twice.

import { type ControlRoute, control } from './control-call.ts'
import type { Transfer } from './objects.ts'
import type { State } from './state.ts'

const DEFAULT_LIMIT = 1_000
const MAX_LIMIT = 100_000

export const REPORT_ROUTES: readonly ControlRoute[] = [
  control('GET', '', (state) => summarize(state)),
  control('GET', '/requests', (state, { query }) => {
    const filters = ['method', 'path', 'outcome', 'idempotency_key', 'object_id'] as const
    const wanted = filters.flatMap((name) => {
      const value = query.get(name)
      return value === null ? [] : [{ name, value }]
    })
    const requests = state.log.requests(
      (record) => wanted.every(({ name, value }) => record[name] === value),
      readLimit(query),
    )
    return { requests }
  }),
  control('GET', '/keys', (state, { query }) => {
    const key = query.get('key')
    const group = query.get('transfer_group')
    const endpoint = query.get('endpoint')
    const keys = state.log.keys(
      (record) =>
        (key === null || record.key === key) &&
        (group === null || record.transfer_group === group) &&
        (endpoint === null || record.endpoint === endpoint),
      readLimit(query),
    )
    return { keys }
  }),
  control('GET', '/duplicates', (state) => ({ duplicates: findDuplicates(state) })),
]

function readLimit(query: URLSearchParams): number {
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT)
  return Number.isInteger(limit) && limit > 0 ? Math.min(limit, MAX_LIMIT) : DEFAULT_LIMIT
}

function summarize(state: State): object {
  const { world } = state
  const transfers = [...world.transfers.values()]
  return {
    now: state.clock.nowSeconds(),
    seed: state.seed,
    balance: Object.fromEntries(world.platform.available.entries()),
    accounts: world.accounts.size,
    transfers: transfers.length,
    /** Cents that left and were not taken back. */
    transferred_cents: transfers.reduce((sum, row) => sum + row.amount - row.amount_reversed, 0),
    duplicates: findDuplicates(state).length,
    customers: world.customers.size,
    checkout_sessions: world.sessions.size,
    payment_intents: world.payment_intents.size,
    charges: world.charges.size,
    refunds: world.refunds.size,
    disputes: world.disputes.size,
    events: world.events.size(),
    requests: state.log.total(),
    keys: state.keys.size(),
    faults_waiting: state.faults.rules().length,
    webhooks_waiting: state.sender.waiting(),
  }
}

/**
 * Transfers that pay for the same thing: the same transfer_group or, without one, the same metadata
 * to the same account. A transfer that was taken back whole does not count.
 */
function findDuplicates({ world }: State): { purpose: string; transfers: Transfer[] }[] {
  const purposes = new Map<string, Transfer[]>()
  for (const transfer of world.transfers.values()) {
    const purpose = purposeOf(transfer)
    if (purpose === undefined || transfer.reversed) continue
    const known = purposes.get(purpose)
    if (known === undefined) purposes.set(purpose, [transfer])
    else known.push(transfer)
  }
  return [...purposes]
    .filter(([, transfers]) => transfers.length > 1)
    .map(([purpose, transfers]) => ({ purpose, transfers }))
}

function purposeOf({ transfer_group, metadata, destination }: Transfer): string | undefined {
  if (transfer_group !== null) return transfer_group
  const names = Object.keys(metadata).sort()
  if (names.length === 0) return undefined
  return `${destination} ${names.map((name) => `${name}=${metadata[name]}`).join(' ')}`
}
