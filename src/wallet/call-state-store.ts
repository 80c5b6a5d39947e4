// The SQL of what the ledger knows of one call.

import { statement } from '../platform/db.ts'

// One snapshot: a settlement takes the hold away and writes the usage row at once.
export const SELECT_CALL_STATE = statement<{
  is_charged: boolean
  is_held: boolean
  node_lives: boolean
}>(
  'wallet.select_call_state',
  `select
     exists (
       select from usage_event
       where bucket = $1::smallint and id = $2::uuid and at = id_time($2::uuid)
     ) as is_charged,
     exists (select from hold where bucket = $1::smallint and id = $2::uuid) as is_held,
     exists (select from gateway_node where node_id = $3::uuid) as node_lives`,
)
