// Every SQL statement of the wallet. The arithmetic itself lives in the functions in sql/.

import { statement } from '../platform/db.ts'

export const INSERT_WALLET = statement<{ id: string }>(
  'wallet.insert_wallet',
  `insert into wallet (bucket, id, posted, held, promotional, seq, opened_at)
   values ($1::smallint, $2::uuid, 0, 0, 0, 0, $3::timestamptz)
   on conflict (bucket, id) do nothing
   returning id`,
)

export type BalanceRow = {
  balance: bigint
  held: bigint
  available: bigint
  /** The part of the balance that nobody paid for. */
  promotional: bigint
}

export const SELECT_BALANCE = statement<BalanceRow>(
  'wallet.select_balance',
  `select posted as balance, held, posted - held as available, promotional
   from wallet
   where bucket = $1::smallint and id = $2::uuid`,
)

export type PostRow = {
  item: number
  state: 'posted' | 'repeated' | 'no_wallet' | 'insufficient' | 'overflow' | 'too_old'
  balance_before: bigint
  balance_after: bigint
  /** What could have been taken out at most, and what nobody paid for, before the posting. */
  movable: bigint
  promotional: bigint
}

export const POST_BATCH = statement<PostRow>(
  'wallet.post_batch',
  `select item, state, balance_before, balance_after, movable, promotional
   from post_batch(p_postings => $1::json)
   order by item`,
)

/** No row: it was given before. Whoever comes at the same time waits for the first. */
export const INSERT_VERIFIED_GRANT = statement<{ wallet_id: string }>(
  'wallet.insert_verified_grant',
  `insert into verified_grant (bucket, wallet_id, granted_at)
   values ($1::smallint, $2::uuid, $3::timestamptz)
   on conflict (bucket, wallet_id) do nothing
   returning wallet_id`,
)

export const POST_BOOK_ENTRY = statement<object>(
  'wallet.post_book_entry',
  `select post_book_entry(
     p_tx => $1::uuid,
     p_kind => $2::journal_kind,
     p_from => $3::journal_account,
     p_from_owner => $4::uuid,
     p_to => $5::journal_account,
     p_to_owner => $6::uuid,
     p_amount => $7::bigint,
     p_description => $8::text
   )`,
)

export const HOLD_STATES = [
  'granted',
  'blocked',
  'stuck',
  'insufficient',
  'limit_reached',
  'gone',
  'too_late',
  'lease_lapsed',
  'no_wallet',
  'conflict',
] as const

export type HoldRow = {
  item: number
  state: (typeof HOLD_STATES)[number]
  granted: bigint | null
  /** Whose spend limit it was, where one refused. */
  limit_owner_id: string | null
  /** What a hold that grows could reach at most. */
  ceiling: bigint | null
}

export const SETTLE_STATES = ['settled', 'late', 'voided', 'gone', 'no_wallet', 'conflict'] as const

export type SettleRow = {
  item: number
  state: (typeof SETTLE_STATES)[number]
  charged: bigint
  shortfall: bigint
  balance_before: bigint
  balance_after: bigint
}

/** What only the other kind has is null. */
export type LedgerRow = ({ kind: 'settle' } & SettleRow) | ({ kind: 'hold' } & HoldRow)

export const LEDGER_BATCH = statement<LedgerRow>(
  'wallet.ledger_batch',
  `select kind, item, state, charged, shortfall, balance_before, balance_after, granted,
     limit_owner_id, ceiling
   from ledger_batch(
     p_settles => $1::settle_item[],
     p_settle_limits => $2::limit_item[],
     p_usage => $3::json,
     p_promotional_is_money => $4::boolean,
     p_holds => $5::hold_item[],
     p_hold_limits => $6::limit_item[],
     p_node_id => $7::uuid,
     p_lease => $8::interval,
     p_expires_after => $9::interval
   )`,
)

export type SweepRow = { reason: 'expired' | 'node_lost'; holds: bigint; credits: bigint }

export const SWEEP_HOLDS = statement<SweepRow>(
  'wallet.sweep_holds',
  `select reason, holds, credits
   from sweep_holds(p_bucket => $1::smallint, p_limit => $2::integer)`,
)

export const SELECT_BUCKETS_TO_SWEEP = statement<{ bucket: number }>(
  'wallet.select_buckets_to_sweep',
  `select distinct h.bucket
   from hold h
   where h.bucket = any ($1::smallint[])
     and (h.expires_at <= clock_timestamp()
       or not exists (select 1 from gateway_node n where n.node_id = h.node_id))
   order by h.bucket`,
)

// Beat 1: there was no lease before this one.
export const BEAT = statement<{ beat: bigint; server_time: Date }>(
  'wallet.beat',
  `insert into gateway_node as n (node_id, beat, beaten_at)
   values ($1::uuid, 1, clock_timestamp())
   on conflict (node_id) do update
   set beat = n.beat + 1, beaten_at = excluded.beaten_at
   returning beat, beaten_at as server_time`,
)

export type NodeRow = { node_id: string; beat: bigint }

export const SELECT_NODES = statement<NodeRow>(
  'wallet.select_nodes',
  'select node_id, beat from gateway_node',
)

// Not if it has beaten since: then it lives.
export const DELETE_NODE = statement<{ node_id: string }>(
  'wallet.delete_node',
  `delete from gateway_node
   where node_id = $1::uuid and beat = $2::bigint
   returning node_id`,
)

export const END_LEASE = statement<object>(
  'wallet.end_lease',
  `delete from gateway_node
   where node_id = $1::uuid`,
)

export const MAKE_PARTITIONS = statement<{ name: string }>(
  'wallet.make_partitions',
  `select make_ledger_partitions(p_from => $1::timestamptz, p_months => $2::integer) as name`,
)

export const COUNT_STRAY_ROWS = statement<{ count: bigint }>(
  'wallet.count_stray_rows',
  `select
     (select count(*) from journal_default where bucket = any ($1::smallint[]))
     + (select count(*) from usage_event_default where bucket = any ($1::smallint[]))
     + (select count(*) from developer_earning_default where bucket = any ($1::smallint[]))
     + (select count(*) from outbox_default where bucket = any ($1::smallint[]))
     + (select count(*) from failed_call_default where bucket = any ($1::smallint[])) as count`,
)

export const INSERT_IDEMPOTENCY = statement<{ key: string }>(
  'wallet.insert_idempotency',
  `insert into idempotency (bucket, principal, endpoint, key, body_hash, created_at)
   values ($1::smallint, $2::uuid, $3::text, $4::text, $5::bytea, $6::timestamptz)
   on conflict (bucket, principal, endpoint, key) do nothing
   returning key`,
)

export type AnswerRow = { body_hash: Buffer; status: number | null; response: string | null }

// The lock is a write, so that the commit of a repeat waits for the standby and for everything before it.
export const SELECT_IDEMPOTENCY = statement<AnswerRow>(
  'wallet.select_idempotency',
  `select body_hash, status, response
   from idempotency
   where bucket = $1::smallint and principal = $2::uuid and endpoint = $3::text and key = $4::text
   for key share`,
)

export const UPDATE_IDEMPOTENCY = statement<object>(
  'wallet.update_idempotency',
  `update idempotency
   set status = $5::smallint, response = $6::text
   where bucket = $1::smallint and principal = $2::uuid and endpoint = $3::text and key = $4::text`,
)

export type SpentRow = { spent: bigint; held: bigint }

export const SELECT_SPENT = statement<SpentRow>(
  'wallet.select_spent',
  `select coalesce(s.spent, 0) as spent, coalesce(s.held, 0) as held
   from unnest($1::smallint[], $2::uuid[], $3::date[]) with ordinality
     as u (bucket, owner_id, period, place)
   left join spend_counter s
     on s.bucket = u.bucket and s.owner_id = u.owner_id and s.period = u.period
   order by u.place`,
)

// Those whose row nobody else keeps at this moment.
export const SELECT_FREE_COUNTERS = statement<{ owner_id: string; period: string }>(
  'wallet.select_free_counters',
  `select s.owner_id, s.period::text
   from spend_counter s
   where (s.bucket, s.owner_id, s.period) in (
     select u.bucket, u.owner_id, u.period
     from unnest($1::smallint[], $2::uuid[], $3::date[]) as u (bucket, owner_id, period))
   for no key update skip locked`,
)

// Those whose row nobody else keeps at this moment.
export const SELECT_FREE_WALLETS = statement<{ id: string }>(
  'wallet.select_free_wallets',
  `select w.id
   from wallet w
   where (w.bucket, w.id) in (select b, i from unnest($1::smallint[], $2::uuid[]) as u (b, i))
   for no key update skip locked`,
)

export const LOCK_WALLET = statement<{ id: string }>(
  'wallet.lock_wallet',
  `select id
   from wallet
   where bucket = $1::smallint and id = $2::uuid
   for no key update`,
)

// One snapshot: the sum has exactly the calls that were posted up to `seq`.
export const SUM_SPENT_THROUGH_APP = statement<Pick<SpentRow, 'spent'> & { seq: bigint }>(
  'wallet.sum_spent_through_app',
  `select w.seq, (
     select coalesce(sum(u.credits_used), 0)::bigint
     from usage_event u
     where u.bucket = $1::smallint
       and u.wallet_id = $2::uuid
       and u.client_id = $3::text
       and u.at >= $4::timestamptz
       and u.at < $5::timestamptz
   ) as spent
   from wallet w
   where w.bucket = $1::smallint and w.id = $2::uuid`,
)

export const SUM_SPENT_SINCE = statement<Pick<SpentRow, 'spent'>>(
  'wallet.sum_spent_since',
  `select coalesce(sum(u.credits_used), 0)::bigint as spent
   from journal j
   cross join lateral (
     select credits_used, client_id, at
     from usage_event
     where bucket = j.bucket and id = j.tx and at = id_time(j.tx)
     limit 1
   ) u
   where j.bucket = $1::smallint
     and j.owner = $2::uuid
     and j.wallet_seq > $6::bigint
     and j.kind = 'usage'
     and u.client_id = $3::text
     and u.at >= $4::timestamptz
     and u.at < $5::timestamptz`,
)

// Never lowered: what was counted was charged.
export const OPEN_SPEND_COUNTER = statement<Pick<SpentRow, 'spent'>>(
  'wallet.open_spend_counter',
  `insert into spend_counter (bucket, owner_id, period, spent, held)
   values ($1::smallint, $2::uuid, $3::date, $4::bigint, 0)
   on conflict (bucket, owner_id, period) do update
   set spent = greatest(spend_counter.spent, excluded.spent)
   returning spent`,
)

// The time is the ledger's, as that of all other events: those who want to know are asked since when by the same clock.
export const INSERT_EVENT = statement<object>(
  'wallet.insert_event',
  `insert into outbox (bucket, wallet_id, source_id, kind, payload, at)
   values ($1::smallint, $2::uuid, $3::uuid, $4::event_kind, $5::jsonb, ledger_now())`,
)

/** Lines that touch no wallet, numbered in the order given. */
export const INSERT_LINES = statement<object>(
  'wallet.insert_lines',
  `insert into journal (bucket, tx, line, at, account, owner, amount, kind)
   select $1::smallint, $2::uuid, l.line, (select ledger_now()), l.account, l.owner, l.amount, $3::journal_kind
   from unnest($4::journal_account[], $5::uuid[], $6::bigint[]) with ordinality as l (account, owner, amount, line)`,
)
