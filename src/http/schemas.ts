// Pieces of wire schemas that several domains share.

import { type TSchema, Type } from 'typebox'
import { ApiError } from '../platform/errors.ts'
import { isUuid } from '../platform/tokens.ts'

/** Text that can be stored: no NUL, nothing unbounded. */
export function Text(options: {
  max: number
  min?: number
  description?: string
  examples?: string[]
}) {
  const { max, min = 0, ...rest } = options
  return Type.String({ ...rest, minLength: min, maxLength: max, pattern: '^[^\\u0000]*$' })
}

export const Timestamp = Type.String({
  format: 'date-time',
  description: 'ISO 8601, UTC.',
  examples: ['2026-11-15T09:30:00.000Z'],
})

export const Id = Type.String({ examples: ['01989f2e-7c1a-7b3e-9d7e-2f6f0d1c5a10'] })

/** An amount of credits: bigint in the code, a plain integer on the wire. */
export const Credits = Type.Unsafe<bigint>({
  type: 'integer',
  description: 'Credits; 1,000,000 = $1.00.',
  examples: [1_000_000],
})

export const NullableCredits = Type.Union([
  Type.Integer({ description: 'Credits; 1,000,000 = $1.00.', examples: [5_000_000] }),
  Type.Null(),
])

/** Exact: amounts stay below 2^53. The serialiser takes bigint only where a field cannot be null. */
export function nullableCredits(amount: bigint | null): number | null {
  return amount === null ? null : Number(amount)
}

export function Nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()])
}

/** Where the processor's pages send a browser back to: nowhere but to a page of the console. */
export const ReturnPath = Type.String({
  maxLength: 200,
  pattern: '^/console(/[A-Za-z0-9_-]+)*/?$',
  description: 'A page of the console to come back to, without a query.',
  examples: ['/console/wallet'],
})

export const Success = Type.Object({ success: Type.Literal(true) })

export const PageQuery = Type.Object({
  limit: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 50,
    description: 'How many to return.',
  }),
  cursor: Type.Optional(
    Type.String({ maxLength: 200, description: '`next_cursor` of the page before.' }),
  ),
})

export function Page<Item extends TSchema>(item: Item) {
  return Type.Object({
    data: Type.Array(item),
    has_more: Type.Boolean(),
    next_cursor: Type.Union([Type.String(), Type.Null()]),
  })
}

/** Cuts a list that was read with one row more than asked for. */
export function toPage<Item>(rows: Item[], limit: number, cursorOf: (row: Item) => string) {
  const data = rows.slice(0, limit)
  const last = data.at(-1)
  const has_more = rows.length > limit
  return { data, has_more, next_cursor: has_more && last !== undefined ? cursorOf(last) : null }
}

/** Where to go on in a list that is read by id, newest first; null is its beginning. */
export function readCursor(cursor: string | undefined): string | null {
  if (cursor === undefined) return null
  if (isUuid(cursor)) return cursor
  throw new ApiError('bad_request', {
    message: 'query.cursor is not one of ours.',
    param: 'cursor',
  })
}

/** For routes whose handler reads the input itself: their schema is for the documentation. */
export function acceptAll() {
  return (value: unknown) => ({ value })
}
