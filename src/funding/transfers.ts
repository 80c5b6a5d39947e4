// A developer credits a user: one transfer for each Idempotency-Key.

import type { Db, Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { mintWalletId } from '../wallet/bucket.ts'
import { type IdempotentAnswer, withIdempotency } from '../wallet/idempotency.ts'
import { parseAmount, transferCredits } from '../wallet/postings.ts'
import type { PromotionalCredits } from '../wallet/promotional.ts'

export type FundedUser = { user_id: string; external_user_id: string | null }

export type FundingRequest = {
  developer_id: string
  idempotency_key: string | undefined
  /** The body as it came: what the key stands for. */
  body: { amount: unknown; description?: string | undefined }
  at: Date
  promotional_credits: PromotionalCredits
  /** The user that the body names, if linked to the developer. Asked inside the transaction. */
  findUser(tx: Tx): Promise<FundedUser | undefined>
}

export async function creditUser(db: Db, request: FundingRequest): Promise<IdempotentAnswer> {
  const { developer_id, idempotency_key, body, at, promotional_credits } = request
  const amount = parseAmount(body.amount)
  const claim = {
    principal: developer_id,
    endpoint: 'POST /v1/funding/credit',
    key: idempotency_key,
    body,
    at,
  }
  return await withIdempotency(db, claim, async (tx) => {
    const user = await request.findUser(tx)
    if (!user) throw new ApiError('user_not_found')
    const { user_id, external_user_id } = user
    const { from, to } = await transferCredits(tx, {
      id: mintWalletId(developer_id, at),
      receipt_id: mintWalletId(user_id, at),
      from_account_id: developer_id,
      to_account_id: user_id,
      amount,
      promotional_credits,
      ...(body.description !== undefined && { description: body.description }),
    })
    return {
      status: 200,
      body: {
        id: from.id,
        amount,
        user_id,
        external_user_id,
        developer_balance: from.balance_after,
        user_balance: to.balance_after,
        created_at: at.toISOString(),
      },
    }
  })
}
