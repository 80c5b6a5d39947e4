// What an endpoint of the API is, and how the right one is found.

import type { JsonObject } from '../json.ts'
import type { Fields } from './fields.ts'
import { EXPAND, LIST } from './fields.ts'
import type { StripeList } from './objects.ts'
import type { Page } from './table.ts'
import type { World } from './world.ts'

export type ApiCall = {
  params: JsonObject
  /** The parts of the address that the pattern names. */
  ids: Readonly<Record<string, string>>
  /** Where the client reached the sandbox, for links to its pages. */
  origin: string
  /** The connected account named in the Stripe-Account header. */
  account: string | undefined
}

export type Run = (world: World, call: ApiCall) => object

export type Route = {
  method: 'GET' | 'POST' | 'DELETE'
  parts: readonly string[]
  fields: Fields
  /** What the list of fields cannot say about them. */
  check?: (params: JsonObject) => void
  run: Run
}

export function get(pattern: string, run: Run, fields: Fields = {}): Route {
  return { method: 'GET', parts: pattern.split('/'), fields: { ...EXPAND, ...fields }, run }
}

export function list(pattern: string, run: Run, fields: Fields = {}): Route {
  return { method: 'GET', parts: pattern.split('/'), fields: { ...LIST, ...fields }, run }
}

export function post(pattern: string, run: Run, fields: Fields = {}): Route {
  return { method: 'POST', parts: pattern.split('/'), fields: { ...EXPAND, ...fields }, run }
}

export function remove(pattern: string, run: Run): Route {
  return { method: 'DELETE', parts: pattern.split('/'), fields: {}, run }
}

export function findRoute(
  routes: readonly Route[],
  method: string,
  path: string,
): { route: Route; ids: Record<string, string> } | undefined {
  const parts = path.split('/')
  for (const route of routes) {
    const ids = route.method === method ? matchParts(route.parts, parts) : undefined
    if (ids !== undefined) return { route, ids }
  }
  return undefined
}

export function matchParts(
  pattern: readonly string[],
  parts: readonly string[],
): Record<string, string> | undefined {
  if (pattern.length !== parts.length) return undefined
  const ids: Record<string, string> = {}
  for (const [at, part] of pattern.entries()) {
    const given = parts[at] ?? ''
    if (part.startsWith(':') && given !== '') ids[part.slice(1)] = given
    else if (part !== given) return undefined
  }
  return ids
}

export function idOf(call: ApiCall, name = 'id'): string {
  return call.ids[name] ?? ''
}

export function toList<Item>(page: Page<Item>, url: string): StripeList<Item> {
  return { object: 'list', data: page.data, has_more: page.has_more, url }
}
