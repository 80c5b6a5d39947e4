// Transfers at the processor: makes one, finds one, and says what an answer proves. Whatever does not prove that nothing
// was executed is "unknown": it stays as it is, and is asked again with the same key.

import type { Stripe } from 'stripe'
import type { PayoutRow } from './store.ts'
import { stripeErrors } from './stripe-client.ts'

/** For one try, of which there are three. */
const TIMEOUT_MS = 20_000
const RETRIES = 2
/** One is expected. More than that are named, not counted. */
const LIST_LIMIT = 10
/** Comes with the status of a refused credential, and is about the account that would be paid. */
const ACCOUNT_REFUSED = 'account_invalid'

export type TransferLimits = { timeout: number; maxNetworkRetries: number }

export const TRANSFER_LIMITS: TransferLimits = { timeout: TIMEOUT_MS, maxNetworkRetries: RETRIES }

export type Processor = { stripe: Stripe; transfer_limits?: TransferLimits }

export type Sent =
  | { kind: 'paid'; transfer_id: string }
  | {
      kind: 'refused'
      code: string
      message: string
      /** An answer that was given to an earlier request with this key. */
      replayed: boolean
      /** It is not about this developer: the next would be refused too. */
      concerns_all: boolean
      /** The request did not get as far as the transfer. */
      unauthorized: boolean
    }
  | { kind: 'unknown'; reason: string; mismatched: boolean }

export async function createTransfer(processor: Processor, payout: PayoutRow): Promise<Sent> {
  const { stripe, transfer_limits: limits = TRANSFER_LIMITS } = processor
  try {
    const transfer = await stripe.transfers.create(
      {
        amount: centsOf(payout),
        currency: payout.currency,
        destination: payout.stripe_account_id,
        transfer_group: payout.id,
        metadata: {
          payout_id: payout.id,
          developer_id: payout.developer_id,
          earnings_count: String(payout.earnings_count),
        },
      },
      { ...limits, idempotencyKey: payout.idempotency_key },
    )
    if (typeof transfer.id !== 'string' || transfer.amount !== centsOf(payout)) {
      return { kind: 'unknown', reason: 'the answer is no transfer of ours', mismatched: false }
    }
    return { kind: 'paid', transfer_id: transfer.id }
  } catch (error) {
    return judge(error)
  }
}

export type Found =
  | { kind: 'found'; transfer_id: string }
  | { kind: 'none' }
  /** There is something, but not what was asked for. */
  | { kind: 'differs'; detail: string }
  | { kind: 'unknown'; reason: string }

/** Whether the transfer of a payout exists, whatever was answered when it was asked for. */
export async function findTransfer(processor: Processor, payout: PayoutRow): Promise<Found> {
  const { stripe, transfer_limits: limits = TRANSFER_LIMITS } = processor
  try {
    const { data } = await stripe.transfers.list(
      {
        transfer_group: payout.id,
        destination: payout.stripe_account_id,
        limit: LIST_LIMIT,
      },
      limits,
    )
    const [transfer, ...others] = data
    if (!transfer) return { kind: 'none' }
    if (others.length > 0) return { kind: 'differs', detail: `${data.length} transfers exist` }
    if (
      transfer.amount !== centsOf(payout) ||
      transfer.currency !== payout.currency ||
      transfer.metadata['payout_id'] !== payout.id
    ) {
      return { kind: 'differs', detail: `transfer ${transfer.id} is of ${transfer.amount} cents` }
    }
    return { kind: 'found', transfer_id: transfer.id }
  } catch (error) {
    return { kind: 'unknown', reason: reasonOf(error) }
  }
}

function centsOf(payout: PayoutRow): number {
  const cents = Number(payout.amount_cents)
  if (!Number.isSafeInteger(cents) || cents <= 0) throw new Error('a transfer has whole cents')
  return cents
}

function judge(error: unknown): Sent {
  const { StripeIdempotencyError } = stripeErrors()
  if (error instanceof StripeIdempotencyError) {
    return { kind: 'unknown', reason: reasonOf(error), mismatched: true }
  }
  if (!isRefusal(error)) return { kind: 'unknown', reason: reasonOf(error), mismatched: false }
  const unauthorized = error.statusCode === 401 || error.statusCode === 403
  const code = error.code ?? error.type
  return {
    kind: 'refused',
    code,
    message: error.message,
    replayed: error.headers?.['idempotent-replayed'] === 'true',
    concerns_all: (unauthorized && code !== ACCOUNT_REFUSED) || code === 'balance_insufficient',
    unauthorized,
  }
}

/** Answers of Stripe itself, in its own words, that say no. */
function isRefusal(error: unknown): error is Stripe.errors.StripeError {
  const errors = stripeErrors()
  return (
    error instanceof errors.StripeInvalidRequestError ||
    error instanceof errors.StripeCardError ||
    error instanceof errors.StripeAuthenticationError ||
    error instanceof errors.StripePermissionError
  )
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code}: ` : ''
  return `${code}${error.message}`
}
