// One batch, one statement, one commit: items as columns on the way out, rows in item order on the way back.

import { toJson } from '../../platform/money.ts'
import { bucketOf } from '../bucket.ts'
import type { Hold, HoldRequest, SettleRequest } from '../holds.ts'
import { limitedCounters } from '../spend-limits.ts'
import { HOLD_BATCH, type HoldRow, LEDGER_BATCH, SETTLE_BATCH, type SettleRow } from '../store.ts'
import type { LaneConnection } from './connection.ts'

/** Without a charge, the hold is given back. */
export type SettleItem = { hold: Hold; charge?: SettleRequest }

export type LedgerBatch = {
  settles: readonly SettleItem[]
  holds: readonly HoldRequest[]
  node: { node_id: string; epoch: bigint }
  now: Date
  expires_at: Date
}

export type LedgerAnswers = { settles: SettleRow[]; holds: HoldRow[] }

/** Where there is only one kind, only its function is called: a caller who is alone pays for nothing else. */
export async function sendBatch(
  connection: LaneConnection,
  batch: LedgerBatch,
): Promise<LedgerAnswers> {
  if (batch.settles.length === 0) {
    return { settles: [], holds: inOrder(await connection.run(HOLD_BATCH, holdColumns(batch))) }
  }
  const settles = settleColumns(batch.settles)
  if (batch.holds.length === 0) {
    return { settles: inOrder(await connection.run(SETTLE_BATCH, settles)), holds: [] }
  }
  const rows = await connection.run(LEDGER_BATCH, [...settles, ...holdColumns(batch)])
  return {
    settles: inOrder(rows.filter((row) => row.kind === 'settle')),
    holds: inOrder(rows.filter((row) => row.kind === 'hold')),
  }
}

function holdColumns({ holds, node, now, expires_at }: LedgerBatch): unknown[] {
  return [
    column(holds, (request) => bucketOf(request.wallet_id)),
    column(holds, (request) => request.id),
    column(holds, (request) => request.wallet_id),
    column(holds, (request) => request.min_credits),
    column(holds, (request) => request.max_credits),
    ...limitColumns(holds.map((request) => request.spend ?? limitedCounters(request))),
    // Empty where nobody's hold grows, as it mostly is.
    holds.some(grows) ? column(holds, (request) => request.held_credits) : '{}',
    node.node_id,
    node.epoch,
    now,
    expires_at,
  ]
}

function grows({ held_credits }: HoldRequest): boolean {
  return held_credits !== undefined
}

function settleColumns(items: readonly SettleItem[]): unknown[] {
  return [
    column(items, (item) => bucketOf(item.hold.wallet_id)),
    column(items, (item) => item.hold.id),
    column(items, (item) => item.hold.wallet_id),
    column(items, (item) => item.charge?.used_credits),
    column(items, (item) => item.charge?.cost_credits),
    ...limitColumns(items.map((item) => item.hold.spend)),
    toJson(items.map((item) => describe(item.charge))),
  ]
}

/** Empty columns where nobody has a limit: the database then looks at no counter. */
function limitColumns(spends: readonly Hold['spend'][]): unknown[] {
  const limits = spends.flatMap((counters = [], index) =>
    counters.map((counter) => ({ ...counter, item: index + 1 })),
  )
  return [
    column(limits, (limit) => limit.item),
    column(limits, (limit) => limit.bucket),
    column(limits, (limit) => limit.owner_id),
    column(limits, (limit) => limit.period),
    column(limits, (limit) => limit.limit),
  ]
}

/**
 * An array as PostgreSQL reads it. Ids, dates and whole numbers need no quotes; the driver would look for
 * something to escape in each of them.
 */
function column<Item>(
  items: readonly Item[],
  pick: (item: Item) => string | number | bigint | undefined,
): string {
  let text = '{'
  for (const item of items) {
    if (text.length > 1) text += ','
    text += pick(item) ?? 'null'
  }
  return `${text}}`
}

function describe(charge: SettleRequest | undefined): object {
  return charge ? { ...charge.usage, event: charge.event } : {}
}

function inOrder<Row extends { item: number }>(rows: readonly Row[]): Row[] {
  return rows.toSorted((left, right) => left.item - right.item)
}
