// The proofs of the payout books, in SQL, in the form of those of the wallet: $1 are the buckets, $2 and $3 a stretch of
// time. What came before the stretch is in the seals.

import type { Statement } from '../platform/db.ts'
import { LINES, type ProofRow, proof } from '../wallet/check-store.ts'

/** Of any stretch of time. The earnings of a payout are in the buckets of their payers, so all are asked at once. */
export const PAYOUT_RANGE_PROOFS: readonly Statement<ProofRow>[] = [
  proof(
    'payouts.prove_payouts_add_up',
    `select p.reserve_credits <> p.gross_credits / 10
         or p.transfer_credits <> p.gross_credits - p.reserve_credits
         or p.amount_cents <> p.transfer_credits / 10000
         or p.gross_credits <> p.earnings_credits + p.rolled_reserve_credits
         or (p.status = 'failed') <> (e.count = 0)
         or p.status <> 'failed' and (e.count, e.credits, e.first_at, e.last_at, r.credits)
           is distinct from (p.earnings_count, p.earnings_credits, p.period_start, p.period_end, p.rolled_reserve_credits)
         as differs,
       format('payout %s (%s): %s earnings of %s credits, in the rows %s of %s', p.id, p.status, p.earnings_count,
         p.earnings_credits, e.count, e.credits) as what
     from payout p
     cross join lateral (
       select count(*) as count, coalesce(sum(amount), 0)::bigint as credits, min(usage_at) as first_at,
         max(usage_at) as last_at
       from developer_earning
       where bucket = any ($1::smallint[]) and payout_id = p.id
     ) e
     cross join lateral (
       select coalesce(sum(amount), 0)::bigint as credits from payout_reserve where rolled_into = p.id
     ) r
     where p.bucket = any ($1::smallint[])
       and (p.status = 'pending' or p.claimed_at >= $2::timestamptz and p.claimed_at < $3::timestamptz)`,
  ),
  proof(
    'payouts.prove_reserves_are_of_payouts',
    `select (p.status = 'paid') <> (r.payout_id is not null and r.voided_at is null)
         or r.amount <> p.reserve_credits
         or r.release_at <> p.created_at + interval '90 days' as differs,
       format('payout %s (%s): reserve %s, kept %s until %s', p.id, p.status, p.reserve_credits, r.amount,
         r.release_at) as what
     from payout p
     left join payout_reserve r on r.payout_id = p.id
     where p.bucket = any ($1::smallint[]) and p.claimed_at >= $2::timestamptz and p.claimed_at < $3::timestamptz`,
  ),
]

const ACCOUNTS = `'dev_payable', 'dev_promotional', 'dev_reserve', 'payout_clearing', 'stripe_cash', 'rounding'`

/** Since the last seal, over all buckets: the accounts of the book against the payouts. */
export const PAYOUT_BOOK_PROOFS: readonly Statement<ProofRow>[] = [
  proof(
    'payouts.prove_payout_accounts_are_in_the_journal',
    `select b.book <> b.rows as differs, format('account %s: book %s, rows %s', b.account, b.book, b.rows) as what
     from (
       select account, sum(book) as book, sum(rows) as rows
       from (
         select account, amount as book, 0 as rows
         from journal
         where ${LINES} and account in (${ACCOUNTS})
         union all
         select account, total, 0
         from account_seal
         where bucket = any ($1::smallint[])
           and account in (${ACCOUNTS})
           and month = (($2::timestamptz at time zone 'UTC') - interval '1 month')::date
         union all
         select case when payable then 'dev_payable' else 'dev_promotional' end::journal_account, 0, amount
         from developer_earning
         where bucket = any ($1::smallint[]) and payout_id is null
         union all
         select 'dev_reserve', 0, amount from payout_reserve where rolled_into is null and voided_at is null
         union all
         select 'payout_clearing', 0, gross_credits from payout where status = 'pending'
         union all
         select 'stripe_cash', 0, amount_cents * 10000 from payout where status = 'paid'
         union all
         select 'rounding', 0, transfer_credits - amount_cents * 10000 from payout where status = 'paid'
       ) amounts
       group by account
     ) b`,
  ),
]

/** Of what is now, developer by developer. */
export const PAYOUT_PRESENT_PROOFS: readonly Statement<ProofRow>[] = [
  proof(
    'payouts.prove_earnings_are_somewhere',
    `select sum(earned) <> sum(somewhere) as differs,
       format('developer %s: earned %s, found %s', developer_id, sum(earned), sum(somewhere)) as what
     from (
       select developer_id, earned, not_payable as somewhere from earning_total
       union all
       select developer_id, earned, not_payable from earning_delta
       union all
       select developer_id, 0, amount
       from developer_earning
       where bucket = any ($1::smallint[]) and payout_id is null and payable
       union all
       select developer_id, 0, case status when 'pending' then gross_credits else transfer_credits end
       from payout where status <> 'failed'
       union all
       select developer_id, 0, amount from payout_reserve where rolled_into is null and voided_at is null
     ) parts
     where wallet_bucket(developer_id) = any ($1::smallint[])
     group by developer_id`,
  ),
  proof(
    'payouts.prove_unclaimed_sums_are_of_rows',
    `select sum(summed) <> sum(counted) as differs,
       format('developer %s, hour %s: sum %s, rows %s', developer_id, hour, sum(summed), sum(counted)) as what
     from (
       select developer_id, hour, unclaimed as summed, 0 as counted from earning_hour
       union all
       select developer_id, hour, unclaimed, 0 from earning_delta
       union all
       select developer_id, date_trunc('hour', usage_at, 'UTC'), 0, amount
       from developer_earning where bucket = any ($1::smallint[]) and payout_id is null and payable
     ) hours
     where wallet_bucket(developer_id) = any ($1::smallint[])
     group by developer_id, hour`,
  ),
  proof(
    'payouts.prove_days_are_the_total',
    `select sum(day) <> sum(total) as differs,
       format('developer %s: days %s, total %s', developer_id, sum(day), sum(total)) as what
     from (
       select developer_id, earned as day, 0 as total from earning_day
       union all
       select developer_id, 0, earned from earning_total
     ) sums
     where wallet_bucket(developer_id) = any ($1::smallint[])
     group by developer_id`,
  ),
]
