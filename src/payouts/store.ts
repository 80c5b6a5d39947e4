// The SQL of payouts: claims, their results, reserves, and whom the batch looks at.

import { statement } from '../platform/db.ts'

export type PayoutRow = {
  id: string
  developer_id: string
  stripe_account_id: string
  currency: string
  gross_credits: bigint
  reserve_credits: bigint
  transfer_credits: bigint
  amount_cents: bigint
  earnings_credits: bigint
  rolled_reserve_credits: bigint
  earnings_count: bigint
  period_start: Date
  period_end: Date
  created_at: Date
  first_attempt_at: Date
  status: 'pending' | 'paid' | 'failed'
  attempt: number
  idempotency_key: string
  stripe_transfer_id: string | null
  failure_code: string | null
  failure_message: string | null
}

const COLUMNS = `id, developer_id, stripe_account_id, currency, gross_credits, reserve_credits, transfer_credits,
  amount_cents, earnings_credits, rolled_reserve_credits, earnings_count, period_start, period_end, created_at,
  first_attempt_at, status, attempt, idempotency_key, stripe_transfer_id, failure_code, failure_message`

export type CandidateRow = {
  developer_id: string
  stripe_account_id: string | null
  payouts_enabled: boolean
  payouts_blocked: boolean
  /** By an operator: paid when the account is resumed. */
  suspended: boolean
  mirrored_at: Date | null
  eligible: bigint
  released: bigint
}

/** A stretch of the accounts, whoever may be paid or not: so a page takes about the same time everywhere. */
export const SELECT_CANDIDATES = statement<CandidateRow>(
  'payouts.select_candidates',
  `select a.developer_id, a.stripe_account_id, a.payouts_enabled, a.payouts_blocked, a.mirrored_at,
     (select o.suspended_at is not null from account o where o.id = a.developer_id) as suspended,
     case when a.stripe_account_id is null or a.payouts_blocked then 0
       else unclaimed_until(a.developer_id, $2::timestamptz, $5::smallint[]) end as eligible,
     (select coalesce(sum(r.amount), 0)::bigint from payout_reserve r
      where r.developer_id = a.developer_id and r.rolled_into is null and r.voided_at is null
        and r.release_at <= $3::timestamptz) as released
   from payout_account a
   where a.developer_id > $1::uuid
   order by a.developer_id
   limit $4::integer`,
)

export const COUNT_ACCOUNTS = statement<{ accounts: bigint }>(
  'payouts.count_accounts',
  'select count(*) as accounts from payout_account',
)

export const LOCK_ACCOUNT = statement<{
  stripe_account_id: string | null
  payouts_enabled: boolean
  payouts_blocked: boolean
  /** Null once the account is deleted. */
  suspended: boolean | null
}>(
  'payouts.lock_account',
  `select a.stripe_account_id, a.payouts_enabled, a.payouts_blocked,
     (select o.suspended_at is not null from account o where o.id = a.developer_id) as suspended
   from payout_account a
   where a.developer_id = $1::uuid
   for update`,
)

export const BLOCK_ACCOUNT = statement<object>(
  'payouts.block_account',
  'update payout_account set payouts_blocked = true where developer_id = $1::uuid',
)

export const UNBLOCK_ACCOUNT = statement<object>(
  'payouts.unblock_account',
  `update payout_account set payouts_blocked = false
   where developer_id = $1::uuid and payouts_blocked
   returning developer_id`,
)

/**
 * For one transaction. A developer may have a million earnings; and plans over all partitions are made once, not for
 * each developer.
 */
export const PREPARE_CLAIM = statement<object>(
  'payouts.prepare_claim',
  `select set_config('statement_timeout', '0', true), set_config('plan_cache_mode', 'force_generic_plan', true)`,
)

export type StampedRow = {
  credits: bigint
  count: bigint
  period_start: Date | null
  period_end: Date | null
}

/** Nothing while a payout of the developer is pending. */
export const STAMP_EARNINGS = statement<StampedRow>(
  'payouts.stamp_earnings',
  `with stamped as (
     update developer_earning set payout_id = $2::uuid
     where bucket = any ($4::smallint[])
       and developer_id = $1::uuid and payout_id is null and payable and usage_at <= $3::timestamptz
       and not exists (select from payout where developer_id = $1::uuid and status = 'pending')
     returning amount, usage_at
   ), deltas as (
     insert into earning_delta (developer_id, hour, client_id, earned, not_payable, unclaimed, calls)
     select $1::uuid, date_trunc('hour', usage_at, 'UTC'), '', 0, 0, -sum(amount), 0
     from stamped
     group by 2
   )
   select coalesce(sum(amount), 0)::bigint as credits, count(*) as count, min(usage_at) as period_start,
     max(usage_at) as period_end
   from stamped`,
  { may_take_long: true },
)

export const GIVE_EARNINGS_BACK = statement<{ credits: bigint; count: bigint }>(
  'payouts.give_earnings_back',
  `with given as (
     update developer_earning set payout_id = null
     where bucket = any ($2::smallint[]) and payout_id = $1::uuid
     returning developer_id, amount, usage_at
   ), deltas as (
     insert into earning_delta (developer_id, hour, client_id, earned, not_payable, unclaimed, calls)
     select developer_id, date_trunc('hour', usage_at, 'UTC'), '', 0, 0, sum(amount), 0
     from given
     group by 1, 2
   )
   select coalesce(sum(amount), 0)::bigint as credits, count(*) as count
   from given`,
  { may_take_long: true },
)

export const ROLL_RESERVES = statement<{ amount: bigint }>(
  'payouts.roll_reserves',
  `update payout_reserve set rolled_into = $2::uuid
   where developer_id = $1::uuid and rolled_into is null and voided_at is null and release_at <= $3::timestamptz
   returning amount`,
)

export const GIVE_RESERVES_BACK = statement<{ amount: bigint }>(
  'payouts.give_reserves_back',
  `update payout_reserve set rolled_into = null
   where rolled_into = $1::uuid
   returning amount`,
)

/** What the set is called, and how often it was tried before. Materialized: else each payout is compared with a new hash. */
export const SELECT_SET = statement<{ set_hash: string; attempt: number }>(
  'payouts.select_set',
  `with s as materialized (select payout_set_hash($1::uuid, 0, $2::smallint[]) as set_hash)
   select s.set_hash,
     coalesce((select max(p.attempt) + 1 from payout p where p.set_hash = s.set_hash), 0) as attempt
   from s`,
  { may_take_long: true },
)

export const SELECT_SET_HASH = statement<{ hash: string }>(
  'payouts.select_set_hash',
  'select payout_set_hash($1::uuid, $2::integer, $3::smallint[]) as hash',
  { may_take_long: true },
)

export const INSERT_PAYOUT = statement<PayoutRow>(
  'payouts.insert_payout',
  `insert into payout (id, bucket, developer_id, stripe_account_id, currency, gross_credits, reserve_credits,
     transfer_credits, amount_cents, earnings_credits, rolled_reserve_credits, earnings_count, period_start, period_end,
     created_at, claimed_at, first_attempt_at, last_attempt_at, attempt, set_hash, idempotency_key)
   values ($1::uuid, wallet_bucket($1::uuid), $2::uuid, $3::text, $4::text, $5::bigint, $6::bigint,
     $7::bigint, $8::bigint, $9::bigint, $10::bigint, $11::bigint, $12::timestamptz, $13::timestamptz,
     $14::timestamptz, ledger_now(), $14::timestamptz, $14::timestamptz, $15::integer, $16::text, $17::text)
   returning ${COLUMNS}`,
)

/** Another key for a payout whose key is proven to have done nothing. */
export const CHANGE_KEY = statement<PayoutRow>(
  'payouts.change_key',
  `update payout set attempt = $2::integer, idempotency_key = $3::text, first_attempt_at = $4::timestamptz,
     last_attempt_at = $4::timestamptz
   where id = $1::uuid and status = 'pending' and attempt < $2::integer
   returning ${COLUMNS}`,
)

export const LAST_ATTEMPT_OF_SET = statement<{ attempt: number }>(
  'payouts.last_attempt_of_set',
  `select max(o.attempt) as attempt
   from payout p
   join payout o on o.set_hash = p.set_hash
   where p.id = $1::uuid`,
)

export const SET_PAID = statement<PayoutRow>(
  'payouts.set_paid',
  `update payout set status = 'paid', stripe_transfer_id = $2::text, resolved_at = $3::timestamptz
   where id = $1::uuid and status = 'pending'
   returning ${COLUMNS}`,
)

/** Only for the key that the failure is about: another may have been sent meanwhile. */
export const SET_FAILED = statement<PayoutRow>(
  'payouts.set_failed',
  `update payout set status = 'failed', failure_code = $3::text, failure_message = $4::text,
     resolved_at = $5::timestamptz
   where id = $1::uuid and status = $2::payout_status and idempotency_key = $6::text
   returning ${COLUMNS}`,
)

export const INSERT_RESERVE = statement<object>(
  'payouts.insert_reserve',
  `insert into payout_reserve (payout_id, developer_id, amount, release_at)
   values ($1::uuid, $2::uuid, $3::bigint, $4::timestamptz)`,
)

/** Nothing if it was taken along by a later payout. */
export const VOID_RESERVE = statement<object>(
  'payouts.void_reserve',
  `update payout_reserve set voided_at = $2::timestamptz
   where payout_id = $1::uuid and rolled_into is null
   returning payout_id`,
)

/** Oldest first; those that were looked at in this run are behind the cursor. */
export const SELECT_PENDING = statement<PayoutRow>(
  'payouts.select_pending',
  `select ${COLUMNS}
   from payout
   where status = 'pending' and id > $1::uuid
   order by id
   limit $2::integer`,
)

export const SELECT_PAYOUT = statement<PayoutRow>(
  'payouts.select_payout',
  `select ${COLUMNS} from payout where id = $1::uuid`,
)

export const SELECT_PAYOUT_OF_TRANSFER = statement<PayoutRow>(
  'payouts.select_payout_of_transfer',
  `select ${COLUMNS} from payout where stripe_transfer_id = $1::text`,
)

export const SELECT_PAYOUTS_BY_ID = statement<PayoutRow>(
  'payouts.select_payouts_by_id',
  `select ${COLUMNS} from payout where id = any ($1::uuid[])`,
)

// Without a page before, from the highest id. Not "or $1 is null": a plan that is made once would begin at the top.
const PAYOUTS_BEFORE = `select ${COLUMNS}
   from payout
   where id < coalesce($1::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')`

export const SELECT_ALL_PAYOUTS = statement<PayoutRow>(
  'payouts.select_all_payouts',
  `${PAYOUTS_BEFORE}
   order by id desc
   limit $2::integer`,
)

export const SELECT_PAYOUTS_IN_STATUS = statement<PayoutRow>(
  'payouts.select_payouts_in_status',
  `${PAYOUTS_BEFORE}
     and status = $3::payout_status
   order by id desc
   limit $2::integer`,
)

/** Where it was made, its results so far are those of the try that ended last. */
export type RunRow = {
  id: string
  /** Null: an operator's. */
  day: string | null
  started_by: string | null
  started_at: Date
  ended_at: Date | null
  outcome: string | null
  paid: number | null
  failed: number | null
  pending: number | null
  paid_cents: bigint | null
}

export const TAKE_RUN = statement<{ id: string }>(
  'payouts.take_run',
  `insert into payout_run (id, day, started_at)
   values ($4::uuid, $1::date, $2::timestamptz)
   on conflict (day) do update set started_at = $2::timestamptz
   where payout_run.ended_at is null and payout_run.started_at <= $3::timestamptz
   returning id`,
)

export const INSERT_RUN = statement<object>(
  'payouts.insert_run',
  `insert into payout_run (id, started_by, started_at)
   values ($1::uuid, $2::text, $3::timestamptz)`,
)

// One that is not over keeps its end open, and what it has done.
export const NOTE_RUN = statement<object>(
  'payouts.note_run',
  `update payout_run
   set ended_at = $2::timestamptz, outcome = $3::text, paid = coalesce(paid, 0) + $4::integer, failed = $5::integer,
     pending = $6::integer, paid_cents = coalesce(paid_cents, 0) + $7::bigint
   where id = $1::uuid`,
)

export const LIST_RUNS = statement<RunRow>(
  'payouts.list_runs',
  `select id, to_char(day, 'YYYY-MM-DD') as day, started_by, started_at, ended_at, outcome, paid, failed, pending,
     paid_cents
   from payout_run
   where id < coalesce($1::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
   order by id desc
   limit $2::integer`,
)
