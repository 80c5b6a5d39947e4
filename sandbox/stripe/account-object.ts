// What a new connected account looks like before its owner has said anything.

import type { JsonObject } from '../json.ts'
import type { Account, Requirements } from './objects.ts'
import { readFlag, readMetadata, readObject, readText } from './params.ts'
import type { World } from './world.ts'

const CURRENCIES: Readonly<Record<string, string>> = {
  AU: 'aud',
  BR: 'brl',
  CA: 'cad',
  CH: 'chf',
  DK: 'dkk',
  GB: 'gbp',
  HK: 'hkd',
  IN: 'inr',
  JP: 'jpy',
  MX: 'mxn',
  NO: 'nok',
  NZ: 'nzd',
  PL: 'pln',
  SE: 'sek',
  SG: 'sgd',
  AT: 'eur',
  BE: 'eur',
  DE: 'eur',
  ES: 'eur',
  FI: 'eur',
  FR: 'eur',
  IE: 'eur',
  IT: 'eur',
  NL: 'eur',
  PT: 'eur',
}
const DUE_AT_FIRST = [
  'business_type',
  'external_account',
  'tos_acceptance.date',
  'tos_acceptance.ip',
]

export function makeAccount(world: World, params: JsonObject): Account {
  const country = (readText(params, 'country') ?? 'US').toUpperCase()
  const type = readText(params, 'type')
  const id = world.ids.make('acct')
  return {
    id,
    object: 'account',
    business_profile: {
      mcc: null,
      name: null,
      product_description: null,
      support_email: null,
      url: null,
      ...readObject(params, 'business_profile'),
    },
    business_type: readText(params, 'business_type') ?? null,
    capabilities: readCapabilities(params),
    charges_enabled: false,
    controller: describeController(params),
    country,
    created: world.clock.nowSeconds(),
    default_currency:
      readText(params, 'default_currency')?.toLowerCase() ?? CURRENCIES[country] ?? 'usd',
    details_submitted: false,
    email: readText(params, 'email') ?? null,
    external_accounts: {
      object: 'list',
      data: [],
      has_more: false,
      url: `/v1/accounts/${id}/external_accounts`,
    },
    future_requirements: noRequirements(),
    metadata: readMetadata(params),
    payouts_enabled: false,
    requirements: {
      ...noRequirements(),
      currently_due: [...DUE_AT_FIRST],
      eventually_due: [...DUE_AT_FIRST],
      past_due: [...DUE_AT_FIRST],
      disabled_reason: 'requirements.past_due',
    },
    settings: {
      dashboard: { display_name: null, timezone: 'Etc/UTC' },
      payouts: {
        debit_negative_balances: true,
        schedule: { delay_days: 2, interval: 'daily' },
        statement_descriptor: null,
      },
    },
    tos_acceptance: { date: null, ip: null, user_agent: null },
    type: type === 'express' || type === 'standard' ? type : 'none',
  }
}

/** A capability that is asked for starts inactive: its owner has said nothing yet. */
export function readCapabilities(params: JsonObject): Account['capabilities'] {
  const wanted = Object.entries(readObject(params, 'capabilities'))
  return Object.fromEntries(
    wanted
      .filter(
        ([, wish]) =>
          typeof wish === 'object' && wish !== null && readFlag({ ...wish }, 'requested'),
      )
      .map(([name]) => [name, 'inactive']),
  )
}

function describeController(params: JsonObject): Account['controller'] {
  const given = readObject(params, 'controller')
  const express = readText(params, 'type') === 'express'
  const by_platform = express ? 'application' : undefined
  return {
    fees: {
      payer:
        readText(readObject(given, 'fees'), 'payer') ??
        (express ? 'application_express' : 'account'),
    },
    is_controller: true,
    losses: {
      payments: readText(readObject(given, 'losses'), 'payments') ?? by_platform ?? 'stripe',
    },
    requirement_collection: readText(given, 'requirement_collection') ?? 'stripe',
    stripe_dashboard: {
      type:
        readText(readObject(given, 'stripe_dashboard'), 'type') ?? (express ? 'express' : 'full'),
    },
    type: 'application',
  }
}

export function noRequirements(): Requirements {
  return {
    alternatives: [],
    current_deadline: null,
    currently_due: [],
    disabled_reason: null,
    errors: [],
    eventually_due: [],
    past_due: [],
    pending_verification: [],
  }
}
