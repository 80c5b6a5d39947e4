// The SQL of calls that are made once for each Idempotency-Key.

import { statement } from '../../platform/db.ts'
import type { ChatEvent } from '../dialects/chat-types.ts'
import type { ResultHead } from './kept-result.ts'

// Nothing comes back where the key is taken. One that is forgotten and not yet removed is free.
export const INSERT_CLAIM = statement<{ id: string }>(
  'gateway.insert_claim',
  `insert into idempotent_call as c (
     developer_id, wallet_id, endpoint, key, digest, id, node_id, created_at)
   values (
     $1::uuid, $2::uuid, $3::text, $4::text, $5::bytea, $6::uuid, $7::uuid, $8::timestamptz)
   on conflict (developer_id, wallet_id, endpoint, key) do update
   set digest = excluded.digest, id = excluded.id, node_id = excluded.node_id,
     created_at = excluded.created_at, attempt = 1, result_bytes = 0, form = null, head = null,
     events = null, body = null
   where c.created_at < $9::timestamptz
   returning id`,
)

export const SELECT_SHARE = statement<{ keys: bigint; bytes: bigint }>(
  'gateway.select_share',
  `select count(*) as keys, coalesce(sum(result_bytes), 0)::bigint as bytes
   from idempotent_call
   where developer_id = $1::uuid`,
)

export type CallRow = {
  created_at: Date
  digest: Buffer
  id: string
  node_id: string
  attempt: number
  form: 'body' | 'stream' | 'error' | 'dropped' | null
  head: ResultHead | null
  events: ChatEvent[] | null
  body: Buffer | null
}

export const SELECT_CALL = statement<CallRow>(
  'gateway.select_idempotent_call',
  `select created_at, digest, id, node_id, attempt, form, head, events, body
   from idempotent_call
   where developer_id = $1::uuid
     and wallet_id = $2::uuid
     and endpoint = $3::text
     and key = $4::text
     and created_at >= $5::timestamptz`,
)

// Of those who find a call that nobody makes any more, one takes it up.
export const TAKE_UP_CALL = statement<{ attempt: number }>(
  'gateway.take_up_call',
  `update idempotent_call
   set node_id = $7::uuid, attempt = attempt + 1
   where developer_id = $1::uuid
     and wallet_id = $2::uuid
     and endpoint = $3::text
     and key = $4::text
     and id = $5::uuid
     and attempt = $6::integer
     and form is null
   returning attempt`,
)

export const DELETE_CLAIM = statement<object>(
  'gateway.delete_claim',
  `delete from idempotent_call
   where developer_id = $1::uuid
     and wallet_id = $2::uuid
     and endpoint = $3::text
     and key = $4::text
     and id = $5::uuid
     and attempt = $6::integer
     and form is null`,
)

export const KEEP_RESULT = statement<{ key: string }>(
  'gateway.keep_result',
  `update idempotent_call
   set form = $6::text, head = $7::json, events = $8::json, body = $9::bytea,
     result_bytes = $10::integer
   where developer_id = $1::uuid
     and wallet_id = $2::uuid
     and endpoint = $3::text
     and key = $4::text
     and id = $5::uuid
     and form is null
   returning key`,
)

// Picked by age, from an index, and asked again when it is deleted: the key may have been used anew in between.
export const DELETE_OLD_CALLS = statement<{ key: string }>(
  'gateway.delete_old_idempotent_calls',
  `delete from idempotent_call
   where created_at < $1::timestamptz
     and ctid = any (array(
       select ctid from idempotent_call
       where created_at < $1::timestamptz
       order by created_at
       limit $2::integer))
   returning key`,
)

export const MEASURE_RESULTS = statement<{ results: bigint; bytes: bigint }>(
  'gateway.measure_results',
  `select count(*) as results, coalesce(sum(result_bytes), 0)::bigint as bytes
   from idempotent_call`,
)
