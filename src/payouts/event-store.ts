// SQL of the processor's events: which were done.

import { type Queryable, statement, type Tx } from '../platform/db.ts'

const FIND = statement<{ id: string }>(
  'payouts.find_stripe_event',
  'select id from stripe_event where id = $1::text',
)
const INSERT = statement<{ id: string }>(
  'payouts.insert_stripe_event',
  `insert into stripe_event (id, type, received_at) values ($1::text, $2::text, $3::timestamptz)
   on conflict (id) do nothing
   returning id`,
)
const FORGET = statement<{ id: string }>(
  'payouts.forget_stripe_events',
  `delete from stripe_event
   where id in (select id from stripe_event where received_at < $1::timestamptz order by received_at limit $2::integer)
   returning id`,
)

export async function isEventDone(db: Queryable, id: string): Promise<boolean> {
  return (await db.run(FIND, [id])).length > 0
}

/** False: it was done before. One that is being done elsewhere is waited for. */
export async function takeEvent(
  tx: Tx,
  event: { id: string; type: string; at: Date },
): Promise<boolean> {
  return (await tx.run(INSERT, [event.id, event.type, event.at])).length > 0
}

export async function forgetEvents(db: Queryable, before: Date, limit: number): Promise<number> {
  return (await db.run(FORGET, [before, limit])).length
}
