// The SQL of the wallet's clean-ups, and of the turn that one process takes for all.

import { statement } from '../platform/db.ts'

// Rows are picked by age, from an index, and deleted by where they stand. Both conditions are asked of a row again when
// it is deleted: it may have changed in between.
export const DELETE_OLD_IDEMPOTENCY = statement<object>(
  'wallet.delete_old_idempotency',
  `delete from idempotency
   where bucket = any ($1::smallint[])
     and created_at < $2::timestamptz
     and ctid = any (array(
       select ctid from idempotency
       where bucket = any ($1::smallint[]) and created_at < $2::timestamptz
       order by created_at
       limit $3::integer))
   returning key`,
)

export const DELETE_OLD_SPEND_COUNTERS = statement<object>(
  'wallet.delete_old_spend_counters',
  `delete from spend_counter
   where bucket = any ($1::smallint[])
     and held = 0
     and ctid = any (array(
       select ctid from spend_counter
       where bucket = any ($1::smallint[])
         and period < $2::date
         and period > '1970-01-01'::date
         and held = 0
       order by period
       limit $3::integer))
   returning owner_id`,
)

export const DROP_OLD_OUTBOX = statement<{ name: string }>(
  'wallet.drop_old_outbox',
  `select drop_old_partitions(p_parent => 'outbox', p_begin => 'IYYY"w"IW', p_span => '7 days',
     p_before => $1::timestamptz) as name`,
)

/** Answers nothing where another process has the turn. One that was taken in the future is nobody's: a clock was wrong. */
export const TAKE_TURN = statement<{ turn: bigint }>(
  'wallet.take_turn',
  `update ledger_turn
   set turn = turn + 1, taken_at = $2::timestamptz
   where job = $1::text
     and (taken_at <= $3::timestamptz or taken_at > $2::timestamptz + interval '1 hour')
   returning turn`,
)
