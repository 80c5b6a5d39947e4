// Sessions: opened at login, found on each request, closed by logout, a password change or 24 hours.

import type { FastifyRequest } from 'fastify'
import type { SessionPrincipal } from '../http/access.ts'
import { readDeviceCookie } from '../http/session-cookie.ts'
import type { Clock } from '../platform/clock.ts'
import type { CredentialCache } from '../platform/credential-cache.ts'
import type { Db, Queryable, Tx } from '../platform/db.ts'
import type { InvalidationFeed } from '../platform/invalidation.ts'
import { digestKey, digestSecret, mintId, mintSecret } from '../platform/tokens.ts'
import {
  deleteSession,
  deleteSessionByDigest,
  deleteSessions,
  findSession,
  hasOpenSession,
  insertSession,
} from './store.ts'

export const SESSION_PREFIX = 'sess_'
export const SESSION_LIFETIME_S = 24 * 60 * 60
const TOKEN_PATTERN = /^sess_[A-Za-z0-9_-]{43}$/
const USER_AGENT_LENGTH_MAX = 300

export type Session = { session_token: string; expires_at: Date }

/** What the cache keeps: the session without how it was presented. */
export type KnownSession = Omit<SessionPrincipal, 'by_cookie'>

/** Who opens it; kept with the session, for those who look into a break-in. */
export type Client = {
  ip: string
  user_agent: string | undefined
  /** What an earlier sign-in left in the browser: sign-in/known-devices.ts. */
  device_token?: string | undefined
}

export function clientOf(request: FastifyRequest): Client {
  return {
    ip: request.ip,
    user_agent: request.headers['user-agent'],
    device_token: readDeviceCookie(request),
  }
}

export function storedUserAgent({ user_agent }: Client): string | null {
  return user_agent?.replaceAll('\u0000', '').slice(0, USER_AGENT_LENGTH_MAX) ?? null
}

export async function openSession(
  db: Queryable,
  account_id: string,
  options: { client: Client; now: Date },
): Promise<Session> {
  const session_token = mintSecret(SESSION_PREFIX)
  const { now, client } = options
  const expires_at = new Date(now.getTime() + SESSION_LIFETIME_S * 1000)
  await insertSession(db, {
    token_digest: digestSecret(session_token),
    id: mintId({ at: now }),
    account_id,
    created_at: now,
    expires_at,
    ip: client.ip,
    user_agent: storedUserAgent(client),
  })
  return { session_token, expires_at }
}

/** Undefined if the session is not in memory; `findActiveSession` then says whether there is one. */
export function findSessionInMemory(
  parts: { sessions: CredentialCache<KnownSession> },
  token: string,
): KnownSession | undefined {
  return parts.sessions.peek(digestKey(token))
}

export async function findActiveSession(
  parts: { db: Db; sessions: CredentialCache<KnownSession> },
  token: string,
): Promise<KnownSession | undefined> {
  // Junk is refused without a query.
  if (!TOKEN_PATTERN.test(token)) return undefined
  return await parts.sessions.find(digestKey(token), () => readSession(parts.db, token))
}

/** For what outlives the request that it was asked with. */
export async function isSessionOpen(
  parts: { db: Db; clock: Clock },
  session_id: string,
): Promise<boolean> {
  return await hasOpenSession(parts.db, session_id, parts.clock.now())
}

export type RevocationParts = { db: Db; feed: InvalidationFeed }

export async function closeSession(parts: RevocationParts, session_id: string): Promise<void> {
  await parts.db.transaction(async (tx) => {
    await forgetSessions(parts.feed, tx, await deleteSession(tx, session_id))
  })
}

/** For a token somebody presents, good or not. */
export async function closeSessionOfToken(parts: RevocationParts, token: string): Promise<void> {
  await parts.db.transaction(async (tx) => {
    await forgetSessions(parts.feed, tx, await deleteSessionByDigest(tx, digestSecret(token)))
  })
}

/** Ends the account's sessions, but for the one named. */
export async function closeSessions(
  feed: InvalidationFeed,
  tx: Tx,
  owner: { account_id: string; except_id: string | null },
): Promise<void> {
  await forgetSessions(feed, tx, await deleteSessions(tx, owner.account_id, owner.except_id))
}

async function forgetSessions(
  feed: InvalidationFeed,
  tx: Tx,
  ids: readonly string[],
): Promise<void> {
  await feed.invalidate(
    tx,
    ids.map((id) => `session:${id}`),
  )
}

async function readSession(db: Db, token: string) {
  const row = await findSession(db, digestSecret(token))
  if (!row) return undefined
  const value: KnownSession = {
    kind: 'session',
    account_id: row.account_id,
    session_id: row.id,
    expires_at: row.expires_at,
    proved_at: row.proved_at,
  }
  return { value, tags: [`session:${row.id}`, `account:${row.account_id}`] }
}
