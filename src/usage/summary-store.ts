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

/** Whose sums, of which times, and the filters: the first ten values of both statements. */
const ASKED_FOR = `p_owner_id => $1::uuid, p_grains => $2::smallint[], p_froms => $3::timestamptz[],
       p_tos => $4::timestamptz[], p_model => $5::text, p_key_id => $6::uuid, p_client_id => $7::text,
       p_external_user_id => $8::text, p_status => $9::usage_status, p_billing_mode => $10::billing_mode`

// Groups beyond $13 are one: however many there are, the answer is short and its cells add up.
export const SUM_USAGE = statement<CellRow>(
  'usage.sum_usage',
  `with cells as (
     select *
     from usage_cells(
       ${ASKED_FOR},
       p_interval => $11::text,
       p_group_by => $12::text,
       p_buckets => $14::smallint[]
     )
   ), ranked as (
     select label, row_number() over (order by sum(credits) desc, sum(requests) desc, label) as rank
     from cells
     group by label
   )
   select c.start,
     case when r.rank <= $13::integer then c.label end as "group",
     r.rank > $13::integer as is_other,
     ${MEASURES.map((name) => `sum(c.${name})::bigint as ${name}`).join(', ')}
   from cells c
   join ranked r on coalesce(r.label, '') = coalesce(c.label, '') and (r.label is null) = (c.label is null)
   group by 1, 2, 3
   order by 1, 3, sum(c.credits) desc, 2`,
)

export type CountRow = { start: Date; requests: bigint; errors: bigint }

/** Newest first. */
export const COUNT_CALLS = statement<CountRow>(
  'usage.count_calls',
  `select start, sum(requests)::bigint as requests, sum(errors)::bigint as errors
   from usage_cells(
     ${ASKED_FOR},
     p_interval => $11::text,
     p_group_by => null,
     p_buckets => $12::smallint[]
   )
   group by start
   order by start desc`,
)
