// Connected accounts: created by the platform, filled in by their owners on the hosted page.

import type { JsonObject } from '../json.ts'
import { makeAccount, noRequirements, readCapabilities } from './account-object.ts'
import { setOutcome } from './account-outcome.ts'
import { createBalances } from './balances.ts'
import { badRequest, missing, noAccess } from './errors.ts'
import { accepted, type Fields } from './fields.ts'
import type { Account } from './objects.ts'
import { mergeMetadata, readObject, readPage, readRange, readText } from './params.ts'
import { get, idOf, list, post, type Route, remove, toList } from './route.ts'
import type { AccountRow, World } from './world.ts'

const SHARED_FIELDS: Fields = {
  ...accepted(
    'account_token business_profile company documents external_account groups individual settings tos_acceptance',
  ),
  business_type: {
    type: 'text',
    choices: ['company', 'government_entity', 'individual', 'non_profit'],
  },
  capabilities: { type: 'anything' },
  default_currency: { type: 'currency' },
  email: { type: 'text', clearable: true },
  metadata: { type: 'metadata' },
}
const CREATE_FIELDS: Fields = {
  ...SHARED_FIELDS,
  controller: {
    type: 'object',
    fields: {
      fees: {
        type: 'object',
        fields: { payer: { type: 'text', choices: ['account', 'application'] } },
      },
      losses: {
        type: 'object',
        fields: { payments: { type: 'text', choices: ['application', 'stripe'] } },
      },
      requirement_collection: { type: 'text', choices: ['application', 'stripe'] },
      stripe_dashboard: {
        type: 'object',
        fields: { type: { type: 'text', choices: ['express', 'full', 'none'] } },
      },
    },
  },
  country: { type: 'text', max: 2 },
  type: { type: 'text', choices: ['custom', 'express', 'standard'] },
}

export const ACCOUNT_ROUTES: readonly Route[] = [
  post('/v1/accounts', (world, { params }) => createAccount(world, params).account, CREATE_FIELDS),
  list(
    '/v1/accounts',
    (world, { params }) => {
      const fits = readRange(params)
      const page = world.accounts.page(readPage(params), {
        keep: (row) => !row.deauthorized && fits(row.created),
      })
      return toList({ ...page, data: page.data.map((row) => row.account) }, '/v1/accounts')
    },
    { created: { type: 'moment' } },
  ),
  get('/v1/accounts/:id', (world, call) => findAccount(world, idOf(call)).account),
  post(
    '/v1/accounts/:id',
    (world, call) => updateAccount(world, idOf(call), call.params),
    SHARED_FIELDS,
  ),
  remove('/v1/accounts/:id', (world, call) => deleteAccount(world, idOf(call))),
  post(
    '/v1/accounts/:id/reject',
    (world, call) => {
      const row = findAccount(world, idOf(call))
      setOutcome(world, row, 'rejected', `rejected.${readText(call.params, 'reason') ?? 'other'}`)
      return row.account
    },
    { reason: { type: 'text', required: true, choices: ['fraud', 'other', 'terms_of_service'] } },
  ),
  get('/v1/accounts/:id/capabilities/:capability', (world, call) => {
    return describeCapability(findAccount(world, idOf(call)).account, idOf(call, 'capability'))
  }),
]

/** An account that is not the platform's own is not missing: the key has no access to it. */
export function findAccount(world: World, id: string): AccountRow {
  const row = world.accounts.get(id)
  if (row === undefined || row.deauthorized) throw noAccess(id)
  return row
}

export function createAccount(world: World, params: JsonObject): AccountRow {
  checkAccount(params)
  const account = makeAccount(world, params)
  const { id, created } = account
  return world.accounts.insert({
    id,
    created,
    account,
    available: createBalances(),
    deauthorized: false,
  })
}

function checkAccount(params: JsonObject): void {
  const country = (readText(params, 'country') ?? 'US').toUpperCase()
  if (!/^[A-Z]{2}$/.test(country)) {
    throw badRequest(
      `Country '${country}' is unknown. Try using a 2-character alphanumeric country code instead, such as 'US'.`,
      { param: 'country' },
    )
  }
  const type = readText(params, 'type')
  if (type !== undefined && params['controller'] !== undefined) {
    throw badRequest(
      'You may not provide the `type` parameter and `controller` parameters simultaneously. They are mutually exclusive.',
      { param: 'type' },
    )
  }
  if (type === 'custom')
    throw badRequest('The sandbox has no custom accounts: nobody would see its onboarding page.', {
      param: 'type',
    })
}

function updateAccount(world: World, id: string, params: JsonObject): Account {
  const row = findAccount(world, id)
  const { account } = row
  const previous = { email: account.email, metadata: account.metadata }
  account.metadata = mergeMetadata(account.metadata, params)
  if (params['email'] !== undefined) account.email = readText(params, 'email') ?? null
  account.business_type = readText(params, 'business_type') ?? account.business_type
  account.business_profile = {
    ...account.business_profile,
    ...readObject(params, 'business_profile'),
  }
  account.capabilities = { ...readCapabilities(params), ...account.capabilities }
  world.events.emit('account.updated', account, { account: id, previous_attributes: previous })
  return account
}

function deleteAccount(world: World, id: string): object {
  const row = findAccount(world, id)
  if (row.available.entries().some(([, amount]) => amount !== 0)) {
    throw badRequest('This account cannot be deleted because it has a nonzero balance.')
  }
  world.accounts.remove(id)
  return { id, object: 'account', deleted: true }
}

function describeCapability(account: Account, name: string): object {
  const status = account.capabilities[name]
  if (status === undefined) throw missing('capability', name, 'capability')
  return {
    id: name,
    object: 'capability',
    account: account.id,
    future_requirements: noRequirements(),
    requested: true,
    requested_at: account.created,
    requirements: account.requirements,
    status,
  }
}
