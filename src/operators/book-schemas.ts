// What operators read of the book, as it travels.

import { Type } from 'typebox'
import { Credits, Nullable, Timestamp } from '../http/schemas.ts'
import type { HoldSums as Sums } from '../wallet/book-views.ts'
import type { BookState } from '../wallet/check-record.ts'
import { toText } from './user-schemas.ts'

const Count = (example: number) => Type.Integer({ examples: [example] })

export const ProofDescription = Type.Object({
  name: Type.String({ examples: ['transactions_sum_to_zero'] }),
  checked: Count(1204),
  differences: Count(0),
  first: Nullable(Type.String({ description: 'The first difference, in words.' })),
})

export const HoldSums = Type.Object({
  count: Count(3),
  credits: Credits,
  oldest_at: Nullable(Timestamp),
  by_age: Type.Array(
    Type.Object({
      younger_than_seconds: Nullable(
        Type.Number({ description: 'Null: all that are older.', examples: [60] }),
      ),
      count: Count(3),
      credits: Type.Integer({ examples: [24_000] }),
    }),
  ),
})

const Check = Type.Object({
  part: Type.String({
    description:
      '`all`: everything since the last seal. `book`: what spans buckets. `bucket n`: one of the 64 parts that wallets are in.',
    examples: ['bucket 17'],
  }),
  ok: Type.Boolean(),
  checked_at: Timestamp,
  duration_ms: Count(12),
  checked: Count(1204),
  differences: Count(0),
  found: Type.Array(Type.Omit(ProofDescription, ['checked']), {
    description: 'The proofs that differ.',
  }),
})

const Seal = Type.Object({
  month: Type.String({ examples: ['2026-10'] }),
  sealed_at: Timestamp,
  archived_at: Nullable(Timestamp),
  digest: Type.String(),
  previous_digest: Type.String(),
})

export const BookDescription = Type.Object({
  ok: Nullable(
    Type.Boolean({ description: 'Whether every last check found it right. Null: none was made.' }),
  ),
  checks: Type.Array(Check, { description: 'Latest first.' }),
  seals: Type.Array(Seal, { description: 'Latest first.' }),
  accounts: Nullable(
    Type.Object({
      as_of: Timestamp,
      sum: Type.String({ description: 'Of all of them.', examples: ['0'] }),
      totals: Type.Record(Type.String(), Type.String(), {
        description: 'In credits, as text: they may be larger than JSON numbers can be.',
        examples: [{ wallet: '12000000', external: '-12000000' }],
      }),
    }),
  ),
  wallets_below_zero: Nullable(
    Type.Integer({
      description:
        '0: the database refuses one, and every check looks again. Null: it does not refuse one now, and only a check can say.',
      examples: [0],
    }),
  ),
  holds: HoldSums,
})

export function presentBook(state: BookState, holds: Sums) {
  const checks = state.checks.map(presentCheck)
  return {
    ok: checks.length === 0 ? null : checks.every((check) => check.ok),
    checks,
    seals: state.seals.map((seal) => ({
      ...seal,
      sealed_at: seal.sealed_at.toISOString(),
      archived_at: toText(seal.archived_at),
    })),
    accounts: accountsOf(state),
    wallets_below_zero: state.wallets_below_zero,
    holds: presentHolds(holds),
  }
}

function presentCheck(check: BookState['checks'][number]) {
  const { part, duration_ms, found } = check
  return {
    part,
    ok: check.differences === 0n,
    checked_at: check.checked_at.toISOString(),
    duration_ms,
    checked: Number(check.checked),
    differences: Number(check.differences),
    found,
  }
}

export function presentHolds({ count, credits, oldest_at, by_age }: Sums) {
  return { count: Number(count), credits, oldest_at: toText(oldest_at), by_age }
}

/** As the latest check that added them up has found them. */
function accountsOf({ checks }: BookState) {
  for (const { totals, checked_at } of checks) {
    if (!totals) continue
    const sum = Object.values(totals).reduce((total, credits) => total + BigInt(credits), 0n)
    return { as_of: checked_at.toISOString(), sum: sum.toString(), totals }
  }
  return null
}
