// One batch, one statement, one commit: items as columns on the way out, rows in item order on the way back.

import { toJson } from '../../platform/money.ts'
import { bucketOf } from '../bucket.ts'
import { countersOf, type Hold, type HoldRequest, type SettleRequest } from '../holds.ts'
import type { PromotionalCredits } from '../promotional.ts'
import { type HoldRow, LEDGER_BATCH, type SettleRow } from '../store.ts'
import type { LaneConnection } from './connection.ts'

/** `deadline_ms`: by the server's clock, after which nothing may be held any more. */
export type HoldItem = { request: HoldRequest; deadline_ms: number }

/** Without a charge, the hold is given back. */
export type SettleItem = { hold: Hold; charge?: SettleRequest }

export type LedgerBatch = {
  settles: readonly SettleItem[]
  holds: readonly HoldItem[]
  node_id: string
  lease_ms: number
  expires_after_ms: number
  promotional_credits: PromotionalCredits
}

export type LedgerAnswers = { settles: SettleRow[]; holds: HoldRow[] }

export async function writeBatch(
  connection: LaneConnection,
  batch: LedgerBatch,
): Promise<LedgerAnswers> {
  const { holds, settles } = batch
  const rows = await connection.run(LEDGER_BATCH, [
    column(settles, settleRow),
    limitColumn(settles.map(({ hold }) => hold.spend)),
    toJson(settles.map(({ charge }) => describe(charge))),
    batch.promotional_credits === 'as_money',
    column(holds, holdRow),
    limitColumn(holds.map(({ request }) => countersOf(request))),
    batch.node_id,
    `${batch.lease_ms} milliseconds`,
    `${batch.expires_after_ms} milliseconds`,
  ])
  return {
    settles: inOrder(rows.filter((row) => row.kind === 'settle')),
    holds: inOrder(rows.filter((row) => row.kind === 'hold')),
  }
}

/** As the type hold_item has it. */
function holdRow({ request, deadline_ms }: HoldItem): string {
  const { id, wallet_id, min_credits, max_credits, held_credits, waits } = request
  const growth = `${held_credits ?? ''},${waits ?? ''}`
  return `${bucketOf(wallet_id)},${id},${wallet_id},${min_credits},${max_credits},${growth},${deadline_ms}`
}

/** As the type settle_item has it. */
function settleRow({ hold, charge }: SettleItem): string {
  const { id, wallet_id } = hold
  return `${bucketOf(wallet_id)},${id},${wallet_id},${charge?.used_credits ?? ''},${charge?.cost_credits ?? ''}`
}

/**
 * As the type limit_item has them: each with the place of the item it binds, counted from 1 as the database does. Empty
 * where nobody has a limit: the database then looks at no counter.
 */
function limitColumn(spends: readonly Hold['spend'][]): string {
  const limits = spends.flatMap((counters = [], index) =>
    counters.map((counter) => ({ ...counter, item: index + 1 })),
  )
  return column(
    limits,
    ({ item, bucket, owner_id, period, limit }) =>
      `${item},${bucket},${owner_id},${period},${limit}`,
  )
}

/**
 * An array of a composite type as PostgreSQL reads it; an empty field is null. Ids, dates and whole numbers need no
 * quotes of their own; the driver would look for something to escape in each of them.
 */
function column<Item>(items: readonly Item[], rowOf: (item: Item) => string): string {
  let text = '{'
  for (const item of items) text += text.length > 1 ? `,"(${rowOf(item)})"` : `"(${rowOf(item)})"`
  return `${text}}`
}

function describe(charge: SettleRequest | undefined): object {
  return charge ? { ...charge.usage, event: charge.event } : {}
}

function inOrder<Row extends { item: number }>(rows: readonly Row[]): Row[] {
  return rows.toSorted((left, right) => left.item - right.item)
}
