// SQL of what one account was charged through apps: from the sums by the month and by the day, and the calls that are not in
// them yet, in one snapshot. So it costs by apps and models, however many calls there were.

import { type Queryable, statement } from '../platform/db.ts'
import { bucketOf } from '../wallet/bucket.ts'
import { periodStart, spendPeriod } from '../wallet/spend-limits.ts'

export type SpentThroughApp = {
  client_id: string
  month_credits: bigint
  today_credits: bigint
  last_used_at: Date | null
}

// Grain 4 of usage_hour has all calls by the day. A developer sees there what users of the app paid too: own_credits is
// what this account paid.
const SUM_SPENT_THROUGH_APPS = statement<SpentThroughApp>(
  'oauth.sum_spent_through_apps',
  `select x.client_id, sum(x.month_credits)::bigint as month_credits, sum(x.today_credits)::bigint as today_credits,
     max(x.last_used_at) as last_used_at
   from (
     select client_id, credits as month_credits, 0 as today_credits, last_used_at
     from app_usage
     where client_id = any ($2::text[]) and account_id = $1::uuid and month = $3::date
     union all
     select client_id, 0, own_credits, null
     from usage_hour
     where owner_id = $1::uuid and grain = 4 and hour = $4::timestamptz and client_id = any ($2::text[])
     union all
     select client_id, credits, case when date_trunc('day', at, 'UTC') = $4::timestamptz then credits else 0 end, at
     from unnest(unfolded_usage(array[$5::smallint]))
     where wallet_id = $1::uuid and client_id = any ($2::text[])
       and date_trunc('month', at at time zone 'UTC')::date = $3::date
   ) x
   group by x.client_id
   order by x.client_id`,
)

/** What was charged through each of these apps this month and today (UTC), with or without a cap. */
export async function sumSpentThroughApps(
  db: Queryable,
  asked: { account_id: string; client_ids: readonly string[]; at: Date },
): Promise<SpentThroughApp[]> {
  const { account_id, client_ids, at } = asked
  return await db.run(SUM_SPENT_THROUGH_APPS, [
    account_id,
    client_ids,
    spendPeriod('month', at),
    periodStart('day', at),
    bucketOf(account_id),
  ])
}
