// How sending to webhooks goes: what waits, for whom, and where it fails.

import type { Queryable } from '../platform/db.ts'
import { type BacklogRow, type FailingRow, LIST_BACKLOG, LIST_FAILING } from './health-store.ts'

const WEBHOOKS_MAX = 200
const DELIVERIES_MAX = 1_000
const HALF_HOURS_MAX = 5_000
const FAILING_MAX = 100

export type Backlog = {
  webhooks: number
  pending: number
  due: number
  /** Of what is due: since when. */
  oldest_due_at: Date | null
  /** False: there is more than was counted. */
  is_complete: boolean
  rows: BacklogRow[]
}

export async function readBacklog(db: Queryable): Promise<Backlog> {
  const rows = await db.run(LIST_BACKLOG, [WEBHOOKS_MAX, DELIVERIES_MAX])
  const due = rows.filter((row) => row.due > 0n)
  return {
    webhooks: rows.length,
    pending: Number(rows.reduce((sum, row) => sum + row.pending, 0n)),
    due: Number(due.reduce((sum, row) => sum + row.due, 0n)),
    oldest_due_at: due.at(0)?.next_due_at ?? null,
    is_complete:
      rows.length < WEBHOOKS_MAX && rows.every((row) => row.pending < BigInt(DELIVERIES_MAX)),
    rows,
  }
}

export async function listFailing(db: Queryable): Promise<FailingRow[]> {
  return await db.run(LIST_FAILING, [HALF_HOURS_MAX, FAILING_MAX])
}
