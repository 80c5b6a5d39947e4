// SQL that adds calls up: from the sums by the hour, and what is not in them yet, in one snapshot.

import { statement } from '../platform/db.ts'

export type CellRow = {
  start: Date
  group: string | null
  is_other: boolean
  credits: bigint
  own_credits: bigint
  cost_credits: bigint
  markup_credits: bigint
  requests: bigint
  errors: bigint
  input_tokens: bigint
  cached_input_tokens: bigint
  cache_write_tokens: bigint
  output_tokens: bigint
}

const MEASURES = [
  'credits',
  'own_credits',
  'cost_credits',
  'markup_credits',
  'requests',
  'errors',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
] as const

const ASKED_FOR = `h.owner_id = $1::uuid
       and h.grain = any ($2::smallint[])
       and h.hour >= $3::timestamptz
       and h.hour < $4::timestamptz
       and ($5::text is null or h.model = $5::text)
       and ($6::uuid is null or h.key_id = $6::uuid)
       and ($7::text is null or h.client_id = $7::text)
       and ($8::text is null or h.external_user_id = $8::text)
       and ($9::usage_status is null or h.status = $9::usage_status)
       and ($10::billing_mode is null or h.billing_mode = $10::billing_mode)`

// Groups beyond $13 are one: however many there are, the answer is short and its cells add up.
export const SUM_USAGE = statement<CellRow>(
  'usage.sum_usage',
  `with calls as (
     select * from usage_hour h where ${ASKED_FOR}
     union all
     select * from usage_shares(unfolded_usage($14::smallint[])) h where ${ASKED_FOR}
   ), cells as (
     select date_trunc($11::text, h.hour, 'UTC') as start,
       case $12::text
         when 'model' then h.model
         when 'key' then h.key_id::text
         when 'app' then h.client_id
         when 'external_user' then h.external_user_id
         when 'error' then h.error_code
       end as "group",
       ${MEASURES.map((name) => `sum(h.${name})::bigint as ${name}`).join(', ')}
     from calls h
     group by 1, 2
   ), ranked as (
     select "group", row_number() over (order by sum(credits) desc, sum(requests) desc, "group") as rank
     from cells
     group by "group"
   )
   select c.start,
     case when r.rank <= $13::integer then c."group" end as "group",
     r.rank > $13::integer as is_other,
     ${MEASURES.map((name) => `sum(c.${name})::bigint as ${name}`).join(', ')}
   from cells c
   join ranked r on r."group" is not distinct from c."group"
   group by 1, 2, 3
   order by 1, 3, sum(c.credits) desc, 2`,
)
