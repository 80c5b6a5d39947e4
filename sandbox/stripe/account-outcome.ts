// What becomes of an account when its owner leaves the onboarding page, and when the platform loses
// it again. The events that follow go to the Connect endpoint, with the account's id beside them.

import type { Account, CapabilityStatus } from './objects.ts'
import type { AccountRow, World } from './world.ts'

export const OUTCOMES = ['complete', 'incomplete', 'pending', 'needs_document', 'rejected'] as const
export type AccountOutcome = (typeof OUTCOMES)[number]

type Standing = {
  submitted: boolean
  capability: CapabilityStatus
  due: readonly string[]
  pending: readonly string[]
  disabled_reason: string | null
}

const STANDINGS: Readonly<Record<AccountOutcome, Standing>> = {
  complete: { submitted: true, capability: 'active', due: [], pending: [], disabled_reason: null },
  incomplete: {
    submitted: false,
    capability: 'inactive',
    due: ['external_account', 'tos_acceptance.date', 'tos_acceptance.ip'],
    pending: [],
    disabled_reason: 'requirements.past_due',
  },
  pending: {
    submitted: true,
    capability: 'pending',
    due: [],
    pending: ['individual.verification.document'],
    disabled_reason: 'requirements.pending_verification',
  },
  needs_document: {
    submitted: true,
    capability: 'inactive',
    due: ['individual.verification.document'],
    pending: [],
    disabled_reason: 'requirements.past_due',
  },
  rejected: {
    submitted: true,
    capability: 'inactive',
    due: [],
    pending: [],
    disabled_reason: 'rejected.fraud',
  },
}

export function setOutcome(
  world: World,
  row: AccountRow,
  outcome: AccountOutcome,
  disabled_reason?: string,
): void {
  const { account } = row
  const before = describeStanding(account)
  applyStanding(account, STANDINGS[outcome], world.clock.nowSeconds())
  if (disabled_reason !== undefined) account.requirements.disabled_reason = disabled_reason
  world.events.emit('account.updated', account, { account: row.id, previous_attributes: before })
  for (const [name, status] of Object.entries(account.capabilities)) {
    const known = before.capabilities[name]
    if (known === status) continue
    const capability = {
      id: name,
      object: 'capability',
      account: row.id,
      requested: true,
      requested_at: account.created,
      requirements: account.requirements,
      status,
    }
    const previous_attributes = { status: known ?? 'unrequested' }
    world.events.emit('capability.updated', capability, { account: row.id, previous_attributes })
  }
}

/** The same without events: for accounts that existed before the test began. */
export function applyOutcome(account: Account, outcome: AccountOutcome, now: number): void {
  applyStanding(account, STANDINGS[outcome], now)
}

/** The owner has cut the platform off: the account is out of its reach from now on. */
export function deauthorize(world: World, row: AccountRow): void {
  row.deauthorized = true
  const application = { id: 'ca_sandbox', object: 'application', name: 'Sandbox platform' }
  world.events.emit('account.application.deauthorized', application, { account: row.id })
}

function applyStanding(account: Account, standing: Standing, now: number): void {
  const active = standing.capability === 'active'
  account.details_submitted = standing.submitted
  account.capabilities = Object.fromEntries(
    Object.keys(account.capabilities).map((name) => [name, standing.capability]),
  )
  account.charges_enabled = active && Object.keys(account.capabilities).length > 0
  account.payouts_enabled = active
  account.requirements = {
    ...account.requirements,
    currently_due: [...standing.due],
    eventually_due: [...standing.due],
    past_due: standing.disabled_reason === 'requirements.past_due' ? [...standing.due] : [],
    pending_verification: [...standing.pending],
    disabled_reason: standing.disabled_reason,
  }
  if (standing.submitted) {
    account.business_type ??= 'individual'
    account.tos_acceptance = { date: now, ip: '127.0.0.1', user_agent: null }
  }
}

function describeStanding(account: Account) {
  const { charges_enabled, payouts_enabled, details_submitted, capabilities, requirements } =
    account
  return { charges_enabled, payouts_enabled, details_submitted, capabilities, requirements }
}
