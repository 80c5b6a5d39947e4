// Stripe's objects as they travel: the fields the stand-in acts on, and those that clients commonly
// read. What Stripe would send beside them as null is added where an object is made.

import type { Metadata } from './params.ts'
import type { Row } from './table.ts'

export type StripeList<Item> = {
  object: 'list'
  data: Item[]
  has_more: boolean
  url: string
}

export type Requirements = {
  alternatives: unknown[]
  current_deadline: number | null
  currently_due: string[]
  disabled_reason: string | null
  errors: unknown[]
  eventually_due: string[]
  past_due: string[]
  pending_verification: string[]
}

export type CapabilityStatus = 'active' | 'inactive' | 'pending'

export type Account = Row & {
  object: 'account'
  business_profile: Record<string, unknown>
  business_type: string | null
  capabilities: Record<string, CapabilityStatus>
  charges_enabled: boolean
  controller: Record<string, unknown>
  country: string
  default_currency: string
  details_submitted: boolean
  email: string | null
  external_accounts: StripeList<Record<string, unknown>>
  future_requirements: Requirements
  metadata: Metadata
  payouts_enabled: boolean
  requirements: Requirements
  settings: Record<string, unknown>
  tos_acceptance: Record<string, unknown>
  type: 'express' | 'none' | 'standard'
}

export type Transfer = Row & {
  object: 'transfer'
  amount: number
  amount_reversed: number
  balance_transaction: string
  currency: string
  description: string | null
  destination: string
  destination_payment: string
  livemode: false
  metadata: Metadata
  reversals: StripeList<Reversal>
  reversed: boolean
  source_transaction: string | null
  source_type: string
  transfer_group: string | null
}

export type Reversal = Row & {
  object: 'transfer_reversal'
  amount: number
  balance_transaction: string
  currency: string
  destination_payment_refund: string
  metadata: Metadata
  source_refund: null
  transfer: string
}

export type Customer = Row & {
  object: 'customer'
  email: string | null
  name: string | null
  description: string | null
  metadata: Metadata
  invoice_settings: { default_payment_method: string | null; [field: string]: unknown }
  [field: string]: unknown
}

export type PaymentMethod = Row & {
  object: 'payment_method'
  type: 'card' | 'us_bank_account'
  customer: string | null
  metadata: Metadata
  livemode: false
  card?: { brand: string; last4: string; [field: string]: unknown }
  us_bank_account?: { bank_name: string; last4: string; [field: string]: unknown }
  [field: string]: unknown
}

export type PaymentIntentStatus =
  | 'requires_payment_method'
  | 'requires_confirmation'
  | 'processing'
  | 'succeeded'
  | 'canceled'

export type PaymentIntent = Row & {
  object: 'payment_intent'
  amount: number
  amount_received: number
  currency: string
  customer: string | null
  description: string | null
  last_payment_error: Record<string, unknown> | null
  latest_charge: string | null
  metadata: Metadata
  payment_method: string | null
  payment_method_types: string[]
  receipt_email: string | null
  setup_future_usage: string | null
  status: PaymentIntentStatus
  transfer_group: string | null
  [field: string]: unknown
}

export type Charge = Row & {
  object: 'charge'
  amount: number
  amount_refunded: number
  currency: string
  customer: string | null
  disputed: boolean
  failure_code: string | null
  failure_message: string | null
  metadata: Metadata
  paid: boolean
  payment_intent: string
  payment_method: string
  refunded: boolean
  status: 'succeeded' | 'pending' | 'failed'
  transfer_group: string | null
  [field: string]: unknown
}

export type Refund = Row & {
  object: 'refund'
  amount: number
  charge: string
  currency: string
  metadata: Metadata
  payment_intent: string
  reason: string | null
  status: 'succeeded' | 'failed'
  [field: string]: unknown
}

export type Dispute = Row & {
  object: 'dispute'
  amount: number
  balance_transactions: object[]
  charge: string
  currency: string
  metadata: Metadata
  payment_intent: string
  reason: string
  status: 'needs_response' | 'under_review' | 'won' | 'lost'
  [field: string]: unknown
}

export type SetupIntent = Row & {
  object: 'setup_intent'
  customer: string | null
  metadata: Metadata
  payment_method: string | null
  status: 'requires_payment_method' | 'succeeded' | 'canceled'
  usage: 'off_session'
  [field: string]: unknown
}

export type CheckoutSession = Row & {
  object: 'checkout.session'
  amount_subtotal: number | null
  amount_total: number | null
  cancel_url: string | null
  client_reference_id: string | null
  currency: string | null
  customer: string | null
  customer_email: string | null
  customer_details: Record<string, unknown> | null
  expires_at: number
  metadata: Metadata
  mode: 'payment' | 'setup'
  payment_intent: string | null
  payment_status: 'paid' | 'unpaid' | 'no_payment_required'
  setup_intent: string | null
  status: 'open' | 'complete' | 'expired'
  success_url: string | null
  url: string | null
  [field: string]: unknown
}

export type Event = Row & {
  object: 'event'
  type: string
  account?: string
  api_version: string
  data: { object: unknown; previous_attributes?: Record<string, unknown> }
  livemode: false
  pending_webhooks: number
  request: { id: string | null; idempotency_key: string | null }
}
