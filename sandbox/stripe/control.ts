// The control API under /_sandbox/stripe, an address that Stripe does not have.

import { isObject, type JsonObject, parseJson } from '../json.ts'
import type { Incoming } from './api.ts'
import { type ControlRoute, control } from './control-call.ts'
import { MONEY_ROUTES } from './control-money.ts'
import { REPORT_ROUTES } from './control-reports.ts'
import { WEBHOOK_ROUTES } from './control-webhooks.ts'
import { badRequest, StripeError } from './errors.ts'
import { matchParts } from './route.ts'
import { type Line, send } from './send.ts'
import type { State } from './state.ts'

export const CONTROL_PREFIX = '/_sandbox/stripe'

const FAULT_ROUTES: readonly ControlRoute[] = [
  control('GET', '/faults', ({ faults }) => ({ faults: faults.rules() })),
  control(
    'POST',
    '/faults',
    ({ faults }, { body }) => {
      const wishes = Array.isArray(body['faults']) ? body['faults'] : [body]
      return { faults: wishes.map((wish: unknown) => faults.add(wish)) }
    },
    ['*'],
  ),
  control('DELETE', '/faults', ({ faults }) => {
    faults.clear()
    return { faults: [] }
  }),
]
const ROUTES: readonly ControlRoute[] = [
  ...REPORT_ROUTES,
  ...FAULT_ROUTES,
  ...MONEY_ROUTES,
  ...WEBHOOK_ROUTES,
]

export async function answerControl(state: State, incoming: Incoming, line: Line): Promise<void> {
  try {
    await reply(line, 200, await run(state, incoming))
  } catch (error) {
    if (!(error instanceof StripeError)) throw error
    await reply(line, error.status, error.toBody('control'))
  }
}

async function run(state: State, incoming: Incoming): Promise<object> {
  const parts = incoming.path.slice(CONTROL_PREFIX.length).replace(/\/$/, '').split('/')
  for (const route of ROUTES) {
    const ids = route.method === incoming.method ? matchParts(route.parts, parts) : undefined
    if (ids === undefined) continue
    const body = readBody(incoming)
    checkNames(body, route.fields)
    return await route.run(state, { ids, query: new URLSearchParams(incoming.query), body })
  }
  const known = ROUTES.map(({ method, parts }) => `${method} ${CONTROL_PREFIX}${parts.join('/')}`)
  throw new StripeError(404, 'invalid_request_error', {
    message: `The control API knows: ${known.join(', ')}`,
  })
}

function readBody({ body }: Incoming): JsonObject {
  if (body === '') return {}
  const value = parseJson(body)
  if (!isObject(value)) throw badRequest('The control API takes a JSON object.')
  return value
}

function checkNames(body: JsonObject, fields: readonly string[]): void {
  if (fields.includes('*')) return
  const unknown = Object.keys(body).find((name) => !fields.includes(name))
  if (unknown === undefined) return
  throw badRequest(`There is no '${unknown}' here, only: ${fields.join(', ')}`, { param: unknown })
}

async function reply(line: Line, status: number, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  await send({ status, headers, body: `${JSON.stringify(body, null, 2)}\n` }, line)
}
