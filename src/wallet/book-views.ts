// What operators see of the book: open holds by age, and the chain of a wallet, line by line.

import { toPage } from '../http/schemas.ts'
import type { Queryable } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { CREDITS_MAX } from '../platform/money.ts'
import { isUuid } from '../platform/tokens.ts'
import { ALL_BUCKETS, bucketOf } from './bucket.ts'
import {
  type ChainRow,
  type HoldSums,
  LIST_CHAIN,
  LIST_HOLDS,
  type OpenHold,
  SUM_HOLDS,
} from './check-record-store.ts'

/** Where a group of ages ends, in seconds. */
const AGES = [10, 60, 300, 900, 3600]
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

export type { HoldSums, OpenHold } from './check-record-store.ts'

export async function sumHolds(db: Queryable, now: Date): Promise<HoldSums> {
  const [sums] = await db.run(SUM_HOLDS, [ALL_BUCKETS, now, AGES])
  if (!sums) throw new Error('a sum has one row')
  return sums
}

/** Oldest first. */
export async function listHolds(
  db: Queryable,
  page: { placed_until: Date; cursor: string | undefined; limit: number },
) {
  const after = page.cursor ?? FIRST_ID
  if (!isUuid(after)) throw wrongCursor()
  const rows = await db.run(LIST_HOLDS, [ALL_BUCKETS, after, page.placed_until, page.limit + 1])
  return toPage<OpenHold>(rows, page.limit, (row) => row.id)
}

/** `promotional_before` is null where the line before it is in an archive. */
export type ChainLine = ChainRow & { promotional_before: bigint | null }

/** Newest first. The cursor is the place in the chain: whatever comes in, no line is skipped or shown twice. */
export async function listChain(
  db: Queryable,
  account_id: string,
  page: { cursor: string | undefined; limit: number },
) {
  const below = page.cursor === undefined ? CREDITS_MAX : readPlace(page.cursor)
  const rows = await db.run(LIST_CHAIN, [bucketOf(account_id), account_id, below, page.limit + 1])
  const lines = rows.map((row, index): ChainLine => {
    const first = row.wallet_seq === 1n ? 0n : null
    return { ...row, promotional_before: rows[index + 1]?.promotional_after ?? first }
  })
  return toPage(lines, page.limit, (line) => String(line.wallet_seq))
}

function readPlace(cursor: string): bigint {
  if (/^[1-9][0-9]{0,15}$/.test(cursor)) return BigInt(cursor)
  throw wrongCursor()
}

function wrongCursor(): ApiError {
  return new ApiError('bad_request', {
    message: 'query.cursor is not one of ours.',
    param: 'cursor',
  })
}
