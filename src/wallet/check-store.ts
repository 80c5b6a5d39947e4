// The proofs of the ledger check, in SQL. Each compares two independent records of one fact and answers one row: how
// much was compared, how many differ, and the first difference in words. $1 are the buckets. Proofs of a stretch of
// time have its start in $2 and its end in $3: what came before the start is in the seals.

import { type Statement, statement } from '../platform/db.ts'

export type ProofRow = { checked: bigint; differences: bigint; first: string | null }

// Not prepared by name: they hold for one transaction.
export const READ_ONE_SNAPSHOT: Statement<object> = {
  name: 'wallet.read_one_snapshot',
  text: 'set transaction isolation level repeatable read, read only',
}
export const LIFT_TIME_LIMIT: Statement<object> = {
  name: 'wallet.lift_time_limit',
  text: 'set local statement_timeout = 0',
}

export const SELECT_SEALED_UNTIL = statement<{ sealed_until: Date | null }>(
  'wallet.select_sealed_until',
  `select (max(month) + interval '1 month') at time zone 'UTC' as sealed_until
   from ledger_seal`,
)

/** Reads much: the check lifts the server's time limit, and the driver's must not cut in. */
export function proof(name: string, compared: string): Statement<ProofRow> {
  return statement<ProofRow>(
    name,
    `select count(*) as checked,
       count(*) filter (where differs) as differences,
       min(what) filter (where differs) as first
     from (
       ${compared}
     ) compared`,
    { may_take_long: true },
  )
}

/** Where a wallet stood before the stretch. */
export const opening = (wallet: { bucket: string; id: string; when?: string }) => `
  select sealed.balance, sealed.seq
  from wallet_seal sealed
  where ${wallet.when ?? 'true'}
    and sealed.bucket = ${wallet.bucket}
    and sealed.wallet_id = ${wallet.id}
    and sealed.month < ($2::timestamptz at time zone 'UTC')::date
  order by sealed.month desc
  limit 1`

export const LINES = `bucket = any ($1::smallint[]) and at >= $2::timestamptz and at < $3::timestamptz`

/** Of months whose rows are in an archive nothing is asked here. */
const ARCHIVED_UNTIL = `(
  select coalesce((max(month) + interval '1 month') at time zone 'UTC', '-infinity')
  from ledger_seal
  where archived_at is not null)`

/** What rows that stand outside the book say of one of its accounts, against what the book says, in each bucket. */
function bookProof(
  name: string,
  outside: { account: string; name: string; rows: string },
): Statement<ProofRow> {
  return proof(
    name,
    `select b.amount <> b.total as differs,
       format('bucket %s: ${outside.name} %s, book %s', b.bucket, b.amount, b.total) as what
     from (
       select bucket, sum(amount) as amount, sum(total) as total
       from (
         select bucket, amount, 0 as total from (${outside.rows}) rows
         union all
         select bucket, 0, amount from journal where ${LINES} and account = '${outside.account}'
         union all
         select bucket, 0, total
         from account_seal
         where bucket = any ($1::smallint[])
           and account = '${outside.account}'
           and month = (($2::timestamptz at time zone 'UTC') - interval '1 month')::date
       ) amounts
       group by bucket
     ) b`,
  )
}

/** Of any stretch of time, bucket by bucket. */
export const RANGE_PROOFS: readonly Statement<ProofRow>[] = [
  proof(
    'wallet.prove_chain_has_no_gap_or_break',
    `select l.wallet_seq <> coalesce(l.seq_before, o.seq, 0) + 1
         or l.balance_after - l.amount <> coalesce(l.balance_before, o.balance, 0)
         or l.at < l.at_before as differs,
       format('wallet %s: line %s of transaction %s', l.owner, l.wallet_seq, l.tx) as what
     from (
       select *, lag(wallet_seq) over chain as seq_before, lag(balance_after) over chain as balance_before,
         lag(at) over chain as at_before
       from journal
       where ${LINES} and wallet_seq is not null
       window chain as (partition by bucket, owner order by wallet_seq)
     ) l
     left join lateral (
       ${opening({ bucket: 'l.bucket', id: 'l.owner', when: 'l.seq_before is null' })}
     ) o on true`,
  ),
  proof(
    'wallet.prove_transactions_sum_to_zero',
    `select total <> 0 as differs, format('transaction %s: %s', tx, total) as what
     from (
       select tx, sum(amount) as total
       from journal
       where ${LINES}
       group by bucket, tx
     ) summed`,
  ),
  proof(
    'wallet.prove_buckets_sum_to_zero',
    `select sum(amount) <> 0 as differs, format('bucket %s: %s', bucket, sum(amount)) as what
     from (
       select bucket, amount
       from journal
       where ${LINES}
       union all
       select bucket, total
       from account_seal
       where bucket = any ($1::smallint[])
         and month = (($2::timestamptz at time zone 'UTC') - interval '1 month')::date
     ) lines
     group by bucket`,
  ),
  // A call that began in one month and was posted in the next has its rows on both sides of the border: what finds
  // no partner within the stretch is looked up.
  proof(
    'wallet.prove_usage_is_in_the_journal',
    `select coalesce(c.credits_used, u.credits_used) is distinct from -coalesce(c.amount, j.amount)
         or coalesce(c.usage_balance, u.balance_after) is distinct from coalesce(c.line_balance, j.balance_after)
         or coalesce(c.wallet_id, u.wallet_id) is distinct from coalesce(c.owner, j.owner) as differs,
       format('call %s: usage %s, journal %s', c.id, coalesce(c.credits_used, u.credits_used),
         coalesce(c.amount, j.amount)) as what
     from (
       select coalesce(u.bucket, j.bucket) as bucket, coalesce(u.id, j.tx) as id, u.credits_used,
         u.balance_after as usage_balance, u.wallet_id, j.amount, j.balance_after as line_balance, j.owner
       from (
         select * from usage_event where ${LINES} and credits_used > 0
       ) u
       full join (
         select * from journal where ${LINES} and account = 'wallet' and kind = 'usage'
       ) j on j.bucket = u.bucket and j.tx = u.id
     ) c
     left join lateral (
       select * from usage_event
       where c.wallet_id is null and bucket = c.bucket and id = c.id and at = id_time(c.id)
       limit 1
     ) u on true
     left join lateral (
       select * from journal
       where c.owner is null and bucket = c.bucket and tx = c.id and line = 1
       limit 1
     ) j on true
     where id_time(c.id) >= ${ARCHIVED_UNTIL}`,
  ),
  // What finds no partner within the stretch is compared with its usage row, which the proof above compares.
  proof(
    'wallet.prove_earnings_are_in_the_journal',
    `select coalesce(c.earned, u.markup_credits) is distinct from coalesce(c.amount, u.markup_credits)
         or coalesce(c.developer_id, u.developer_id) is distinct from coalesce(c.owner, u.developer_id) as differs,
       format('call %s: earning %s, journal %s', c.id, c.earned, c.amount) as what
     from (
       select coalesce(e.bucket, j.bucket) as bucket, coalesce(e.id, j.tx) as id, e.amount as earned,
         e.developer_id, j.amount, j.owner
       from (
         select bucket, id, developer_id, sum(amount)::bigint as amount
         from developer_earning
         where bucket = any ($1::smallint[]) and usage_at >= $2::timestamptz and usage_at < $3::timestamptz
         group by bucket, id, developer_id
       ) e
       full join (
         select * from journal where ${LINES} and account = 'dev_payable' and kind = 'usage'
       ) j on j.bucket = e.bucket and j.tx = e.id
     ) c
     left join lateral (
       select markup_credits, developer_id from usage_event
       where (c.earned is null or c.amount is null)
         and bucket = c.bucket and id = c.id and at = id_time(c.id)
         -- The call must have begun, or been posted, on the other side of the border.
         and (c.earned is not null or at < $2::timestamptz or at >= $3::timestamptz)
         and (c.amount is not null or not exists (
           select from journal
           where bucket = c.bucket and tx = c.id and line = 1
             and at >= $2::timestamptz and at < $3::timestamptz))
       limit 1
     ) u on true
     where id_time(c.id) >= ${ARCHIVED_UNTIL}`,
  ),
]

/** Of any stretch of time, over all buckets: what spans them. */
export const BOOK_RANGE_PROOFS: readonly Statement<ProofRow>[] = [
  statement<ProofRow>(
    'wallet.prove_book_sums_to_zero',
    `select count(*) as checked,
       (coalesce(sum(amount), 0) <> 0)::integer::bigint as differences,
       case when coalesce(sum(amount), 0) <> 0 then format('the book: %s', sum(amount)) end as first
     from journal
     where ${LINES}`,
    { may_take_long: true },
  ),
  proof(
    'wallet.prove_transfers_arrived',
    `select sum(amount) <> 0 as differs, format('transfer %s: %s in transit', owner, sum(amount)) as what
     from journal
     where ${LINES} and account = 'transit'
     group by owner`,
  ),
]

/** Of what is now, bucket by bucket. */
export const OPEN_PROOFS: readonly Statement<ProofRow>[] = [
  proof(
    'wallet.prove_posted_is_sum_of_lines',
    `select w.posted is distinct from coalesce(w.balance, 0) + coalesce(j.total, 0)
         or w.seq <> coalesce(w.sealed_seq, 0) + coalesce(j.lines, 0)
         or w.posted < 0 or w.held < 0 or w.held > w.posted as differs,
       format('wallet %s: posted %s, sealed %s, lines since %s; seq %s, sealed %s, lines since %s',
         coalesce(w.id, j.owner), w.posted, w.balance, j.total, w.seq, w.sealed_seq, j.lines) as what
     from (
       select w.*, o.balance, o.seq as sealed_seq
       from wallet w
       left join lateral (${opening({ bucket: 'w.bucket', id: 'w.id' })}) o on true
       where w.bucket = any ($1::smallint[])
     ) w
     full join (
       select bucket, owner, sum(amount)::bigint as total, count(*) as lines
       from journal
       where ${LINES} and account = 'wallet'
       group by bucket, owner
     ) j on j.bucket = w.bucket and j.owner = w.id`,
  ),
  // Also sees a wallet that is gone although nothing was posted to it since the last seal.
  bookProof('wallet.prove_wallets_are_the_wallet_account', {
    account: 'wallet',
    name: 'wallets',
    rows: 'select bucket, posted as amount from wallet where bucket = any ($1::smallint[])',
  }),
  bookProof('wallet.prove_disputes_are_the_disputed_account', {
    account: 'disputed',
    name: 'disputes',
    rows: `select wallet_bucket(account_id) as bucket, frozen_credits as amount
      from topup_dispute
      where state = 'open' and wallet_bucket(account_id) = any ($1::smallint[])`,
  }),
]

/** Of what is now, without a stretch of time. */
export const PRESENT_PROOFS: readonly Statement<ProofRow>[] = [
  proof(
    'wallet.prove_held_is_sum_of_holds',
    `select w.held is distinct from coalesce(h.total, 0) as differs,
       format('wallet %s: held %s, holds %s', coalesce(w.id, h.wallet_id), w.held, h.total) as what
     from (select * from wallet where bucket = any ($1::smallint[])) w
     full join (
       select bucket, wallet_id, sum(amount)::bigint as total
       from hold
       where bucket = any ($1::smallint[])
       group by bucket, wallet_id
     ) h on h.bucket = w.bucket and h.wallet_id = w.id`,
  ),
  statement<ProofRow>(
    'wallet.prove_default_partitions_are_empty',
    `select 4::bigint as checked, count(*) as differences, min('row ' || id::text) as first
     from (
       select tx as id from journal_default where bucket = any ($1::smallint[])
       union all
       select id from usage_event_default where bucket = any ($1::smallint[])
       union all
       select id from developer_earning_default where bucket = any ($1::smallint[])
       union all
       select source_id from outbox_default where bucket = any ($1::smallint[])
     ) stray`,
    { may_take_long: true },
  ),
]

/** Of what is now, over all buckets. */
export const BOOK_PRESENT_PROOFS: readonly Statement<ProofRow>[] = [
  proof(
    'wallet.prove_counted_holds_are_holds',
    `select coalesce(s.held, 0) <> coalesce(h.total, 0) as differs,
       format('spend of key or connection %s from %s: held %s, holds %s', coalesce(s.owner_id, h.owner_id),
         coalesce(s.period, h.period), s.held, h.total) as what
     from (select * from spend_counter where bucket = any ($1::smallint[])) s
     full join (
       select c.bucket, c.owner_id, c.period, sum(o.amount)::bigint as total
       from hold o
       cross join lateral unnest(o.spend_buckets, o.spend_owner_ids, o.spend_periods)
         as c (bucket, owner_id, period)
       where o.bucket = any ($1::smallint[])
       group by c.bucket, c.owner_id, c.period
     ) h on h.bucket = s.bucket and h.owner_id = s.owner_id and h.period = s.period`,
  ),
]
