// The arithmetic of payouts, and nothing else: what is due when, how a sum is split, what time it is for the batch.

export const DAY_MS = 24 * 3_600_000
/** An earning may be paid out this long after its call. */
export const HOLD_MS = 7 * DAY_MS
/** A reserve is kept this long after its payout. */
export const RESERVE_MS = 90 * DAY_MS
/** $10: below it, earnings are carried over. Reserves do not count toward it. */
export const MINIMUM_CREDITS = 10_000_000n
export const CREDITS_PER_CENT = 10_000n
const RESERVE_DIVISOR = 10n
/** When the daily batch begins, UTC. */
const BATCH_HOUR = 6

export type Split = {
  gross_credits: bigint
  reserve_credits: bigint
  transfer_credits: bigint
  amount_cents: bigint
  /** Fractions of a cent, which no transfer can carry: the platform keeps them. */
  rounding_credits: bigint
}

/** One part in ten is withheld, rounded down; of the rest whole cents are transferred. */
export function splitGross(sums: { earnings: bigint; released_reserve: bigint }): Split {
  const gross_credits = sums.earnings + sums.released_reserve
  const reserve_credits = gross_credits / RESERVE_DIVISOR
  const transfer_credits = gross_credits - reserve_credits
  const amount_cents = transfer_credits / CREDITS_PER_CENT
  const rounding_credits = transfer_credits - amount_cents * CREDITS_PER_CENT
  return { gross_credits, reserve_credits, transfer_credits, amount_cents, rounding_credits }
}

/** Calls up to this moment, and at it, are past their seven days. */
export function eligibleUntil(now: Date): Date {
  return new Date(now.getTime() - HOLD_MS)
}

export function releaseAt(payout_created_at: Date): Date {
  return new Date(payout_created_at.getTime() + RESERVE_MS)
}

export function reachesMinimum(eligible: bigint, minimum = MINIMUM_CREDITS): boolean {
  return eligible >= minimum
}

/** What is eligible shows on one side of the minimum or the other. */
export function splitEligible(eligible: bigint): { pending_payout: bigint; accumulating: bigint } {
  return reachesMinimum(eligible)
    ? { pending_payout: eligible, accumulating: 0n }
    : { pending_payout: 0n, accumulating: eligible }
}

/** The beginning of the last batch that should have begun. */
export function lastBatchAt(now: Date): Date {
  const today = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate(), BATCH_HOUR)
  return new Date(today <= now.getTime() ? today : today - DAY_MS)
}

export function nextBatchAt(now: Date): Date {
  return new Date(lastBatchAt(now).getTime() + DAY_MS)
}
