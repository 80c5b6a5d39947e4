// SQL of automatic top-ups: what owners want, who is due, and what is still open.

import { type Queryable, statement, type Tx } from '../platform/db.ts'
import { ALL_BUCKETS } from '../wallet/bucket.ts'
import { COLUMNS, type TopupRow } from './store.ts'

export type AutoTopupRow = {
  enabled: boolean
  threshold_credits: bigint
  amount_cents: bigint
  monthly_ceiling_cents: bigint
  stripe_customer_id: string | null
  stripe_payment_method_id: string | null
  payment_method_label: string | null
  switched_off_reason: string | null
}

const AUTO_COLUMNS = `enabled, threshold_credits, amount_cents, monthly_ceiling_cents, stripe_customer_id,
  stripe_payment_method_id, payment_method_label, switched_off_reason`

const FIND = statement<AutoTopupRow>(
  'topups.find_auto',
  `select ${AUTO_COLUMNS} from auto_topup where account_id = $1::uuid`,
)
const LOCK = statement<AutoTopupRow>(
  'topups.lock_auto',
  `select ${AUTO_COLUMNS} from auto_topup where account_id = $1::uuid for update`,
)

export async function findAuto(
  db: Queryable,
  account_id: string,
): Promise<AutoTopupRow | undefined> {
  const [row] = await db.run(FIND, [account_id])
  return row
}

export async function lockAuto(tx: Tx, account_id: string): Promise<AutoTopupRow | undefined> {
  const [row] = await tx.run(LOCK, [account_id])
  return row
}

export type AutoWish = {
  enabled: boolean
  threshold_credits: bigint
  amount_cents: bigint
  monthly_ceiling_cents: bigint
}

const SAVE = statement<AutoTopupRow>(
  'topups.save_auto',
  `insert into auto_topup as a (account_id, enabled, threshold_credits, amount_cents, monthly_ceiling_cents)
   values ($1::uuid, $2::boolean, $3::bigint, $4::bigint, $5::bigint)
   on conflict (account_id) do update
   set enabled = excluded.enabled, threshold_credits = excluded.threshold_credits,
     amount_cents = excluded.amount_cents, monthly_ceiling_cents = excluded.monthly_ceiling_cents,
     switched_off_reason = null, ceiling_told_for = null
   returning ${AUTO_COLUMNS}`,
)

export async function saveAuto(
  db: Queryable,
  account_id: string,
  wish: AutoWish,
): Promise<AutoTopupRow> {
  const { enabled, threshold_credits, amount_cents, monthly_ceiling_cents } = wish
  const values = [account_id, enabled, threshold_credits, amount_cents, monthly_ceiling_cents]
  const [row] = await db.run(SAVE, values)
  if (!row) throw new Error('an upsert has a row')
  return row
}

const SAVE_METHOD = statement<object>(
  'topups.save_payment_method',
  `insert into auto_topup (account_id, stripe_customer_id, stripe_payment_method_id, payment_method_label)
   select id, $2::text, $3::text, $4::text
   from account
   where id = $1::uuid and closes_at is null
   on conflict (account_id) do update
   set stripe_customer_id = excluded.stripe_customer_id,
     stripe_payment_method_id = excluded.stripe_payment_method_id,
     payment_method_label = excluded.payment_method_label`,
)

/** Not for an account that is given up or deleted: a checkout may be paid after that. */
export async function savePaymentMethod(
  tx: Tx,
  account_id: string,
  method: { customer_id: string; payment_method_id: string; label: string | undefined },
): Promise<void> {
  await tx.run(SAVE_METHOD, [
    account_id,
    method.customer_id,
    method.payment_method_id,
    method.label,
  ])
}

const SWITCH_OFF = statement<object>(
  'topups.switch_off_auto',
  `update auto_topup set enabled = false, switched_off_reason = $2::text
   where account_id = $1::uuid and enabled`,
)

export async function switchOff(tx: Tx, account_id: string, reason: string): Promise<void> {
  await tx.run(SWITCH_OFF, [account_id, reason])
}

const FORGET = statement<object>(
  'topups.forget_auto',
  'delete from auto_topup where account_id = $1::uuid',
)

/** With the saved payment method, which belongs to whoever saved it. */
export async function forgetAutoTopup(tx: Tx, account_id: string): Promise<void> {
  await tx.run(FORGET, [account_id])
}

// Who has been told that the ceiling is reached is not due again in that month; a suspended account is not due at all.
const LIST_DUE = statement<{ account_id: string }>(
  'topups.list_due',
  `select a.account_id
   from auto_topup a
   join wallet w on w.bucket = wallet_bucket(a.account_id) and w.id = a.account_id
   where w.bucket = any ($4::smallint[])
     and a.enabled
     and a.account_id > $1::uuid
     and w.posted < a.threshold_credits
     and not exists (
       select from account o where o.id = a.account_id and o.suspended_at is not null)
     and a.ceiling_told_for is distinct from date_trunc('month', $2::timestamptz at time zone 'UTC')::date
     and not exists (
       select from topup t
       where t.account_id = a.account_id and t.source = 'automatic' and t.state = 'pending')
   order by a.account_id
   limit $3::integer`,
)

export async function listDue(
  db: Queryable,
  page: { after_id: string; at: Date; count: number },
): Promise<string[]> {
  const rows = await db.run(LIST_DUE, [page.after_id, page.at, page.count, ALL_BUCKETS])
  return rows.map((row) => row.account_id)
}

const SUM_OF_MONTH = statement<{ cents: bigint }>(
  'topups.sum_automatic_of_month',
  `select coalesce(sum(amount_cents), 0)::bigint as cents from topup
   where account_id = $1::uuid
     and source = 'automatic'
     and state in ('pending', 'paid')
     and created_at >= date_trunc('month', $2::timestamptz at time zone 'UTC') at time zone 'UTC'`,
)

/** What was charged by itself in the month of `at` (UTC), or still may be. */
export async function sumAutomatic(db: Queryable, account_id: string, at: Date): Promise<bigint> {
  const [row] = await db.run(SUM_OF_MONTH, [account_id, at])
  return row?.cents ?? 0n
}

const TELL_CEILING = statement<object>(
  'topups.tell_ceiling',
  `update auto_topup set ceiling_told_for = date_trunc('month', $2::timestamptz at time zone 'UTC')::date
   where account_id = $1::uuid`,
)

export async function noteCeilingTold(tx: Tx, account_id: string, at: Date): Promise<void> {
  await tx.run(TELL_CEILING, [account_id, at])
}

// Each look makes the next one wait longer, up to an hour. It is also the lease of whoever looks.
const CLAIM_OPEN = statement<TopupRow>(
  'topups.claim_open',
  `update topup set looks = looks + 1,
     next_look_at = $1::timestamptz + least(60 * power(2, least(looks, 10)), 3600) * interval '1 second'
   where id in (
     select id from topup
     where source = 'automatic' and state = 'pending' and next_look_at <= $1::timestamptz
     order by next_look_at
     limit $2::integer
     for update skip locked)
   returning ${COLUMNS}`,
)

export async function claimOpen(db: Queryable, at: Date, count: number): Promise<TopupRow[]> {
  return await db.run(CLAIM_OPEN, [at, count])
}
