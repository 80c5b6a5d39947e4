// The record of calls: who may see which, and what of them.

import type { Queryable } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { isUuid } from '../platform/tokens.ts'
import { ALL_BUCKETS, bucketOf, timeOf } from '../wallet/bucket.ts'
import { END_OF_TIME } from '../wallet/months.ts'
import { type CallRow, SELECT_CALL, SELECT_CALLS } from './calls-store.ts'
import { findTimes } from './matching-times.ts'

export const CALL_STATUSES = ['ok', 'cut', 'failed'] as const
export const BILLING_MODES = ['developer', 'user'] as const

/** What a list or a summary is narrowed to. */
export type CallFilters = {
  model?: string
  key_id?: string
  client_id?: string
  external_user_id?: string
  status?: (typeof CALL_STATUSES)[number]
  billing_mode?: (typeof BILLING_MODES)[number]
}

export type CallsAsked = CallFilters & { from?: string; to?: string; cursor?: string }

/** What one who may see a call sees of it. */
export type Call = CallRow

export type CallPage = { data: Call[]; has_more: boolean; next_cursor: string | null }

const BEGINNING_OF_TIME = new Date(0)

/** Of one's own wallet, and of users of one's apps without their balances. The cursor is an id. */
export async function listCalls(
  db: Queryable,
  account_id: string,
  asked: CallsAsked & { limit: number },
): Promise<CallPage> {
  const { cursor, limit, key_id, external_user_id } = asked
  if (cursor !== undefined && !isUuid(cursor)) {
    throw new ApiError('bad_request', {
      message: 'query.cursor is not one of ours.',
      param: 'cursor',
    })
  }
  const from = readTime('from', asked.from) ?? BEGINNING_OF_TIME
  const to = readTime('to', asked.to) ?? END_OF_TIME
  // The cursor is a bound of the time too, so that a later page reads nothing of the earlier ones.
  const before = cursor === undefined ? to : new Date(timeOf(cursor).getTime() + 1)
  const range = { from, to: before < to ? before : to }
  const filters = filterValues(asked)
  const is_narrowed = filters.some((value) => value !== null)
  const times = is_narrowed
    ? await findTimes(db, account_id, {
        ...range,
        filters,
        by_key: key_id !== undefined,
        by_user: external_user_id !== undefined,
        wanted: limit + 1,
      })
    : [range]
  const rows = await db.run(SELECT_CALLS, [
    account_id,
    bucketOf(account_id),
    ALL_BUCKETS,
    times.map((time) => time.from),
    times.map((time) => time.to),
    cursor ?? null,
    ...filters,
    limit + 1,
  ])
  const data = rows.slice(0, limit).map((row) => showTo(account_id, row))
  const has_more = rows.length > limit
  return { data, has_more, next_cursor: has_more ? (data.at(-1)?.id ?? null) : null }
}

/** In the order that the statements have them: model, key, app, external user, status, billing mode. */
export function filterValues(filters: CallFilters): (string | null)[] {
  const { model, key_id, client_id, external_user_id, status, billing_mode } = filters
  if (key_id !== undefined && !isUuid(key_id)) {
    throw new ApiError('bad_request', {
      message: 'query.key_id is no id of a key.',
      param: 'key_id',
    })
  }
  return [model, key_id, client_id, external_user_id, status, billing_mode].map(
    (value) => value ?? null,
  )
}

export function readTime(name: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const at = new Date(text)
  if (!Number.isNaN(at.getTime()) && at >= BEGINNING_OF_TIME && at <= END_OF_TIME) return at
  throw new ApiError('bad_request', {
    message: `query.${name} is no time we know.`,
    param: name,
    hint: 'Send it like 2030-01-31T00:00:00Z.',
  })
}

export async function findCall(db: Queryable, id: string): Promise<CallRow | undefined> {
  if (!isUuid(id)) return undefined
  return (await db.run(SELECT_CALL, [id, bucketOf(id)]))[0]
}

/** A developer does not see a user's balance, nor a user the developer's keys. */
export function showTo(account_id: string, row: CallRow): Call {
  const pays = row.wallet_id === account_id
  return {
    ...row,
    balance_before: pays ? row.balance_before : null,
    balance_after: pays ? row.balance_after : null,
    key_id: row.developer_id === account_id ? row.key_id : null,
  }
}
