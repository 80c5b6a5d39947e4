// Puts whole objects in the place of ids where a client asks for it with `expand[]`.

import { isObject, type JsonObject, wordList } from '../json.ts'
import { findSession, listLineItems } from './checkout-sessions.ts'
import { badRequest } from './errors.ts'
import type { World } from './world.ts'

const MAX_DEPTH = 4
const EXPANDABLE = wordList(
  'charge customer data default_payment_method destination invoice_settings latest_charge line_items object payment_intent payment_method setup_intent source_transaction transfer',
)

/** Before anything is executed: a wrong wish must not be noticed when the money has gone. */
export function checkExpand(paths: readonly string[]): void {
  for (const path of paths) {
    const steps = path.split('.')
    if (steps.length > MAX_DEPTH) {
      const limit = `You cannot expand more than ${MAX_DEPTH} levels of a property.`
      throw badRequest(`${limit} Property: ${path}`)
    }
    const wrong = steps.find((step) => !EXPANDABLE.includes(step))
    if (wrong !== undefined) throw badRequest(`This property cannot be expanded (${wrong}).`)
  }
}

export function expandAll(world: World, object: object, paths: readonly string[]): object {
  return paths.reduce((expanded, path) => expand(world, { ...expanded }, path.split('.')), object)
}

function expand(world: World, object: JsonObject, steps: readonly string[]): JsonObject {
  const [step, ...rest] = steps
  const found = step === undefined ? undefined : lookUp(world, object, step)
  if (step === undefined || found === undefined) return object
  return { ...object, [step]: goOn(world, found, rest) }
}

function goOn(world: World, value: unknown, rest: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => goOn(world, item, rest))
  return isObject(value) ? expand(world, value, rest) : value
}

/** The value to go on with: an object for an id, or what is whole already. Null stays null. */
function lookUp(world: World, object: JsonObject, step: string): unknown {
  if (object['object'] === 'checkout.session' && step === 'line_items') {
    return listLineItems(findSession(world, String(object['id'])))
  }
  const value = object[step]
  return typeof value === 'string' ? findById(world, value) : value
}

function findById(world: World, id: string): object | undefined {
  switch (id.split('_')[0] ?? '') {
    case 'acct':
      return world.accounts.get(id)?.account
    case 'ch':
      return world.charges.get(id)
    case 'cus':
      return world.customers.get(id)
    case 'pi':
      return world.payment_intents.get(id)
    case 'pm':
      return world.payment_methods.get(id)
    case 'seti':
      return world.setup_intents.get(id)
    case 'tr':
      return world.transfers.get(id)
    default:
      return undefined
  }
}
