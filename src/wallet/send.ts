// One batch, one statement, one commit: items as columns on the way out, rows in item order on the way back.

import { toJson } from '../platform/money.ts'
import { bucketOf } from './bucket.ts'
import type { Hold, HoldRequest, SettleRequest } from './holds.ts'
import type { LaneConnection } from './lane-connection.ts'
import { HOLD_BATCH, type HoldRow, SETTLE_BATCH, type SettleRow } from './store.ts'

/** Without a charge, the hold is given back. */
export type SettleItem = { hold: Hold; charge?: SettleRequest }

export type HoldBatch = {
  node: { node_id: string; epoch: bigint }
  now: Date
  expires_at: Date
  /** The counters that each request counts against. */
  spends: readonly Hold['spend'][]
}

export async function sendHolds(
  connection: LaneConnection,
  requests: readonly HoldRequest[],
  batch: HoldBatch,
): Promise<HoldRow[]> {
  const rows = await connection.run(HOLD_BATCH, [
    column(requests, (request) => bucketOf(request.wallet_id)),
    column(requests, (request) => request.id),
    column(requests, (request) => request.wallet_id),
    column(requests, (request) => request.min_credits),
    column(requests, (request) => request.max_credits),
    ...limitColumns(batch.spends),
    batch.node.node_id,
    batch.node.epoch,
    batch.now,
    batch.expires_at,
  ])
  return inOrder(rows)
}

export async function sendSettles(
  connection: LaneConnection,
  items: readonly SettleItem[],
): Promise<SettleRow[]> {
  const rows = await connection.run(SETTLE_BATCH, [
    column(items, (item) => bucketOf(item.hold.wallet_id)),
    column(items, (item) => item.hold.id),
    column(items, (item) => item.hold.wallet_id),
    column(items, (item) => item.charge?.used_credits),
    column(items, (item) => item.charge?.cost_credits),
    ...limitColumns(items.map((item) => item.hold.spend)),
    toJson(items.map((item) => describe(item.charge))),
  ])
  return inOrder(rows)
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
