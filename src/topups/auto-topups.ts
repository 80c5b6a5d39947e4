// What an owner wants of automatic top-ups. Off until they switch it on, and never without a saved payment method.

import { requireProcessor } from '../payouts/processor.ts'
import { ApiError } from '../platform/errors.ts'
import { CREDITS_MAX } from '../platform/money.ts'
import { type AutoTopupRow, findAuto, lockAuto, saveAuto, sumAutomatic } from './auto-store.ts'
import { parseUsd } from './dollars.ts'
import type { TopupParts } from './topups.ts'

/** A ceiling is a protection; one beyond this protects from nothing. */
const CEILING_MAX_CENTS = 100_000_000n

export type AutoTopup = AutoTopupRow & { charged_this_month_cents: bigint }

const NEVER_SET: AutoTopupRow = {
  enabled: false,
  threshold_credits: 0n,
  amount_cents: 0n,
  monthly_ceiling_cents: 0n,
  stripe_customer_id: null,
  stripe_payment_method_id: null,
  payment_method_label: null,
  switched_off_reason: null,
}

export async function readAutoTopup(
  { db, clock }: Pick<TopupParts, 'db' | 'clock'>,
  account_id: string,
): Promise<AutoTopup> {
  const row = (await findAuto(db, account_id)) ?? NEVER_SET
  const charged_this_month_cents = await sumAutomatic(db, account_id, clock.now())
  return { ...row, charged_this_month_cents }
}

export type WantedAutoTopup = {
  enabled: boolean
  threshold_credits: number
  amount_usd: number
  monthly_ceiling_usd: number
}

export async function setAutoTopup(
  parts: TopupParts,
  account_id: string,
  wanted: WantedAutoTopup,
): Promise<AutoTopup> {
  if (wanted.enabled) requireProcessor(parts)
  const amount_cents = parseUsd(wanted.amount_usd, { ...parts, name: 'amount_usd' })
  const monthly_ceiling_cents = parseUsd(wanted.monthly_ceiling_usd, {
    name: 'monthly_ceiling_usd',
    min_cents: amount_cents,
    max_cents: CEILING_MAX_CENTS,
  })
  const threshold_credits = requireThreshold(wanted.threshold_credits)
  const { enabled } = wanted
  await parts.db.transaction(async (tx) => {
    const before = await lockAuto(tx, account_id)
    if (enabled && !before?.stripe_payment_method_id) {
      throw new ApiError('bad_request', {
        message: 'There is no saved payment method to charge.',
        hint: 'Top up once with POST /account/topups {"amount_usd": …, "save_payment_method": true}.',
      })
    }
    const wish = { enabled, threshold_credits, amount_cents, monthly_ceiling_cents }
    await saveAuto(tx, account_id, wish)
  })
  return await readAutoTopup(parts, account_id)
}

function requireThreshold(credits: number): bigint {
  if (Number.isSafeInteger(credits) && credits >= 1 && BigInt(credits) <= CREDITS_MAX) {
    return BigInt(credits)
  }
  throw new ApiError('bad_request', {
    message: `body.threshold_credits must be a whole number of credits from 1 to ${CREDITS_MAX}.`,
    param: 'threshold_credits',
  })
}
