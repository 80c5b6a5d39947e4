// The wallet's statement: every posting, newest first, each with the balance before and after it.

import type { Queryable } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { CREDITS_MAX } from '../platform/money.ts'
import { bucketOf } from './bucket.ts'
import { SELECT_STATEMENT, type StatementRow } from './store.ts'

export type Transaction = Omit<StatementRow, 'wallet_seq'>

export type TransactionPage = {
  data: Transaction[]
  has_more: boolean
  next_cursor: string | null
}

const PAGE_LIMIT = 1_000

/** The cursor is the place in the chain, so a page never skips or repeats a posting, whatever comes in. */
export async function listTransactions(
  db: Queryable,
  page: { account_id: string; limit: number; cursor?: string },
): Promise<TransactionPage> {
  const { account_id, cursor } = page
  const limit = Math.min(page.limit, PAGE_LIMIT)
  const below = cursor === undefined ? CREDITS_MAX : readCursor(cursor)
  const rows = await db.run(SELECT_STATEMENT, [bucketOf(account_id), account_id, below, limit + 1])
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const has_more = rows.length > limit
  return {
    data: shown.map(presentTransaction),
    has_more,
    next_cursor: has_more && last ? String(last.wallet_seq) : null,
  }
}

function presentTransaction(row: StatementRow): Transaction {
  const { id, kind, amount, balance_before, balance_after, description, generation_id } = row
  const { client_id, app_name, created_at } = row
  const call = { generation_id, client_id, app_name }
  return { id, kind, amount, balance_before, balance_after, description, ...call, created_at }
}

function readCursor(cursor: string): bigint {
  if (/^[1-9][0-9]{0,15}$/.test(cursor)) return BigInt(cursor)
  throw new ApiError('bad_request', {
    message: 'The cursor is not one that was given out.',
    param: 'cursor',
  })
}
