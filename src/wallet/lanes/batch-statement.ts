// One batch, one statement, one commit: items as columns on the way out, rows in item order on the way back.

import { toJson } from '../../platform/money.ts'
import { bucketOf } from '../bucket.ts'
import { countersOf, type Hold, type HoldRequest, type SettleRequest } from '../holds.ts'
import type { LimitedCounter } from '../spend-limits.ts'
import { type HoldRow, LEDGER_BATCH, type SettleRow } from '../store.ts'
import type { LaneConnection } from './connection.ts'

/** `deadline`: by the server's clock, after which nothing may be held any more. */
export type HoldItem = { request: HoldRequest; deadline: Date }

/** Without a charge, the hold is given back. */
export type SettleItem = { hold: Hold; charge?: SettleRequest }

export type LedgerBatch = {
  settles: readonly SettleItem[]
  holds: readonly HoldItem[]
  node_id: string
  lease_ms: number
  expires_after_ms: number
}

export type LedgerAnswers = { settles: SettleRow[]; holds: HoldRow[] }

export async function writeBatch(
  connection: LaneConnection,
  batch: LedgerBatch,
): Promise<LedgerAnswers> {
  const { holds, settles } = batch
  const rows = await connection.run(LEDGER_BATCH, [
    ...settleColumns(settles),
    holdColumn(holds),
    limitColumn(holds),
    batch.node_id,
    `${batch.lease_ms} milliseconds`,
    `${batch.expires_after_ms} milliseconds`,
  ])
  return {
    settles: inOrder(rows.filter((row) => row.kind === 'settle')),
    holds: inOrder(rows.filter((row) => row.kind === 'hold')),
  }
}

function holdColumn(holds: readonly HoldItem[]): string {
  return compositeColumn(holds, ({ request, deadline }) => [
    bucketOf(request.wallet_id),
    request.id,
    request.wallet_id,
    request.min_credits,
    request.max_credits,
    request.held_credits ?? '',
    deadline.toISOString(),
  ])
}

function limitColumn(holds: readonly HoldItem[]): string {
  const limits = placed(holds.map(({ request }) => countersOf(request)))
  return compositeColumn(limits, ({ item, bucket, owner_id, period, limit }) => [
    item,
    bucket,
    owner_id,
    period,
    limit,
  ])
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
  const limits = placed(spends)
  return [
    column(limits, (limit) => limit.item),
    column(limits, (limit) => limit.bucket),
    column(limits, (limit) => limit.owner_id),
    column(limits, (limit) => limit.period),
    column(limits, (limit) => limit.limit),
  ]
}

/** Each counter with the place of the item it binds, counted from 1 as the database does. */
function placed(spends: readonly Hold['spend'][]): (LimitedCounter & { item: number })[] {
  return spends.flatMap((counters = [], index) =>
    counters.map((counter) => ({ ...counter, item: index + 1 })),
  )
}

type Field = string | number | bigint

/**
 * An array as PostgreSQL reads it. Ids, dates and whole numbers need no quotes; the driver would look for
 * something to escape in each of them.
 */
function column<Item>(items: readonly Item[], pick: (item: Item) => Field | undefined): string {
  let text = '{'
  for (const item of items) {
    if (text.length > 1) text += ','
    text += pick(item) ?? 'null'
  }
  return `${text}}`
}

/** The same for rows of a composite type. */
function compositeColumn<Item>(
  items: readonly Item[],
  pick: (item: Item) => readonly Field[],
): string {
  return column(items, (item) => `"(${pick(item).join(',')})"`)
}

function describe(charge: SettleRequest | undefined): object {
  return charge ? { ...charge.usage, event: charge.event } : {}
}

function inOrder<Row extends { item: number }>(rows: readonly Row[]): Row[] {
  return rows.toSorted((left, right) => left.item - right.item)
}
