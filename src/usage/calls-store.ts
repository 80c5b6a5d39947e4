// SQL that reads calls: those that were settled (usage_event) and those that cost nothing (failed_call), as one list.

import { statement } from '../platform/db.ts'

export type CallRow = {
  id: string
  created_at: Date
  wallet_id: string
  developer_id: string | null
  key_id: string | null
  client_id: string | null
  external_user_id: string | null
  request_id: string | null
  billing_mode: 'developer' | 'user'
  endpoint: string | null
  model: string
  status: 'ok' | 'cut' | 'failed'
  outcome: string | null
  error_code: string | null
  stream: boolean
  estimated: boolean
  credits_used: bigint
  cost_credits: bigint
  markup_credits: bigint
  shortfall_credits: bigint
  /** Of a call that cost nothing there is no balance to tell. */
  balance_before: bigint | null
  balance_after: bigint | null
  input_tokens: number
  cached_input_tokens: number
  cache_write_tokens: number
  output_tokens: number
  reasoning_tokens: number
  latency_ms: number | null
  first_token_ms: number | null
  upstream_model: string | null
  /** The price list that it was charged at. */
  price_list: unknown
  details: unknown
  /** What the provider reported; read for a receipt only. */
  raw_usage?: unknown
}

const SETTLED = `x.id, x.at as created_at, x.wallet_id, x.developer_id, x.key_id, x.client_id, x.external_user_id,
  x.request_id, x.billing_mode, x.endpoint, x.model, usage_status_of(x.outcome) as status, x.outcome, x.error_code,
  x.stream, x.estimated, x.credits_used, x.cost_credits, x.markup_credits, x.shortfall_credits, x.balance_before,
  x.balance_after, x.input_tokens, x.cached_input_tokens, x.cache_write_tokens, x.output_tokens, x.reasoning_tokens,
  x.total_ms as latency_ms, x.first_byte_ms as first_token_ms, null::text as upstream_model, x.price_list_id, x.details`

const FAILED = `x.id, x.at as created_at, x.wallet_id, x.developer_id, x.key_id, x.client_id, x.external_user_id,
  x.request_id, x.billing_mode, x.endpoint, x.model, usage_status_of(x.outcome) as status, x.outcome, x.error_code,
  x.stream, false as estimated, 0::bigint as credits_used, 0::bigint as cost_credits, 0::bigint as markup_credits,
  0::bigint as shortfall_credits, null::bigint as balance_before, null::bigint as balance_after, 0 as input_tokens,
  0 as cached_input_tokens, 0 as cache_write_tokens, 0 as output_tokens, 0 as reasoning_tokens,
  x.total_ms as latency_ms, null::integer as first_token_ms, x.upstream_model, null::integer as price_list_id,
  null::jsonb as details`

const WITH_PRICES = `c.*, coalesce(p.prices, c.details -> 'prices') as price_list`

/** Whose calls: of the account's own wallet, or of those who paid for the account's apps. */
const OWN = 'x.bucket = $2::smallint and x.wallet_id = $1::uuid'
const OF_USERS =
  'x.bucket = any ($3::smallint[]) and x.developer_id = $1::uuid and x.developer_id <> x.wallet_id'

/** Where calls of a filter are is known to the hour, and the rest is not read. */
const RANGES = 'unnest($4::timestamptz[], $5::timestamptz[]) as r (from_at, to_at)'

// Only the developer knows the key.
const ASKED_FOR = `x.at >= r.from_at and x.at < r.to_at
      and ($6::uuid is null or x.id < $6::uuid)
      and ($7::text is null or x.model = $7::text)
      and ($8::uuid is null or (x.key_id = $8::uuid and x.developer_id = $1::uuid))
      and ($9::text is null or x.client_id = $9::text)
      and ($10::text is null or x.external_user_id = $10::text)
      and ($11::usage_status is null or usage_status_of(x.outcome) = $11::usage_status)
      and ($12::billing_mode is null or x.billing_mode = $12::billing_mode)
    order by x.at desc, x.id desc
    limit $13::integer`

/** Newest first. An id begins with its time, so the order of ids is the order of time. */
export const SELECT_CALLS = statement<CallRow>(
  'usage.select_calls',
  `select ${WITH_PRICES}
   from (
     select c.* from ${RANGES}
     cross join lateral (select ${SETTLED} from usage_event x where ${OWN} and ${ASKED_FOR}) c
     union all
     select c.* from ${RANGES}
     cross join lateral (select ${SETTLED} from usage_event x where ${OF_USERS} and ${ASKED_FOR}) c
     union all
     select c.* from ${RANGES}
     cross join lateral (select ${FAILED} from failed_call x where ${OWN} and ${ASKED_FOR}) c
     union all
     select c.* from ${RANGES}
     cross join lateral (select ${FAILED} from failed_call x where ${OF_USERS} and ${ASKED_FOR}) c
     order by created_at desc, id desc
     limit $13::integer
   ) c
   left join price_list p on p.id = c.price_list_id
   order by c.created_at desc, c.id desc`,
)

/** Bucket and time are in the id. */
export const SELECT_CALL = statement<CallRow>(
  'usage.select_call',
  `select ${WITH_PRICES}
   from (
     (select ${SETTLED}, x.raw_usage from usage_event x
      where x.bucket = $2::smallint and x.id = $1::uuid and x.at = id_time($1::uuid))
     union all
     (select ${FAILED}, null::json as raw_usage from failed_call x
      where x.bucket = $2::smallint and x.id = $1::uuid and x.at = id_time($1::uuid))
     limit 1
   ) c
   left join price_list p on p.id = c.price_list_id`,
)
