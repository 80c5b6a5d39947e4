// The statements of the ledger check: each compares two independent records of one fact, for the buckets
// given, and answers how many it compared, how many differ, and the first that does.

import { type Statement, statement } from '../platform/db.ts'

export type ProofRow = { checked: bigint; differences: bigint; first: string | null }

// Not registered: these are settings, which cannot be prepared like queries.
export const READ_ONE_SNAPSHOT: Statement<object> = {
  name: 'wallet.read_one_snapshot',
  text: 'set transaction isolation level repeatable read, read only',
}
export const LIFT_TIME_LIMIT: Statement<object> = {
  name: 'wallet.lift_time_limit',
  text: 'set local statement_timeout = 0',
}

/** Reads the whole book: the check lifts the server's time limit, and the driver's must not cut in. */
function proof(name: string, text: string): Statement<ProofRow> {
  return statement<ProofRow>(name, text, { may_take_long: true })
}

/** Each bucket's book stands on its own. */
export const BUCKET_PROOFS: readonly Statement<ProofRow>[] = [
  proof(
    'wallet.prove_posted_is_sum_of_lines',
    `select count(*) as checked,
       count(*) filter (where differs) as differences,
       min(what) filter (where differs) as first
     from (
       select w.posted is distinct from coalesce(j.total, 0)
           or w.seq <> coalesce(j.lines, 0) or w.posted < 0 or w.held < 0 or w.held > w.posted as differs,
         format('wallet %s: posted %s, lines %s; seq %s, lines %s', coalesce(w.id, j.owner), w.posted,
           j.total, w.seq, j.lines) as what
       from (select * from wallet where bucket = any ($1::smallint[])) w
       full join (
         select bucket, owner, sum(amount)::bigint as total, count(*) as lines
         from journal
         where bucket = any ($1::smallint[]) and account = 'wallet'
         group by bucket, owner
       ) j on j.bucket = w.bucket and j.owner = w.id
     ) compared`,
  ),
  proof(
    'wallet.prove_held_is_sum_of_holds',
    `select count(*) as checked,
       count(*) filter (where differs) as differences,
       min(what) filter (where differs) as first
     from (
       select w.held is distinct from coalesce(h.total, 0) as differs,
         format('wallet %s: held %s, holds %s', coalesce(w.id, h.wallet_id), w.held, h.total) as what
       from (select * from wallet where bucket = any ($1::smallint[])) w
       full join (
         select bucket, wallet_id, sum(amount)::bigint as total
         from hold
         where bucket = any ($1::smallint[])
         group by bucket, wallet_id
       ) h on h.bucket = w.bucket and h.wallet_id = w.id
     ) compared`,
  ),
  proof(
    'wallet.prove_chain_has_no_gap_or_break',
    `select count(*) as checked,
       count(*) filter (where differs) as differences,
       min(what) filter (where differs) as first
     from (
       select wallet_seq <> coalesce(lag(wallet_seq) over chain, 0) + 1
           or balance_after - amount <> coalesce(lag(balance_after) over chain, 0) as differs,
         format('wallet %s: line %s of transaction %s', owner, wallet_seq, tx) as what
       from journal
       where bucket = any ($1::smallint[]) and account = 'wallet'
       window chain as (partition by bucket, owner order by wallet_seq)
     ) compared`,
  ),
  proof(
    'wallet.prove_transactions_sum_to_zero',
    `select count(*) as checked,
       count(*) filter (where total <> 0) as differences,
       min(format('transaction %s: %s', tx, total)) filter (where total <> 0) as first
     from (
       select tx, sum(amount) as total
       from journal
       where bucket = any ($1::smallint[])
       group by bucket, tx
     ) summed`,
  ),
  proof(
    'wallet.prove_buckets_sum_to_zero',
    `select count(*) as checked,
       count(*) filter (where total <> 0) as differences,
       min(format('bucket %s: %s', bucket, total)) filter (where total <> 0) as first
     from (
       select bucket, sum(amount) as total
       from journal
       where bucket = any ($1::smallint[])
       group by bucket
     ) summed`,
  ),
  proof(
    'wallet.prove_usage_is_in_the_journal',
    `select count(*) as checked,
       count(*) filter (where differs) as differences,
       min(what) filter (where differs) as first
     from (
       select u.credits_used is distinct from -j.amount or u.balance_after is distinct from j.balance_after
           or u.wallet_id is distinct from j.owner as differs,
         format('call %s: usage %s, journal %s', coalesce(u.id, j.tx), u.credits_used, j.amount) as what
       from (
         select * from usage_event where bucket = any ($1::smallint[]) and credits_used > 0
       ) u
       full join (
         select * from journal
         where bucket = any ($1::smallint[]) and account = 'wallet' and kind = 'usage'
       ) j on j.bucket = u.bucket and j.tx = u.id
     ) compared`,
  ),
  proof(
    'wallet.prove_earnings_are_in_the_journal',
    `select count(*) as checked,
       count(*) filter (where differs) as differences,
       min(what) filter (where differs) as first
     from (
       select e.amount is distinct from j.amount or e.developer_id is distinct from j.owner as differs,
         format('call %s: earning %s, journal %s', coalesce(e.id, j.tx), e.amount, j.amount) as what
       from (select * from developer_earning where bucket = any ($1::smallint[])) e
       full join (
         select * from journal
         where bucket = any ($1::smallint[]) and account = 'dev_payable' and kind = 'usage'
       ) j on j.bucket = e.bucket and j.tx = e.id
     ) compared`,
  ),
  proof(
    'wallet.prove_default_partitions_are_empty',
    `select 2::bigint as checked, count(*) as differences, min('row ' || id::text) as first
     from (
       select tx as id from journal_default where bucket = any ($1::smallint[])
       union all
       select id from usage_event_default where bucket = any ($1::smallint[])
     ) stray`,
  ),
]

/** What spans buckets. */
export const BOOK_PROOFS: readonly Statement<ProofRow>[] = [
  proof(
    'wallet.prove_book_sums_to_zero',
    `select count(*) as checked,
       (coalesce(sum(amount), 0) <> 0)::integer::bigint as differences,
       case when coalesce(sum(amount), 0) <> 0 then format('the book: %s', sum(amount)) end as first
     from journal
     where bucket = any ($1::smallint[])`,
  ),
  proof(
    'wallet.prove_transfers_arrived',
    `select count(*) as checked,
       count(*) filter (where total <> 0) as differences,
       min(format('transfer %s: %s in transit', owner, total)) filter (where total <> 0) as first
     from (
       select owner, sum(amount) as total
       from journal
       where bucket = any ($1::smallint[]) and account = 'transit'
       group by owner
     ) summed`,
  ),
  proof(
    'wallet.prove_counted_holds_are_holds',
    `select count(*) as checked,
       count(*) filter (where differs) as differences,
       min(what) filter (where differs) as first
     from (
       select coalesce(s.held, 0) <> coalesce(h.total, 0) as differs,
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
       ) h on h.bucket = s.bucket and h.owner_id = s.owner_id and h.period = s.period
     ) compared`,
  ),
]
