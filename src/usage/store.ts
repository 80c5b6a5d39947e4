// SQL that writes the record of calls: those that failed, and the sums by the hour. Reading is in calls-store.ts and
// summary-store.ts.

import { type Statement, statement } from '../platform/db.ts'

export const RECORD_FAILED_CALLS = statement<{ written: number }>(
  'usage.record_failed_calls',
  'select record_failed_calls(p_calls => $1::json) as written',
)

export const DROP_OLD_FAILED_CALLS = statement<{ name: string }>(
  'usage.drop_old_failed_calls',
  `select drop_old_partitions(p_parent => 'failed_call', p_begin => 'YYYY"m"MM', p_span => '1 month',
     p_before => $1::timestamptz) as name`,
)

/** The sums of the whole service. Those of accounts are kept for ever. */
export const DELETE_OLD_SERVICE_SUMS = statement<object>(
  'usage.delete_old_service_sums',
  `delete from usage_hour
   where owner_id = '00000000-0000-0000-0000-000000000000' and grain = 8 and hour < $1::timestamptz`,
)

/** A balance that fell below what its owner wants to be told of. As JSON has it: amounts are below 2^53. */
export type LowBalance = { account_id: string; balance: number; threshold: number }

/** How many rows of the outbox were read; -1: the sums have to be made anew. */
export const FOLD_USAGE = statement<{ folded: number; low: LowBalance[] }>(
  'usage.fold_usage',
  `select folded, low
   from fold_usage(p_buckets => $1::smallint[], p_limit => $2::integer)`,
)

/** Before anything else of the transaction: the snapshot is taken by the first statement that reads. */
export const READ_ONE_SNAPSHOT: Statement<object> = {
  name: 'usage.read_one_snapshot',
  text: 'set transaction isolation level repeatable read',
}
export const KEEP_SUMS: Statement<object> = {
  name: 'usage.keep_sums',
  text: 'lock table usage_hour, app_usage in share row exclusive mode',
}
export const LIFT_TIME_LIMIT: Statement<object> = {
  name: 'usage.lift_time_limit',
  text: 'set local statement_timeout = 0',
}

export const REBUILD_USAGE = statement<object>(
  'usage.rebuild_usage',
  'select rebuild_usage(p_buckets => $1::smallint[])',
  { may_take_long: true },
)
