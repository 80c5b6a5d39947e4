// SQL of what the last checks have found, of the seals, and of what the book looks like to operators.

import { statement } from '../platform/db.ts'

export type CheckRow = {
  part: string
  checked_at: Date
  duration_ms: number
  checked: bigint
  differences: bigint
  found: { name: string; differences: number; first: string | null }[]
  totals: Record<string, string> | null
}

// The later one stays: two processes may check the same part.
export const RECORD_CHECK = statement<object>(
  'wallet.record_check',
  `insert into ledger_check as c (part, checked_at, duration_ms, checked, differences, found, totals)
   values ($1::text, $2::timestamptz, $3::integer, $4::bigint, $5::bigint, $6::jsonb, $7::jsonb)
   on conflict (part) do update
   set checked_at = excluded.checked_at, duration_ms = excluded.duration_ms, checked = excluded.checked,
     differences = excluded.differences, found = excluded.found, totals = excluded.totals
   where c.checked_at <= excluded.checked_at`,
)

export const LIST_CHECKS = statement<CheckRow>(
  'wallet.list_checks',
  `select part, checked_at, duration_ms, checked, differences, found, totals
   from ledger_check
   order by checked_at desc, part
   limit 100`,
)

export type SealRow = {
  month: string
  sealed_at: Date
  archived_at: Date | null
  digest: string
  previous_digest: string
}

export const LIST_LAST_SEALS = statement<SealRow>(
  'wallet.list_last_seals',
  `select to_char(month, 'YYYY-MM') as month, sealed_at, archived_at, digest, previous_digest
   from ledger_seal
   order by ledger_seal.month desc
   limit $1::integer`,
)

export type HoldSums = {
  count: bigint
  credits: bigint
  oldest_at: Date | null
  by_age: { younger_than_seconds: number | null; count: number; credits: number }[]
}

// Open holds are as many as calls that run, so all of them are read. $3 are the ages in seconds at which a group ends.
export const SUM_HOLDS = statement<HoldSums>(
  'wallet.sum_holds',
  `with h as materialized (
     select amount, id_time(id) as placed_at,
       width_bucket(extract(epoch from $2::timestamptz - id_time(id)), $3::double precision[]) as age
     from hold
     where bucket = any ($1::smallint[])
   )
   select count(*) as count, coalesce(sum(amount), 0)::bigint as credits, min(placed_at) as oldest_at,
     (select json_agg(json_build_object('younger_than_seconds', ($3::double precision[])[a.age + 1],
        'count', g.count, 'credits', g.credits) order by a.age)
      from generate_series(0, cardinality($3::double precision[])) a (age)
      cross join lateral (
        select count(*) as count, coalesce(sum(h.amount), 0) as credits from h where h.age = a.age
      ) g) as by_age
   from h`,
)

export type OpenHold = {
  id: string
  account_id: string
  amount: bigint
  placed_at: Date
  expires_at: Date
  node_id: string
}

/** Oldest first. */
export const LIST_HOLDS = statement<OpenHold>(
  'wallet.list_holds',
  `select id, wallet_id as account_id, amount, id_time(id) as placed_at, expires_at, node_id
   from hold
   where bucket = any ($1::smallint[])
     and id > $2::uuid
     and id_time(id) <= $3::timestamptz
   order by id
   limit $4::integer`,
)

export type ChainRow = {
  wallet_seq: bigint
  transaction_id: string
  kind: string
  amount: bigint
  balance_before: bigint
  balance_after: bigint
  promotional_after: bigint
  description: string | null
  at: Date
}

/** Newest first. */
export const LIST_CHAIN = statement<ChainRow>(
  'wallet.list_chain',
  `select wallet_seq, tx as transaction_id, kind::text as kind, amount, balance_after - amount as balance_before,
     balance_after, promotional_after, description, at
   from journal
   where bucket = $1::smallint and owner = $2::uuid and wallet_seq < $3::bigint
   order by wallet_seq desc
   limit $4::integer`,
)

/** Whether the database refuses a wallet below zero. */
export const SELECT_GUARD = statement<{ guarded: boolean }>(
  'wallet.select_guard',
  `select exists (
     select from pg_constraint
     where conrelid = 'wallet'::regclass and conname = 'wallet_is_never_negative' and convalidated and conenforced
   ) as guarded`,
)
