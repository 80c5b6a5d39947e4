// The proofs of what is now: balances, open holds and counters against the rows behind them. What check-store.ts says of
// a proof and its parameters holds here too.

import { type Statement, statement } from '../platform/db.ts'
import { LAST_PROMOTIONAL, LINES, opening, type ProofRow, proof } from './check-store.ts'

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

/** Of what is now, bucket by bucket. */
export const OPEN_PROOFS: readonly Statement<ProofRow>[] = [
  proof(
    'wallet.prove_posted_is_sum_of_lines',
    `select w.posted is distinct from coalesce(w.balance, 0) + coalesce(j.total, 0)
         or w.seq <> coalesce(w.sealed_seq, 0) + coalesce(j.lines, 0)
         or w.posted < 0 or w.held < 0 or w.held > w.posted
         or w.promotional is distinct from coalesce(j.promotional, w.sealed_promotional, 0) as differs,
       format('wallet %s: posted %s, sealed %s, lines since %s; seq %s, sealed %s, lines since %s; promotional %s, '
         'sealed %s, last line %s', coalesce(w.id, j.owner), w.posted, w.balance, j.total, w.seq, w.sealed_seq, j.lines,
         w.promotional, w.sealed_promotional, j.promotional) as what
     from (
       select w.*, o.balance, o.seq as sealed_seq, o.promotional as sealed_promotional
       from wallet w
       left join lateral (${opening({ bucket: 'w.bucket', id: 'w.id' })}) o on true
       where w.bucket = any ($1::smallint[])
     ) w
     full join (
       select bucket, owner, sum(amount)::bigint as total, count(*) as lines, ${LAST_PROMOTIONAL} as promotional
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
  proof(
    'wallet.prove_topups_give_back_what_they_had',
    `select t.refunded_credits <> r.credits or t.refunded_credits + d.credits > t.credits or t.state <> 'paid' as differs,
       format('top-up %s (%s) of %s: refunded %s, in refunds %s, in disputes %s', t.id, t.state, t.credits,
         t.refunded_credits, r.credits, d.credits) as what
     from topup t
     cross join lateral (
       select coalesce(sum(credits) filter (where state = 'done'), 0) as credits, count(*) as rows
       from topup_refund where topup_id = t.id
     ) r
     cross join lateral (
       select coalesce(sum(credits) filter (where state <> 'won'), 0) as credits, count(*) as rows
       from topup_dispute where topup_id = t.id
     ) d
     where wallet_bucket(t.account_id) = any ($1::smallint[])
       and (t.refunded_credits > 0 or r.rows > 0 or d.rows > 0)`,
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
