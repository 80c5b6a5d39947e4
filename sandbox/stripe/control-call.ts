// What a request to the control API is, and how its fields are read. Nothing of this exists at Stripe.

import type { JsonObject } from '../json.ts'
import { badRequest } from './errors.ts'
import type { State } from './state.ts'

export type ControlCall = {
  ids: Readonly<Record<string, string>>
  query: URLSearchParams
  body: JsonObject
}

export type ControlRoute = {
  method: 'GET' | 'POST' | 'DELETE'
  parts: readonly string[]
  /** The fields a body may have: a typing error must not pass as a test. */
  fields: readonly string[]
  run: (state: State, call: ControlCall) => object | Promise<object>
}

export function control(
  method: ControlRoute['method'],
  pattern: string,
  run: ControlRoute['run'],
  fields: readonly string[] = [],
): ControlRoute {
  return { method, parts: pattern.split('/'), fields, run }
}

export function wholeField(
  body: JsonObject,
  name: string,
  { fallback, max }: { fallback?: number; max: number },
): number {
  const value = body[name] ?? fallback
  if (typeof value === 'number' && Number.isSafeInteger(value) && Math.abs(value) <= max) {
    return value
  }
  throw badRequest(`${name}: a whole number of at most ${max}`, { param: name })
}

export function choiceField<Choice extends string>(
  body: JsonObject,
  name: string,
  choices: readonly Choice[],
): Choice {
  const value = body[name]
  const chosen = choices.find((choice) => choice === value)
  if (chosen === undefined)
    throw badRequest(`${name}: one of ${choices.join(', ')}`, { param: name })
  return chosen
}

export function textField(body: JsonObject, name: string): string | undefined {
  const value = body[name]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string' && value !== '') return value
  throw badRequest(`${name}: a text`, { param: name })
}
