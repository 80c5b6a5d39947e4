// SQL of top-ups.

import { type Queryable, statement, type Tx } from '../platform/db.ts'

export type TopupState = 'pending' | 'paid' | 'failed' | 'expired'

export type TopupRow = {
  id: string
  account_id: string
  amount_cents: bigint
  credits: bigint
  refunded_credits: bigint
  state: TopupState
  source: 'checkout' | 'automatic'
  save_payment_method: boolean
  stripe_customer_id: string | null
  stripe_payment_method_id: string | null
  stripe_payment_intent_id: string | null
  failure_code: string | null
  created_at: Date
  closed_at: Date | null
}

export type NewTopup = Pick<
  TopupRow,
  'id' | 'account_id' | 'amount_cents' | 'credits' | 'source'
> & {
  save_payment_method?: boolean
  stripe_customer_id?: string
  stripe_payment_method_id?: string
  next_look_at?: Date
  at: Date
}

export const COLUMNS = `id, account_id, amount_cents, credits, refunded_credits, state, source, save_payment_method,
  stripe_customer_id, stripe_payment_method_id, stripe_payment_intent_id, failure_code, created_at, closed_at`

const INSERT = statement<TopupRow>(
  'topups.insert',
  `insert into topup (id, account_id, amount_cents, credits, source, save_payment_method, stripe_customer_id,
     stripe_payment_method_id, next_look_at, created_at)
   values ($1::uuid, $2::uuid, $3::bigint, $4::bigint, $5::text, $6::boolean, $7::text, $8::text, $9::timestamptz,
     $10::timestamptz)
   on conflict (account_id) where source = 'automatic' and state = 'pending' do nothing
   returning ${COLUMNS}`,
)

/** Undefined: an automatic one of the account is open already. */
export async function insertTopup(db: Queryable, topup: NewTopup): Promise<TopupRow | undefined> {
  const [row] = await db.run(INSERT, [
    topup.id,
    topup.account_id,
    topup.amount_cents,
    topup.credits,
    topup.source,
    topup.save_payment_method ?? false,
    topup.stripe_customer_id,
    topup.stripe_payment_method_id,
    topup.next_look_at,
    topup.at,
  ])
  return row
}

const SET_SESSION = statement<object>(
  'topups.set_session',
  'update topup set stripe_session_id = $2::text where id = $1::uuid',
)

export async function setSession(db: Queryable, id: string, session_id: string): Promise<void> {
  await db.run(SET_SESSION, [id, session_id])
}

const LOCK = statement<TopupRow>(
  'topups.lock',
  `select ${COLUMNS} from topup where id = $1::uuid for update`,
)

export async function lockTopup(tx: Tx, id: string): Promise<TopupRow | undefined> {
  const [row] = await tx.run(LOCK, [id])
  return row
}

const FIND_OF_PAYMENT = statement<{ id: string }>(
  'topups.find_of_payment',
  'select id from topup where stripe_payment_intent_id = $1::text',
)

export async function findTopupOfPayment(
  db: Queryable,
  payment_intent_id: string,
): Promise<string | undefined> {
  const [row] = await db.run(FIND_OF_PAYMENT, [payment_intent_id])
  return row?.id
}

const MARK_PAID = statement<object>(
  'topups.mark_paid',
  `update topup set state = 'paid', stripe_payment_intent_id = $2::text, failure_code = null, next_look_at = null,
     closed_at = $3::timestamptz
   where id = $1::uuid`,
)

export async function markPaid(
  tx: Tx,
  id: string,
  paid: { payment_id: string; at: Date },
): Promise<void> {
  await tx.run(MARK_PAID, [id, paid.payment_id, paid.at])
}

const CLOSE_UNPAID = statement<{ id: string }>(
  'topups.close_unpaid',
  `update topup set state = $2::text, failure_code = $3::text, next_look_at = null, closed_at = $4::timestamptz
   where id = $1::uuid and state = 'pending'
   returning id`,
)

/** False: it was closed before. */
export async function closeUnpaid(
  db: Queryable,
  id: string,
  end: { state: 'failed' | 'expired'; code?: string | undefined; at: Date },
): Promise<boolean> {
  return (await db.run(CLOSE_UNPAID, [id, end.state, end.code, end.at])).length > 0
}

const FIND_PAID = statement<TopupRow>(
  'topups.find_paid',
  `select ${COLUMNS} from topup
   where id = $1::uuid and account_id = $2::uuid and state = 'paid'`,
)

export async function findPaidTopup(
  db: Queryable,
  { id, account_id }: { id: string; account_id: string },
): Promise<TopupRow | undefined> {
  return (await db.run(FIND_PAID, [id, account_id]))[0]
}

export const LIST_TOPUPS = statement<TopupRow>(
  'topups.list',
  `select ${COLUMNS} from topup
   where account_id = $1::uuid and id < coalesce($2::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
   order by id desc
   limit $3::integer`,
)

export async function listTopups(
  db: Queryable,
  account_id: string,
  page: { before_id: string | null; count: number },
): Promise<TopupRow[]> {
  return await db.run(LIST_TOPUPS, [account_id, page.before_id, page.count])
}
