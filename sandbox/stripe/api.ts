// One request to the API, in Stripe's order: who are you, is that an endpoint, are the parameters
// right, has this key been here before, and only then the work itself.

import type { IncomingHttpHeaders } from 'node:http'
import { isObject } from '../json.ts'
import { authenticate, readVersion } from './credentials.ts'
import { badRequest, StripeError } from './errors.ts'
import { checkExpand, expandAll } from './expand.ts'
import { type Fault, faultError } from './fault-script.ts'
import { checkFields } from './fields.ts'
import { decodeForm } from './form.ts'
import { MAX_KEY_LENGTH, type SavedResult } from './idempotency.ts'
import { readTexts } from './params.ts'
import type { RequestOutcome, RequestRecord } from './request-log.ts'
import { type ApiCall, findRoute, type Route } from './route.ts'
import { ROUTES } from './routes.ts'
import { type Answer, type Line, send, wait } from './send.ts'
import type { State } from './state.ts'

export type Incoming = {
  method: string
  path: string
  query: string
  headers: IncomingHttpHeaders
  body: string
  origin: string
}
type Prepared = {
  incoming: Incoming
  record: RequestRecord
  fault: Fault | undefined
  version: string
}
type Decided = { answer: Answer; outcome: RequestOutcome }

export async function answerApi(state: State, incoming: Incoming, line: Line): Promise<void> {
  const record = beginRecord(state, incoming)
  let decided: Decided
  let fault: Fault | undefined
  try {
    authenticate(incoming.headers)
    const version = readVersion(incoming.headers)
    record.params = decodeForm(incoming.method === 'POST' ? incoming.body : incoming.query)
    fault = state.faults.take(record)
    record.fault = fault === undefined ? null : `${fault.when} ${fault.fault}`
    if (fault?.when === 'before') {
      if (fault.fault === 'status') throw faultError(fault, record.idempotency_key ?? '')
      // Not cut short when the client leaves: a late request arrives all the same.
      if (fault.fault === 'slow') await wait(fault.ms)
      else return await refuseSilently(state, record, { fault, line })
    }
    decided = await decide(state, { incoming, record, fault, version })
  } catch (error) {
    if (!(error instanceof StripeError)) throw error
    decided = { answer: errorAnswer(error, record), outcome: 'refused' }
  }
  const { answer, outcome } = decided
  state.log.end(record, { outcome, status: answer.status, object_id: readId(answer.body) })
  const spoiled = fault?.when === 'after' && outcome !== 'refused' ? fault : undefined
  const lost =
    spoiled?.fault === 'status' ? faultError(spoiled, record.idempotency_key ?? '') : undefined
  await send(lost === undefined ? answer : errorAnswer(lost, record), line, spoiled)
}

function beginRecord(state: State, { method, path, headers }: Incoming): RequestRecord {
  const key = headers['idempotency-key']
  return state.log.begin({
    number: state.log.total() + 1,
    at: state.clock.nowSeconds(),
    request_id: state.world.ids.make('req'),
    method,
    path,
    idempotency_key: typeof key === 'string' && key !== '' ? key : null,
    params: {},
  })
}

/** The request never reaches Stripe's endpoint, and no answer that makes sense comes back. */
async function refuseSilently(
  state: State,
  record: RequestRecord,
  { fault, line }: { fault: Fault; line: Line },
): Promise<void> {
  state.log.end(record, { outcome: 'refused', status: 0 })
  await send({ status: 500, headers: {}, body: '' }, line, fault)
}

async function decide(state: State, prepared: Prepared): Promise<Decided> {
  const { incoming, record } = prepared
  const found = findRoute(ROUTES, incoming.method, incoming.path)
  if (found === undefined) throw unknownAddress(incoming)
  checkFields(record.params, found.route.fields)
  found.route.check?.(record.params)
  checkExpand(readTexts(record.params, 'expand'))
  const account = incoming.headers['stripe-account']
  if (account !== undefined && incoming.path !== '/v1/balance') {
    throw badRequest('The sandbox takes the Stripe-Account header for /v1/balance only.')
  }
  const call: ApiCall = {
    params: record.params,
    ids: found.ids,
    origin: incoming.origin,
    account: typeof account === 'string' ? account : undefined,
  }
  const work = () => run(state, prepared, { route: found.route, call })
  const key = incoming.method === 'POST' ? record.idempotency_key : null
  if (key === null) return { answer: toAnswer(await work(), prepared), outcome: 'executed' }
  return await underKey(state, { key, prepared, work })
}

type Keyed = { key: string; prepared: Prepared; work: () => Promise<SavedResult> }

async function underKey(state: State, { key, prepared, work }: Keyed): Promise<Decided> {
  const { record } = prepared
  if (key.length > MAX_KEY_LENGTH) {
    throw badRequest(`Idempotency keys can be at most ${MAX_KEY_LENGTH} characters long.`)
  }
  // A reset in mid-flight must not write into the store that follows.
  const { keys } = state
  try {
    const request = { endpoint: record.path, fingerprint: canonical(record.params) }
    const saved = keys.begin(key, request)
    if (saved !== undefined) return { answer: replay(saved, prepared), outcome: 'replayed' }
  } catch (error) {
    if (!(error instanceof StripeError)) throw error
    const outcome =
      error.status === 409 ? 'in_use' : error.status === 400 ? 'mismatched' : 'refused'
    return { answer: errorAnswer(error, record), outcome }
  }
  const result = await work()
  keys.finish(key, result)
  return { answer: toAnswer(result, prepared), outcome: 'executed' }
}

/** The work itself. It goes on when the client has left, as Stripe's does. */
async function run(
  state: State,
  { record, fault }: Prepared,
  { route, call }: { route: Route; call: ApiCall },
): Promise<SavedResult> {
  const { request_id } = record
  const key = record.idempotency_key
  const failed = (error: StripeError): SavedResult => {
    return { status: error.status, body: JSON.stringify(error.toBody(request_id)), request_id }
  }
  if (fault?.when === 'during') {
    if (fault.fault === 'status') return failed(faultError(fault, key ?? ''))
    await wait(fault.ms)
  }
  const { world } = state
  try {
    const cause = { id: request_id, idempotency_key: key }
    const object = world.events.during(cause, () => route.run(world, call))
    const expanded = expandAll(world, object, readTexts(call.params, 'expand'))
    const result = { status: 200, body: JSON.stringify(expanded), request_id }
    return fault?.when === 'after_saved' ? failed(faultError(fault, key ?? '')) : result
  } catch (error) {
    if (!(error instanceof StripeError)) throw error
    return failed(error)
  }
}

function toAnswer({ status, body }: SavedResult, { record, version }: Prepared): Answer {
  const { idempotency_key, request_id } = record
  return {
    status,
    headers: {
      'content-type': 'application/json',
      'request-id': request_id,
      'stripe-version': version,
      ...(idempotency_key !== null && { 'idempotency-key': idempotency_key }),
      // A saved error would only be replayed, and Stripe says so.
      ...(status >= 500 && idempotency_key !== null && { 'stripe-should-retry': 'false' }),
    },
    body,
  }
}

function replay(saved: SavedResult, prepared: Prepared): Answer {
  const answer = toAnswer(saved, prepared)
  answer.headers['idempotent-replayed'] = 'true'
  answer.headers['original-request'] = saved.request_id
  return answer
}

/** An error from outside the idempotency layer, which nothing remembers. */
function errorAnswer(error: StripeError, record: RequestRecord): Answer {
  return {
    status: error.status,
    headers: {
      'content-type': 'application/json',
      'request-id': record.request_id,
      ...(record.idempotency_key !== null && { 'idempotency-key': record.idempotency_key }),
      ...(error.status === 401 && { 'www-authenticate': 'Basic realm="Stripe"' }),
    },
    body: JSON.stringify(error.toBody(record.request_id)),
  }
}

function unknownAddress({ method, path }: Incoming): StripeError {
  return new StripeError(404, 'invalid_request_error', {
    message: `Unrecognized request URL (${method}: ${path}). Please see https://stripe.com/docs or we can help at https://support.stripe.com/.`,
  })
}

function readId(body: string): string | null {
  // Every object opens with its id; reading the whole of a long list for it would be waste.
  return /^\{"id":"(\w+)"/.exec(body)?.[1] ?? null
}

/** The same text for the same parameters, in whatever order they were sent. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    if (!isObject(inner)) return inner
    return Object.fromEntries(Object.entries(inner).sort(([one], [two]) => (one < two ? -1 : 1)))
  })
}
