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
    requests.map((request) => bucketOf(request.wallet_id)),
    requests.map((request) => request.id),
    requests.map((request) => request.wallet_id),
    requests.map((request) => request.min_credits),
    requests.map((request) => request.max_credits),
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
    items.map((item) => bucketOf(item.hold.wallet_id)),
    items.map((item) => item.hold.id),
    items.map((item) => item.hold.wallet_id),
    items.map((item) => item.charge?.used_credits ?? null),
    items.map((item) => item.charge?.cost_credits ?? null),
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
    limits.map((limit) => limit.item),
    limits.map((limit) => limit.bucket),
    limits.map((limit) => limit.owner_id),
    limits.map((limit) => limit.period),
    limits.map((limit) => limit.limit),
  ]
}

function describe(charge: SettleRequest | undefined): object {
  return charge ? { ...charge.usage, event: charge.event } : {}
}

function inOrder<Row extends { item: number }>(rows: readonly Row[]): Row[] {
  return rows.toSorted((left, right) => left.item - right.item)
}
