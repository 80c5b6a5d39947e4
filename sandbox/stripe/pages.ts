// The pages that people see: onboarding, the Express dashboard, Checkout. Plain forms, no script.

import type { JsonObject } from '../json.ts'
import type { Incoming } from './api.ts'
import { CHECKOUT_PAGES } from './checkout-page.ts'
import { DASHBOARD_PAGES } from './dashboard-page.ts'
import { decodeForm } from './form.ts'
import { notFound } from './layout.ts'
import { ONBOARDING_PAGES } from './onboarding-page.ts'
import { matchParts } from './route.ts'
import { type Answer, type Line, send } from './send.ts'
import type { State } from './state.ts'
import type { World } from './world.ts'

export const PAGE_PREFIX = '/stripe'

export type PageCall = { ids: Readonly<Record<string, string>>; form: JsonObject }
export type PageRoute = {
  method: 'GET' | 'POST'
  pattern: string
  run: (world: World, call: PageCall) => Answer
}

const PAGES: readonly PageRoute[] = [...ONBOARDING_PAGES, ...DASHBOARD_PAGES, ...CHECKOUT_PAGES]

export async function answerPage(state: State, incoming: Incoming, line: Line): Promise<void> {
  await send(findAnswer(state.world, incoming), line)
}

function findAnswer(world: World, { method, path, body }: Incoming): Answer {
  const parts = path.split('/')
  for (const route of PAGES) {
    const ids = route.method === method ? matchParts(route.pattern.split('/'), parts) : undefined
    if (ids !== undefined) return route.run(world, { ids, form: decodeForm(body) })
  }
  return notFound('The sandbox has no page at this address.')
}
