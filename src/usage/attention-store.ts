// SQL of GET /account/attention: keys and webhooks that will stop working, or have stopped, unless somebody acts.

import { statement } from '../platform/db.ts'

export type UrgentKeyRow = {
  id: string
  name: string
  spent: bigint | null
  spend_limit_credits: bigint | null
  spend_limit_period: 'day' | 'month' | 'total' | null
  expires_at: Date | null
  is_near_limit: boolean
}

export type UrgentWebhookRow = {
  id: string
  url: string
  delivered: bigint
  failed: bigint
  switched_off_at: Date | null
}

// An account has at most KEYS_PER_ACCOUNT_MAX keys, and each has one counter for the present period.
export const SELECT_URGENT_KEYS = statement<UrgentKeyRow>(
  'usage.select_urgent_keys',
  `select k.id, k.name, s.spent, k.spend_limit_credits, k.spend_limit_period, k.expires_at,
     coalesce(s.spent * 100 >= k.spend_limit_credits * $6::integer, false) as is_near_limit
   from api_key k
   left join spend_counter s on s.bucket = $2::smallint
     and s.owner_id = k.id
     and s.period = case k.spend_limit_period
       when 'day' then $3::date when 'month' then $4::date when 'total' then $5::date end
   where k.account_id = $1::uuid
     and k.revoked_at is null
     and (s.spent * 100 >= k.spend_limit_credits * $6::integer
       or k.expires_at between $7::timestamptz and $8::timestamptz)
   order by coalesce(k.expires_at, 'infinity'), k.id
   limit $9::integer`,
)

// A terminal that listens has no address, and comes and goes.
export const SELECT_URGENT_WEBHOOKS = statement<UrgentWebhookRow>(
  'usage.select_urgent_webhooks',
  `select w.id, w.url, w.switched_off_at,
     coalesce(s.delivered, 0)::bigint as delivered, coalesce(s.failed, 0)::bigint as failed
   from webhook w
   cross join lateral (
     select sum(delivered) as delivered, sum(failed) as failed
     from webhook_stat
     where webhook_id = w.id and half_hour > ledger_now() - interval '24 hours'
   ) s
   where w.developer_id = $1::uuid
     and w.url is not null
     and (w.switched_off_at is not null
       or (w.active and s.failed * 100 >= (s.delivered + s.failed) * $2::integer and s.failed > 0))
   order by w.switched_off_at desc nulls last, w.id desc
   limit $3::integer`,
)
