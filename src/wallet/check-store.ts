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
/**
 * Before the snapshot is taken: a partition that comes or goes after it is seen as it is now, without the rows that it
 * had. In the order in which whoever changes partitions locks them.
 */
export const KEEP_PARTITIONS: Statement<object> = {
  name: 'wallet.keep_partitions',
  text: 'lock table outbox, journal, usage_event, developer_earning in access share mode',
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
  select sealed.balance, sealed.seq, sealed.promotional
  from wallet_seal sealed
  where ${wallet.when ?? 'true'}
    and sealed.bucket = ${wallet.bucket}
    and sealed.wallet_id = ${wallet.id}
    and sealed.month < ($2::timestamptz at time zone 'UTC')::date
  order by sealed.month desc
  limit 1`

export const LINES = `bucket = any ($1::smallint[]) and at >= $2::timestamptz and at < $3::timestamptz`

/** Of the last line of a wallet, in a group of its lines. */
export const LAST_PROMOTIONAL = '(max(array[wallet_seq, promotional_after]))[2]'

/** Of months whose rows are in an archive nothing is asked here. */
const ARCHIVED_UNTIL = `(
  select coalesce((max(month) + interval '1 month') at time zone 'UTC', '-infinity')
  from ledger_seal
  where archived_at is not null)`

export const SUM_ACCOUNTS = statement<{ account: string; total: bigint }>(
  'wallet.sum_accounts',
  `select account::text as account, sum(amount)::bigint as total
   from (
     select account, amount from journal where ${LINES}
     union all
     select account, total
     from account_seal
     where bucket = any ($1::smallint[])
       and month = (($2::timestamptz at time zone 'UTC') - interval '1 month')::date
   ) lines
   group by account
   order by account`,
  { may_take_long: true },
)

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
  // Each step by the rule, from what the lines say: what came before, the amount and the kind. What a reversal gives back
  // was taken before, and how much of it was promotional stands with the top-up; here it is at most all of it.
  proof(
    'wallet.prove_promotional_credits_follow_the_rule',
    `select l.promotional_after not between l.by_rule and l.by_rule + l.may_come_back
         or coalesce(u.id, x.id) is not null
           and coalesce(u.promotional_credits, x.promotional_credits) <> l.before - l.promotional_after as differs,
       format('wallet %s: line %s of transaction %s: %s before, %s after, %s in the usage row', l.owner, l.wallet_seq,
         l.tx, l.before, l.promotional_after, coalesce(u.promotional_credits, x.promotional_credits)) as what
     from (
       select c.*, s.before,
         case when kind = 'usage' then s.before - least(s.before, -amount)
           when amount < 0 then least(s.before, balance_after)
           when kind in ('welcome', 'verified', 'grant') then s.before + amount
           else s.before end as by_rule,
         case when kind in ('refund_failed', 'dispute_won', 'dispute_reinstated') then amount else 0 end as may_come_back
       from (
         select bucket, owner, tx, kind, amount, wallet_seq, balance_after, promotional_after,
           lag(promotional_after) over chain as promotional_before
         from journal
         where ${LINES} and wallet_seq is not null
         window chain as (partition by bucket, owner order by wallet_seq)
       ) c
       left join lateral (
         ${opening({ bucket: 'c.bucket', id: 'c.owner', when: 'c.promotional_before is null' })}
       ) o on true
       cross join lateral (select coalesce(c.promotional_before, o.promotional, 0) as before) s
     ) l
     left join (
       select bucket, id, promotional_credits from usage_event where ${LINES} and credits_used > 0
     ) u on l.kind = 'usage' and u.bucket = l.bucket and u.id = l.tx
     -- Of a call that began before the stretch. That there is a usage row is proved below.
     left join lateral (
       select id, promotional_credits from usage_event
       where u.id is null and l.kind = 'usage' and bucket = l.bucket and id = l.tx and at = id_time(l.tx)
       limit 1
     ) x on true`,
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
     where id_time(c.id) >= ${ARCHIVED_UNTIL}
       -- By a gateway's clock that is ahead, a call begins in the month after its posting, which may be archived. It was
       -- compared when its month was sealed, and the digest of that month is proved.
       and (c.owner is not null or j.tx is not null or id_time(c.id) >= ${ARCHIVED_UNTIL} + interval '1 day')`,
  ),
  // Both have the time of the call, so there is no border between them.
  proof(
    'wallet.prove_earnings_are_of_usage',
    `select e.amount is distinct from u.markup_credits or e.developer_id is distinct from u.developer_id
         or e.not_payable not in (0, greatest(0, u.promotional_credits - u.cost_credits)) as differs,
       format('call %s: earning %s, of that never paid out %s, usage %s', coalesce(u.id, e.id), e.amount, e.not_payable,
         u.markup_credits) as what
     from (
       select bucket, id, developer_id, markup_credits, promotional_credits, cost_credits
       from usage_event
       where ${LINES} and markup_credits > 0
     ) u
     full join (
       select bucket, id, developer_id, sum(amount)::bigint as amount,
         coalesce(sum(amount) filter (where not payable), 0)::bigint as not_payable
       from developer_earning
       where bucket = any ($1::smallint[]) and usage_at >= $2::timestamptz and usage_at < $3::timestamptz
       group by bucket, id, developer_id
     ) e on e.bucket = u.bucket and e.id = u.id`,
  ),
  // What finds no partner within the stretch is compared with its usage row, which the proof above compares.
  proof(
    'wallet.prove_earnings_are_in_the_journal',
    `select coalesce(c.earned, u.markup_credits) is distinct from coalesce(c.amount, u.markup_credits)
         or coalesce(c.developer_id, u.developer_id) is distinct from coalesce(c.owner, u.developer_id)
         or c.not_payable <> c.promotional as differs,
       format('call %s: earning %s, journal %s; never paid out %s and %s', c.id, c.earned, c.amount, c.not_payable,
         c.promotional) as what
     from (
       select coalesce(e.bucket, j.bucket) as bucket, coalesce(e.id, j.tx) as id, e.amount as earned,
         e.developer_id, e.not_payable, j.amount, j.owner, j.promotional
       from (
         select bucket, id, developer_id, sum(amount)::bigint as amount,
           coalesce(sum(amount) filter (where not payable), 0)::bigint as not_payable
         from developer_earning
         where bucket = any ($1::smallint[]) and usage_at >= $2::timestamptz and usage_at < $3::timestamptz
         group by bucket, id, developer_id
       ) e
       full join (
         select bucket, tx, owner, sum(amount)::bigint as amount,
           coalesce(sum(amount) filter (where account = 'dev_promotional'), 0)::bigint as promotional
         from journal
         where ${LINES} and account in ('dev_payable', 'dev_promotional') and kind = 'usage'
         group by bucket, tx, owner
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
