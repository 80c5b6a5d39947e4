// The wallet's statement: every posting, newest first, each with the balance before and after it. It can be narrowed to
// one kind and to a range of times.

import type { Queryable } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { CREDITS_MAX } from '../platform/money.ts'
import { bucketOf } from './bucket.ts'
import { END_OF_TIME } from './months.ts'
import {
  SELECT_STATEMENT,
  SELECT_STATEMENT_OF_KIND,
  SELECT_STATEMENT_PLACES,
  type StatementRow,
} from './statement-store.ts'

export const TRANSACTION_KINDS = [
  'usage',
  'topup',
  'transfer_in',
  'transfer_out',
  'welcome',
  'verified',
  'grant',
  'paid_grant',
  'refund',
  'refund_failed',
  'dispute',
  'dispute_won',
  'dispute_lost',
  'dispute_reinstated',
  'closure',
] as const

export type Transaction = Omit<StatementRow, 'wallet_seq'>

export type TransactionPage = {
  data: Transaction[]
  has_more: boolean
  next_cursor: string | null
}

export type TransactionFilters = {
  kind?: (typeof TRANSACTION_KINDS)[number]
  from?: Date
  to?: Date
}

type TransactionsAsked = TransactionFilters & { account_id: string; limit: number; cursor?: string }

/** Places in the chain: from `low` on, and before `high`. `floor` is where all that was asked for begins. */
type Span = { low: bigint; high: bigint; floor: bigint }

const PAGE_LIMIT = 1_000
const FIRST_PLACE = 1n
/** Calls have no index by kind: so many lines are looked through for a page of them, and the next page goes on. */
const WALK_MAX = 10_000n
const BEGINNING_OF_TIME = new Date(0)

/** The cursor is the place in the chain, so a page never skips or repeats a posting, whatever comes in. */
export async function listTransactions(
  db: Queryable,
  asked: TransactionsAsked,
): Promise<TransactionPage> {
  const { account_id, kind } = asked
  const limit = Math.min(asked.limit, PAGE_LIMIT)
  const span = await findSpan(db, asked)
  const is_indexed = kind !== undefined && kind !== 'usage'
  const rows = await db.run(is_indexed ? SELECT_STATEMENT_OF_KIND : SELECT_STATEMENT, [
    bucketOf(account_id),
    account_id,
    span.high,
    span.low,
    kind ?? null,
    limit + 1,
  ])
  const data = rows.slice(0, limit)
  const next = nextPlace(span, rows, limit)
  return {
    data: data.map(presentTransaction),
    has_more: next !== null,
    next_cursor: next === null ? null : String(next),
  }
}

async function findSpan(db: Queryable, asked: TransactionsAsked): Promise<Span> {
  const { account_id, kind, from, to, cursor } = asked
  const below = cursor === undefined ? CREDITS_MAX : readCursor(cursor)
  const is_walked = kind === 'usage'
  if (!is_walked && !from && !to) return { low: FIRST_PLACE, high: below, floor: FIRST_PLACE }
  const [places] = await db.run(SELECT_STATEMENT_PLACES, [
    bucketOf(account_id),
    account_id,
    from ?? BEGINNING_OF_TIME,
    to ?? END_OF_TIME,
  ])
  const floor = places?.from_place ?? FIRST_PLACE
  const top = places?.to_place ?? FIRST_PLACE
  const high = top < below ? top : below
  const low = is_walked && high - WALK_MAX > floor ? high - WALK_MAX : floor
  return { low, high, floor }
}

function nextPlace(span: Span, rows: StatementRow[], limit: number): bigint | null {
  if (rows.length > limit) return rows[limit - 1]?.wallet_seq ?? null
  return span.low > span.floor ? span.low : null
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
