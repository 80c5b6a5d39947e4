// SQL of what goes back of top-ups: refunds and disputes. Whoever calls has locked the top-up.

import { statement, type Tx } from '../platform/db.ts'
import type { TopupRow } from './store.ts'

const ADD_REFUNDED = statement<object>(
  'topups.add_refunded',
  'update topup set refunded_credits = refunded_credits + $2::bigint where id = $1::uuid',
)

export async function addRefunded(tx: Tx, id: string, credits: bigint): Promise<void> {
  await tx.run(ADD_REFUNDED, [id, credits])
}

export type RefundRow = {
  stripe_refund_id: string
  credits: bigint
  taken_credits: bigint
  taken_promotional: bigint
  state: 'done' | 'failed'
}

// One for each refund of one payment, of which there are a few.
const LIST_REFUNDS = statement<RefundRow>(
  'topups.list_refunds',
  `select stripe_refund_id, credits, taken_credits, taken_promotional, state
   from topup_refund
   where topup_id = $1::uuid`,
)

export async function listRefunds(tx: Tx, topup_id: string): Promise<RefundRow[]> {
  return await tx.run(LIST_REFUNDS, [topup_id])
}

const INSERT_REFUND = statement<object>(
  'topups.insert_refund',
  `insert into topup_refund (stripe_refund_id, topup_id, credits, taken_credits, taken_promotional, state, noted_at)
   values ($1::text, $2::uuid, $3::bigint, $4::bigint, $5::bigint, $6::text, $7::timestamptz)`,
)

export async function insertRefund(
  tx: Tx,
  refund: RefundRow & { topup_id: string; at: Date },
): Promise<void> {
  const { stripe_refund_id, topup_id, credits, taken_credits, taken_promotional, state, at } =
    refund
  await tx.run(INSERT_REFUND, [
    stripe_refund_id,
    topup_id,
    credits,
    taken_credits,
    taken_promotional,
    state,
    at,
  ])
}

const FAIL_REFUND = statement<object>(
  'topups.fail_refund',
  `update topup_refund set state = 'failed', failed_at = $2::timestamptz where stripe_refund_id = $1::text`,
)

export async function failRefund(tx: Tx, stripe_refund_id: string, at: Date): Promise<void> {
  await tx.run(FAIL_REFUND, [stripe_refund_id, at])
}

export type DisputeRow = {
  credits: bigint
  frozen_credits: bigint
  taken_credits: bigint
  taken_promotional: bigint
  reinstated_cents: bigint
  state: 'open' | 'won' | 'lost'
}

const FIND_DISPUTE = statement<DisputeRow>(
  'topups.find_dispute',
  `select credits, frozen_credits, taken_credits, taken_promotional, reinstated_cents, state
   from topup_dispute
   where stripe_dispute_id = $1::text`,
)

export async function findDispute(tx: Tx, id: string): Promise<DisputeRow | undefined> {
  const [row] = await tx.run(FIND_DISPUTE, [id])
  return row
}

const SUM_DISPUTED = statement<{ credits: bigint }>(
  'topups.sum_disputed',
  `select coalesce(sum(credits), 0)::bigint as credits from topup_dispute
   where topup_id = $1::uuid and state <> 'won'`,
)

export async function sumDisputed(tx: Tx, topup_id: string): Promise<bigint> {
  const [row] = await tx.run(SUM_DISPUTED, [topup_id])
  return row?.credits ?? 0n
}

const INSERT_DISPUTE = statement<object>(
  'topups.insert_dispute',
  `insert into topup_dispute
     (stripe_dispute_id, topup_id, account_id, credits, frozen_credits, taken_promotional, state, opened_at)
   values ($1::text, $2::uuid, $3::uuid, $4::bigint, $5::bigint, $6::bigint, 'open', $7::timestamptz)`,
)

export async function insertDispute(
  tx: Tx,
  dispute: {
    id: string
    topup: TopupRow
    credits: bigint
    frozen: bigint
    promotional: bigint
    at: Date
  },
): Promise<void> {
  const { id, topup, credits, frozen, promotional, at } = dispute
  await tx.run(INSERT_DISPUTE, [id, topup.id, topup.account_id, credits, frozen, promotional, at])
}

const CLOSE_DISPUTE = statement<object>(
  'topups.close_dispute',
  `update topup_dispute set state = $2::text, closed_at = $3::timestamptz, taken_credits = $4::bigint,
     taken_promotional = $5::bigint
   where stripe_dispute_id = $1::text`,
)

export async function closeDispute(
  tx: Tx,
  id: string,
  end: { state: 'won' | 'lost'; taken: bigint; promotional: bigint; at: Date },
): Promise<void> {
  await tx.run(CLOSE_DISPUTE, [id, end.state, end.at, end.taken, end.promotional])
}

const SET_REINSTATED = statement<object>(
  'topups.set_reinstated',
  'update topup_dispute set reinstated_cents = $2::bigint where stripe_dispute_id = $1::text',
)

export async function setReinstated(tx: Tx, id: string, cents: bigint): Promise<void> {
  await tx.run(SET_REINSTATED, [id, cents])
}
