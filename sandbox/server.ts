// The listener: one port for all providers, told apart by the first part of the path. It reads
// bodies, keeps a short memory of what came in, and ends work when a client leaves. Stripe's paths
// stand at the root, because its client takes a host and no path.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type Call, PROVIDERS, type Provider, type StandIn } from './call.ts'
import { deliver, type Ending, type Line } from './deliver.ts'
import { parseJson } from './json.ts'
import { controlModels, MODEL_CONTROL_PATH } from './model-control.ts'
import { createStoredResponses, type StoredResponses } from './openai/responses/store.ts'
import { createPromptCache, type PromptCache } from './prompt-cache.ts'
import { jsonReply, type Outcome, plainOutcome } from './reply.ts'
import type { KnownModels, Retirements } from './retirement.ts'
import type { StripeStandIn } from './stripe/stand-in.ts'

const MAX_REMEMBERED = 500
const MAX_REMEMBERED_BYTES = 262_144
const MAX_CONTROL_BYTES = 65_536
// Longer than the pools of ordinary clients keep an idle connection, so that the client is the one
// who closes it: the other way round gives a rare reset that looks like a fault nobody asked for.
const KEEP_ALIVE_MS = 65_000

export type ReceivedRequest = {
  number: number
  provider: Provider
  method: string
  path: string
  query: string
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** The JSON value, or the raw bytes of any other body; undefined when it was long. */
  body: unknown
  body_bytes: number
  /** Null while the request is open, or when the connection ended before any answer. */
  status: number | null
  ending: Ending | 'open'
}

export type StandIns = Readonly<Record<Provider, StandIn>>
type Shared = {
  stand_ins: StandIns
  stripe: StripeStandIn
  cache: PromptCache
  retirements: Retirements
  stored: StoredResponses
  received: ReceivedRequest[]
  count: number
}

export function createListener(
  stand_ins: StandIns,
  stripe: StripeStandIn,
  retirements: Retirements,
) {
  const cache = createPromptCache()
  const shared: Shared = {
    stand_ins,
    stripe,
    cache,
    retirements,
    stored: createStoredResponses(),
    received: [],
    count: 0,
  }
  const server: Server = createServer((request, response) => {
    answer(request, response, shared).catch((error: unknown) => {
      // A mistake of the sandbox itself must not look like a fault that somebody asked for.
      console.error('sandbox: a request could not be answered', error)
      response.destroy()
    })
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS
  return { server, requests: (): readonly ReceivedRequest[] => [...shared.received] }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  shared: Shared,
): Promise<void> {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  response.on('error', () => gone.abort())
  const line = { response, signal: gone.signal }
  const url = new URL(request.url ?? '/', 'http://sandbox')
  if (shared.stripe.owns(url.pathname)) {
    await shared.stripe.handle(request, url, line)
    return
  }
  if (url.pathname === MODEL_CONTROL_PATH) {
    await answerControl(request, line, shared)
    return
  }
  const provider = PROVIDERS.find((name) => url.pathname.startsWith(`/${name}/`))
  if (provider === undefined) {
    request.resume()
    await deliver(plainOutcome(describePrefixes()), line)
    return
  }
  const stand_in = shared.stand_ins[provider]
  const body = await readBody(request, stand_in.max_body_bytes)
  if (body === 'client_left') return
  const call = makeCall({ request, url, provider, shared }, body)
  const record = remember(call, url.search, shared)
  const outcome = body === 'too_large' ? refuse(stand_in, call) : stand_in.handle(call)
  if (body === 'too_large') request.resume()
  record.ending = await deliver(outcome, line)
  record.status = response.headersSent ? response.statusCode : null
}

async function answerControl(
  request: IncomingMessage,
  line: Line,
  { stand_ins, retirements }: Shared,
): Promise<void> {
  const body = await readBody(request, MAX_CONTROL_BYTES)
  if (body === 'client_left') return
  if (body === 'too_large') request.resume()
  const call = { method: request.method ?? 'GET', body: body.toString('utf8') }
  await deliver(plainOutcome(controlModels(call, retirements, knownModels(stand_ins))), line)
}

export function knownModels(stand_ins: StandIns): KnownModels {
  const { openai, anthropic, google, elevenlabs } = stand_ins
  return {
    openai: openai.model_ids,
    anthropic: anthropic.model_ids,
    google: google.model_ids,
    elevenlabs: elevenlabs.model_ids,
  }
}

function refuse(stand_in: StandIn, call: Call): Outcome {
  return plainOutcome(stand_in.refuseTooLarge(call))
}

type Arrival = { request: IncomingMessage; url: URL; provider: Provider; shared: Shared }

function makeCall({ request, url, provider, shared }: Arrival, body: Buffer | 'too_large'): Call {
  shared.count += 1
  return {
    number: shared.count,
    provider,
    method: request.method ?? 'GET',
    path: url.pathname.slice(provider.length + 1),
    query: url.searchParams,
    headers: request.headers,
    body: body === 'too_large' ? Buffer.alloc(0) : body,
    cache: shared.cache,
    retirements: shared.retirements,
    stored: shared.stored,
  }
}

function remember(call: Call, query: string, shared: Shared): ReceivedRequest {
  const { number, provider, method, path, headers, body } = call
  const short = body.length <= MAX_REMEMBERED_BYTES
  const record: ReceivedRequest = {
    number,
    provider,
    method,
    path,
    query,
    headers,
    body: short ? (parseJson(body.toString('utf8')) ?? body) : undefined,
    body_bytes: body.length,
    status: null,
    ending: 'open',
  }
  shared.received.push(record)
  if (shared.received.length > MAX_REMEMBERED) shared.received.shift()
  return record
}

async function readBody(
  request: IncomingMessage,
  max_bytes: number,
): Promise<Buffer | 'too_large' | 'client_left'> {
  const chunks: Buffer[] = []
  let size_bytes = 0
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      const bytes = Buffer.from(chunk)
      size_bytes += bytes.length
      if (size_bytes > max_bytes) return 'too_large'
      chunks.push(bytes)
    }
  } catch {
    return 'client_left'
  }
  return Buffer.concat(chunks)
}

function describePrefixes() {
  const prefixes = PROVIDERS.map((name) => `/${name}/`).join(', ')
  return jsonReply(404, {
    error: `This is the sandbox. Its providers live under ${prefixes}, Stripe under /v1/.`,
  })
}
