// SQL that adds up the calls of everybody, for operators: from the sums of the service, and what is not in them yet.

import { statement } from '../platform/db.ts'

export type ServiceRow = {
  hour: Date
  model: string
  error_code: string | null
  requests: bigint
  errors: bigint
  credits: bigint
}

// As many rows as there are hours, models and codes of errors, however many calls.
export const SUM_SERVICE = statement<ServiceRow>(
  'usage.sum_service',
  `select h.hour, h.model, h.error_code, sum(h.requests)::bigint as requests, sum(h.errors)::bigint as errors,
     sum(h.credits)::bigint as credits
   from (
     select hour, model, error_code, requests, errors, credits
     from usage_hour
     where owner_id = '00000000-0000-0000-0000-000000000000' and grain = 8 and hour >= $1::timestamptz
     union all
     select hour, model, error_code, requests, errors, credits
     from usage_shares(unfolded_usage($2::smallint[]))
     where grain = 8 and hour >= $1::timestamptz
   ) h
   group by 1, 2, 3`,
)
