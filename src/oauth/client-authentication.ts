// Which app calls /oauth/token or /oauth/revoke: its id and secret in the form or, as HTTP Basic, in a header. An app
// without a server sends its id alone, which proves nothing: what it brings (a code with its verifier, a token) does.

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Lookups } from '../http/lookups.ts'
import {
  addressBucket,
  type LimitName,
  type RateLimits,
  setLimitHeaders,
} from '../http/rate-limit.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { AppRow } from './app-store.ts'
import { findAppOfClient, isSecretOf } from './apps.ts'
import { isPublic } from './client-types.ts'
import { originsOf, requireOriginOf } from './origins.ts'
import { type Parameters, refusal } from './parameters.ts'

export type ClientParts = { db: Db; limits: RateLimits; lookups: Lookups; clock: Clock }

type ClientCredentials = {
  client_id: string
  client_secret: string | undefined
  by_header: boolean
}

type Exchange = { request: FastifyRequest; reply: FastifyReply }

/**
 * The app that sent a form. The request counts for the app; where none is known in the end, for its address,
 * whatever was wrong with it.
 */
export async function requireClient<Form extends { parameters: Parameters }>(
  parts: ClientParts,
  exchange: Exchange,
  readForm: (request: FastifyRequest) => Form,
): Promise<Form & { app: AppRow }> {
  const { request } = exchange
  const known = await identifyOwnPage(parts, request, readForm).catch(async (error: unknown) => {
    await count(parts, exchange.reply, { limit: 'global', key: addressBucket(request.ip) })
    throw error
  })
  await countClient(parts, exchange, known.app)
  return known
}

/** A form needs no preflight: a page that may not read the answer could still use a code up. */
async function identifyOwnPage<Form extends { parameters: Parameters }>(
  parts: ClientParts,
  request: FastifyRequest,
  readForm: (request: FastifyRequest) => Form,
): Promise<Form & { app: AppRow }> {
  const known = await identify(parts, request, readForm)
  requireOriginOf(request, originsOf(known.app))
  return known
}

/**
 * Anybody can call in the name of a public app: it is counted by address, or one of them could use up what the users of
 * the app need. Only what an address has left counts for the app as a whole.
 */
async function countClient(parts: ClientParts, exchange: Exchange, app: AppRow): Promise<void> {
  const { request, reply } = exchange
  if (!isPublic(app)) return await count(parts, reply, { limit: 'oauth_token', key: app.id })
  const key = `${app.id}:${addressBucket(request.ip)}`
  await count(parts, reply, { limit: 'oauth_token', key })
  await parts.limits.require('oauth_token_app', app.id)
}

async function identify<Form extends { parameters: Parameters }>(
  parts: ClientParts,
  request: FastifyRequest,
  readForm: (request: FastifyRequest) => Form,
): Promise<Form & { app: AppRow }> {
  const form = readForm(request)
  const given = readClientCredentials(request, form.parameters)
  const app = given && (await findClient(parts, request.ip, given.client_id))
  if (!app) throw invalidClient(given?.by_header ?? false)
  const { client_secret } = given
  if (isPublic(app)) {
    if (client_secret === undefined) return { ...form, app }
    throw invalidClient(given.by_header, 'This app has no secret: send its client_id alone.')
  }
  if (client_secret === undefined) throw invalidClient(given.by_header)
  // The right secret first: it is cheap to check, and wrong ones from the same address must not bar it.
  if (isSecretOf(app, client_secret, parts.clock.now())) return { ...form, app }
  // Only for apps that exist: whoever invents ids must not fill the memory with counters.
  await parts.limits.require('client_secret', `${app.id}:${addressBucket(request.ip)}`)
  throw invalidClient(given.by_header)
}

async function findClient(parts: ClientParts, ip: string, client_id: string) {
  return await parts.lookups.find({ ip, secret: client_id }, () =>
    findAppOfClient(parts.db, client_id),
  )
}

async function count(
  { limits }: ClientParts,
  reply: FastifyReply,
  { limit, key }: { limit: LimitName; key: string },
): Promise<void> {
  const slot = await limits.take(limit, key)
  setLimitHeaders(reply, slot)
  if (!slot.allowed) throw limits.refusal(limit, slot)
}

function readClientCredentials(
  request: FastifyRequest,
  parameters: Parameters,
): ClientCredentials | undefined {
  const { authorization } = request.headers
  const in_form = { id: parameters.read('client_id'), secret: parameters.read('client_secret') }
  if (authorization === undefined) {
    const { id, secret } = in_form
    if (id === undefined) return undefined
    return { client_id: id, client_secret: secret, by_header: false }
  }
  if (in_form.secret !== undefined) {
    throw refusal('Send the client secret in the form or in the header, not in both.')
  }
  const basic = readBasic(authorization)
  if (!basic) throw invalidClient(true)
  if (in_form.id !== undefined && in_form.id !== basic.client_id) {
    throw refusal('client_id in the form is not the one in the header.')
  }
  return basic
}

/** RFC 6749, section 2.3.1: both halves are form-encoded before they are joined. */
function readBasic(authorization: string): ClientCredentials | undefined {
  const [, encoded] = /^basic ([A-Za-z0-9+/]+={0,2})$/i.exec(authorization) ?? []
  if (encoded === undefined) return undefined
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (colon < 0) return undefined
  try {
    return {
      client_id: decodeHalf(text.slice(0, colon)),
      client_secret: decodeHalf(text.slice(colon + 1)),
      by_header: true,
    }
  } catch {
    return undefined
  }
}

function decodeHalf(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '))
}

/** The challenge only where the header was used: with it, some clients never look at the body. */
function invalidClient(
  by_header: boolean,
  hint = 'Send client_id and client_secret in the form, or as HTTP Basic.',
): ApiError {
  return new ApiError('invalid_client', {
    hint,
    ...(by_header && { headers: { 'www-authenticate': 'Basic realm="oauth"' } }),
  })
}
