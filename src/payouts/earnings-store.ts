// The SQL of what developers see of their earnings: sums, series, payouts.

import { statement } from '../platform/db.ts'

export type SumsRow = {
  total_earned: bigint
  not_payable: bigint
  unclaimed: bigint
  eligible: bigint
  in_flight: bigint
  paid_out: bigint
  reserve_held: bigint
  reserve_released: bigint
}

/** $2: until when calls are past their hold; $3: now. One statement, so one instant. */
export const SELECT_SUMS = statement<SumsRow>(
  'payouts.select_sums',
  `select
     (coalesce(t.earned, 0) + d.earned)::bigint as total_earned,
     (coalesce(t.not_payable, 0) + d.not_payable)::bigint as not_payable,
     (h.unclaimed + d.unclaimed)::bigint as unclaimed,
     unclaimed_until($1::uuid, $2::timestamptz, $4::smallint[]) as eligible,
     p.in_flight, p.paid_out, r.reserve_held, r.reserve_released
   from (
     select coalesce(sum(earned), 0) as earned, coalesce(sum(not_payable), 0) as not_payable,
       coalesce(sum(unclaimed), 0) as unclaimed
     from earning_delta
     where developer_id = $1::uuid
   ) d
   cross join (
     select coalesce(sum(unclaimed), 0) as unclaimed from earning_hour where developer_id = $1::uuid
   ) h
   cross join (
     select coalesce(sum(gross_credits) filter (where status = 'pending'), 0)::bigint as in_flight,
       coalesce(sum(transfer_credits) filter (where status = 'paid'), 0)::bigint as paid_out
     from payout
     where developer_id = $1::uuid
   ) p
   cross join (
     select coalesce(sum(amount) filter (where release_at > $3::timestamptz), 0)::bigint as reserve_held,
       coalesce(sum(amount) filter (where release_at <= $3::timestamptz), 0)::bigint as reserve_released
     from payout_reserve
     where developer_id = $1::uuid and rolled_into is null and voided_at is null
   ) r
   left join earning_total t on t.developer_id = $1::uuid`,
)

export type OwnPayoutRow = {
  id: string
  gross_credits: bigint
  reserve_credits: bigint
  transfer_credits: bigint
  amount_cents: bigint
  currency: string
  earnings_count: bigint
  status: 'pending' | 'paid' | 'failed'
  failure_code: string | null
  failure_message: string | null
  reserve_release_at: Date | null
  period_start: Date
  period_end: Date
  created_at: Date
}

export const SELECT_OWN_PAYOUTS = statement<OwnPayoutRow>(
  'payouts.select_own_payouts',
  `select p.id, p.gross_credits, p.reserve_credits, p.transfer_credits, p.amount_cents, p.currency, p.earnings_count,
     p.status, p.failure_code, p.failure_message, r.release_at as reserve_release_at, p.period_start, p.period_end,
     p.created_at
   from payout p
   left join payout_reserve r on r.payout_id = p.id and r.voided_at is null
   where p.developer_id = $1::uuid and p.id < coalesce($2::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
   order by p.id desc
   limit $3::integer`,
)

const EARNED = `(
  select day, client_id, earned, calls
  from earning_day
  where developer_id = $1::uuid and day >= $2::date and day <= $3::date
  union all
  select (hour at time zone 'UTC')::date, client_id, earned, calls
  from earning_delta
  where developer_id = $1::uuid and calls > 0
    and hour >= $2::date::timestamp at time zone 'UTC'
    and hour < ($3::date + 1)::timestamp at time zone 'UTC'
) earned`

export type SeriesRow = {
  name: string
  /** Of a series by day and app: null for all apps beyond those that earned most. */
  client_id?: string | null
  earned_credits: bigint
  calls: bigint
}

export const SELECT_BY_DAY = statement<SeriesRow>(
  'payouts.select_by_day',
  `select to_char(day, 'YYYY-MM-DD') as name, sum(earned)::bigint as earned_credits, sum(calls)::bigint as calls
   from ${EARNED}
   group by day
   order by day`,
)

export const SELECT_BY_APP = statement<SeriesRow>(
  'payouts.select_by_app',
  `select client_id as name, sum(earned)::bigint as earned_credits, sum(calls)::bigint as calls
   from ${EARNED}
   group by client_id
   order by 2 desc, 1
   limit 1000`,
)

/** Apps beyond the 20 that earned most are one, so that a year of many apps stays a short answer that adds up. */
export const SELECT_BY_DAY_AND_APP = statement<SeriesRow>(
  'payouts.select_by_day_and_app',
  `with earned as (select * from ${EARNED}), most as (
     select client_id
     from earned
     group by client_id
     order by sum(earned) desc, client_id
     limit 20
   )
   select to_char(e.day, 'YYYY-MM-DD') as name, m.client_id, sum(e.earned)::bigint as earned_credits,
     sum(e.calls)::bigint as calls
   from earned e
   left join most m on m.client_id = e.client_id
   group by e.day, m.client_id
   order by e.day, 3 desc, 2`,
)

export const FOLD_EARNINGS = statement<{ folded: number }>(
  'payouts.fold_earnings',
  'select fold_earnings($1::integer) as folded',
)
