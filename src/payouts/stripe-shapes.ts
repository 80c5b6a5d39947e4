// Stripe's objects and errors in our own words.

import type { Stripe } from 'stripe'
import {
  type Dispute,
  type FailureReason,
  type Payment,
  type ProcessorAccount,
  ProcessorError,
  type Refund,
} from './processor.ts'
import { stripeErrors } from './stripe-client.ts'

export async function call<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw toProcessorError(error)
  }
}

function toProcessorError(error: unknown): ProcessorError {
  if (!(error instanceof stripeErrors().StripeError)) {
    // A body that was cut or is no JSON comes as an error of the client's own.
    return new ProcessorError({ reason: 'unknown', code: 'broken', replayed: false, cause: error })
  }
  const replayed = error.headers?.['idempotent-replayed'] === 'true'
  const code = error.code ?? error.type
  return new ProcessorError({ reason: reasonOf(error), code, replayed, cause: error })
}

function reasonOf(error: Stripe.errors.StripeError): FailureReason {
  if (error instanceof stripeErrors().StripeCardError) return 'declined'
  if (error.statusCode === 404 || error.code === 'account_invalid') return 'missing'
  if (error.statusCode === 401 || error.statusCode === 403) return 'unauthorized'
  const refused = error.statusCode === 400 && error.type !== 'StripeIdempotencyError'
  return refused ? 'refused' : 'unknown'
}

/** More than a person can be asked for at once. */
const REQUIREMENTS_MAX = 50

export function toAccount(account: Stripe.Account): ProcessorAccount {
  return {
    id: account.id,
    country: account.country ?? null,
    default_currency: account.default_currency ?? null,
    charges_enabled: account.charges_enabled,
    payouts_enabled: account.payouts_enabled,
    details_submitted: account.details_submitted,
    disabled_reason: account.requirements?.disabled_reason ?? null,
    requirements_due: (account.requirements?.currently_due ?? []).slice(0, REQUIREMENTS_MAX),
  }
}

export function toPayment(intent: Stripe.PaymentIntent): Payment {
  const { payment_method, last_payment_error, status } = intent
  const failed = ['requires_payment_method', 'requires_action', 'canceled'].includes(status)
  return {
    id: intent.id,
    status: status === 'succeeded' ? 'succeeded' : failed ? 'failed' : 'open',
    amount_cents: BigInt(intent.amount),
    currency: intent.currency,
    topup_id: intent.metadata['topup_id'],
    customer_id: idOf(intent.customer),
    payment_method_id: idOf(payment_method),
    payment_method_label:
      typeof payment_method === 'object' && payment_method !== null
        ? labelOf(payment_method)
        : undefined,
    failure_code: last_payment_error?.decline_code ?? last_payment_error?.code ?? undefined,
  }
}

export function toRefund({ id, amount, status }: Stripe.Refund): Refund {
  const has_failed = status === 'failed' || status === 'canceled'
  return { id, amount_cents: BigInt(amount), has_failed }
}

export function toDispute(dispute: Stripe.Dispute): Dispute {
  const { id, payment_intent, amount, status, balance_transactions } = dispute
  const returned = balance_transactions.reduce((sum, { amount: moved }) => {
    return moved > 0 ? sum + BigInt(moved) : sum
  }, 0n)
  return {
    id,
    payment_id: idOf(payment_intent),
    amount_cents: BigInt(amount),
    state: disputeState(status),
    reinstated_cents: returned,
  }
}

export function disputeState(status: Stripe.Dispute.Status): Dispute['state'] {
  if (status === 'lost') return 'lost'
  if (['won', 'warning_closed', 'prevented'].includes(status)) return 'won'
  return status.startsWith('warning_') ? 'asked' : 'open'
}

/** As its owner knows it. */
function labelOf({ type, card, us_bank_account }: Stripe.PaymentMethod): string {
  if (card) return `${card.brand} ${card.last4}`
  return us_bank_account?.last4 ? `bank account ${us_bank_account.last4}` : type
}

/** References come as an id, or whole. */
export function idOf(reference: string | { id: string } | null | undefined): string | undefined {
  return typeof reference === 'string' ? reference : reference?.id
}
