// Operators give credits: a present, or such that were paid for elsewhere.

import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/db.ts'
import { mintWalletId } from '../wallet/bucket.ts'
import { type IdempotentAnswer, withIdempotency } from '../wallet/idempotency.ts'
import { grantCredits, type Posted, parseAmount } from '../wallet/postings.ts'
import { requireAccount } from './accounts.ts'
import { type By, recordAct } from './acts.ts'

const DESCRIPTION = 'Granted by the operator'

export type Grant = {
  /** Minted in the bucket of the account: the same id gives once. */
  id: string
  account: { id: string; email: string }
  amount: bigint
  is_paid: boolean
}

/** In the caller's transaction, with its record. */
export async function giveCredits(
  { clock }: { clock: Clock },
  tx: Tx,
  { id, account, amount, is_paid }: Grant,
  by: By,
): Promise<Posted> {
  const details = { grant_id: id, credits: amount.toString(), is_paid, account_id: account.id }
  await recordAct(clock, tx, { ...by, act: 'grant', subject: account.email, details })
  const posting = { id, account_id: account.id, amount, is_paid, description: DESCRIPTION }
  return await grantCredits(tx, posting)
}

export type WantedGrant = { account_id: string; credits: number; paid: boolean }

/** One grant for each Idempotency-Key of an operator, and the same answer to whoever asks again. */
export async function giveCreditsOnce(
  parts: { db: Db; clock: Clock },
  wanted: WantedGrant,
  by: By & { operator_id: string; idempotency_key: string | undefined },
): Promise<IdempotentAnswer> {
  const { idempotency_key, ...actor } = by
  const amount = parseAmount(wanted.credits)
  const at = parts.clock.now()
  const claim = {
    principal: by.operator_id,
    endpoint: 'POST /operator/users/:id/grant',
    key: idempotency_key,
    body: { ...wanted, reason: by.reason },
    at,
  }
  return await withIdempotency(parts.db, claim, async (tx) => {
    const account = await requireAccount(tx, wanted.account_id)
    const id = mintWalletId(account.id, at)
    const grant = { id, account, amount, is_paid: wanted.paid }
    const { balance_before, balance_after } = await giveCredits(parts, tx, grant, actor)
    const body = { id, credits: amount, paid: wanted.paid, balance_before, balance_after }
    return { status: 200, body: { ...body, created_at: at.toISOString() } }
  })
}
