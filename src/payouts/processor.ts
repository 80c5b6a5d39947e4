// The payment processor, as much of it as we use, in our own words: the rest of the service knows no types of Stripe's.

import type { Stripe } from 'stripe'
import { ApiError } from '../platform/errors.ts'

/** The same parts, or an answer that says that the operator has not set them up. */
export type WithProcessor = { processor: Processor | undefined }

export type ProcessorAccount = {
  id: string
  country: string | null
  default_currency: string | null
  charges_enabled: boolean
  payouts_enabled: boolean
  details_submitted: boolean
  disabled_reason: string | null
  /** What it wants to have now, by its own names, such as `external_account`. */
  requirements_due: string[]
}

export type Checkout = {
  amount_cents: bigint
  email: string
  /** Comes back with everything that is told of the payment. */
  topup_id: string
  save_payment_method: boolean
  success_url: string
  cancel_url: string
}

export type Payment = {
  id: string
  status: 'succeeded' | 'failed' | 'open'
  amount_cents: bigint
  currency: string
  topup_id: string | undefined
  customer_id: string | undefined
  payment_method_id: string | undefined
  payment_method_label: string | undefined
  failure_code: string | undefined
}

export type Refund = {
  id: string
  amount_cents: bigint
  /** The money did not reach the payer, and never will by this refund. */
  has_failed: boolean
}

export type Dispute = {
  id: string
  payment_id: string | undefined
  amount_cents: bigint
  /** `asked`: the bank only asks, and no money has moved. */
  state: 'asked' | 'open' | 'won' | 'lost'
  /** What the bank took and gave back again. */
  reinstated_cents: bigint
}

export type SavedCharge = {
  amount_cents: bigint
  customer_id: string
  payment_method_id: string
  topup_id: string
}

/** Every method throws a ProcessorError when the processor does not do it. */
export type Processor = {
  createAccount(account: {
    email: string
    developer_id: string
    idempotency_key: string
  }): Promise<ProcessorAccount>
  readAccount(id: string): Promise<ProcessorAccount>
  createAccountLink(link: {
    account_id: string
    refresh_url: string
    return_url: string
  }): Promise<string>
  createLoginLink(account_id: string): Promise<string>
  createCheckout(checkout: Checkout): Promise<{ id: string; url: string }>
  readPayment(id: string): Promise<Payment>
  /** The payment of a top-up, if one was made since then. */
  findPayment(charge: SavedCharge, since: Date): Promise<Payment | undefined>
  chargeSaved(charge: SavedCharge): Promise<Payment>
  /** All of a payment, those that failed too. */
  listRefunds(payment_id: string): Promise<Refund[]>
  readDispute(id: string): Promise<Dispute>
  /** Undefined: none of the secrets signed it, or it is too old. */
  readEvent(
    body: string,
    signature: string,
    secrets: readonly string[],
  ): Promise<Stripe.Event | undefined>
}

/** What is left open by `unknown`: it may have been done. `unauthorized` is about our credential, not about what was asked. */
export type FailureReason = 'declined' | 'missing' | 'refused' | 'unauthorized' | 'unknown'

export class ProcessorError extends Error {
  readonly reason: FailureReason
  readonly code: string
  /** The answer is one that was saved under the idempotency key: the same key will get it again. */
  readonly replayed: boolean

  constructor(failure: { reason: FailureReason; code: string; replayed: boolean; cause: unknown }) {
    super(`the payment processor: ${failure.code}`, { cause: failure.cause })
    this.name = 'ProcessorError'
    this.reason = failure.reason
    this.code = failure.code
    this.replayed = failure.replayed
  }
}

export function requireProcessor({ processor }: WithProcessor): Processor {
  if (processor) return processor
  throw new ApiError('provider_misconfigured', {
    message: 'Payments are not set up here.',
    hint: 'The operator sets STRIPE_SECRET_KEY and the webhook secrets.',
  })
}

/** Where a person waits for the answer, a failure of the processor is theirs to repeat. */
export async function forPerson<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof ProcessorError)) throw error
    throw new ApiError('stripe_error', { cause: error, detail: error.message })
  }
}
