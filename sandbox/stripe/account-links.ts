// Links to the hosted onboarding page and to the Express dashboard. Both are secrets in themselves:
// whoever holds one is let in, once.

import { findAccount } from './accounts.ts'
import { badRequest } from './errors.ts'
import { accepted, type Fields, missingField } from './fields.ts'
import { readObject, readText } from './params.ts'
import { type ApiCall, idOf, post, type Route } from './route.ts'
import type { World } from './world.ts'

const LINK_LIFE_MS = 5 * 60_000

const FIELDS: Fields = {
  ...accepted('collect collection_options'),
  account: { type: 'text', required: true },
  refresh_url: { type: 'url' },
  return_url: { type: 'url' },
  type: { type: 'text', required: true, choices: ['account_onboarding', 'account_update'] },
}

export const ACCOUNT_LINK_ROUTES: readonly Route[] = [
  post('/v1/account_links', createAccountLink, FIELDS),
  post('/v1/accounts/:id/login_links', createLoginLink),
]

function createAccountLink(world: World, { params, origin }: ApiCall): object {
  const refresh_url = readText(params, 'refresh_url')
  const return_url = readText(params, 'return_url')
  if (refresh_url === undefined) throw missingField('refresh_url')
  if (return_url === undefined) throw missingField('return_url')
  const { id } = findAccount(world, readText(params, 'account') ?? '')
  const token = world.ids.make('link')
  const expires_at_ms = world.clock.nowMs() + LINK_LIFE_MS
  world.links.put(token, {
    kind: 'onboarding',
    account: id,
    expires_at_ms,
    refresh_url,
    return_url,
  })
  return {
    object: 'account_link',
    created: world.clock.nowSeconds(),
    expires_at: Math.floor(expires_at_ms / 1000),
    url: `${origin}/stripe/setup/${id}/${token}`,
  }
}

function createLoginLink(world: World, call: ApiCall): object {
  const { id, account } = findAccount(world, idOf(call))
  const dashboard = readText(readObject(account.controller, 'stripe_dashboard'), 'type')
  if (dashboard !== 'express') {
    throw badRequest(
      `Cannot create a login link for an account that has no access to the Express Dashboard.`,
    )
  }
  if (!account.details_submitted) {
    throw badRequest('Cannot create a login link for an account that has not completed onboarding.')
  }
  const token = world.ids.make('link')
  const expires_at_ms = world.clock.nowMs() + LINK_LIFE_MS
  world.links.put(token, {
    kind: 'dashboard',
    account: id,
    expires_at_ms,
    refresh_url: '',
    return_url: '',
  })
  return {
    object: 'login_link',
    created: world.clock.nowSeconds(),
    url: `${call.origin}/stripe/express/${id}/${token}`,
  }
}
