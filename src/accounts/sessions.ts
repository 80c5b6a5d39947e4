// Sessions: opened at login, found on each request, closed by logout, a password change, their owner, 24 hours, or after
// nobody used them for as long as the setting says.

import type { SessionPrincipal } from '../http/access.ts'

import { readCursor, toPage } from '../http/schemas.ts'

import type { Clock } from '../platform/clock.ts'
import type { CredentialCache } from '../platform/credential-cache.ts'
import type { Db, Queryable, Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { InvalidationFeed } from '../platform/invalidation.ts'
import type { Log } from '../platform/log.ts'
import { digestKey, digestSecret, isUuid, mintId, mintSecret } from '../platform/tokens.ts'
import { type Client, describeDevice, describePlace, storedUserAgent } from './client.ts'
import type { LastSeen } from './last-seen.ts'
import { recordSecurityEvent, recordSignIn } from './security-log/security-log.ts'
import { deleteOwnSession, holdSession, listSessions } from './session-store.ts'
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

export { type Client, clientOf } from './client.ts'

export type Session = { session_token: string; expires_at: Date }

/** What the cache keeps: the session without how it was presented. */
export type KnownSession = Omit<SessionPrincipal, 'by_cookie'>

/** `registered`: with the account itself. */
export async function openSession(
  parts: { log: Log },
  tx: Queryable,
  account_id: string,
  options: { client: Client; now: Date; registered?: boolean },
): Promise<Session> {
  const session_token = mintSecret(SESSION_PREFIX)
  const { now, client, registered = false } = options
  const expires_at = new Date(now.getTime() + SESSION_LIFETIME_S * 1000)
  const id = mintId({ at: now })
  await insertSession(tx, {
    token_digest: digestSecret(session_token),
    id,
    account_id,
    created_at: now,
    expires_at,
    ip: client.ip,
    user_agent: storedUserAgent(client),
  })
  await recordSignIn(parts, tx, { account_id, session_id: id, client, at: now, registered })
  return { session_token, expires_at }
}

export type SessionParts = {
  sessions: CredentialCache<KnownSession>
  last_seen: LastSeen
  clock: Clock
}

/** Undefined if the session is not in memory, or ended there; `findActiveSession` then says whether there is one. */
export function findSessionInMemory(parts: SessionParts, token: string): KnownSession | undefined {
  return unlessIdle(parts, parts.sessions.peek(digestKey(token)))
}

export async function findActiveSession(
  parts: SessionParts & { db: Db },
  token: string,
): Promise<KnownSession | undefined> {
  // Junk is refused without a query.
  if (!TOKEN_PATTERN.test(token)) return undefined
  const known = await parts.sessions.find(digestKey(token), () => readSession(parts.db, token))
  return unlessIdle(parts, known)
}

function unlessIdle(
  { last_seen, clock }: SessionParts,
  session: KnownSession | undefined,
): KnownSession | undefined {
  return session && !last_seen.isIdle(session, clock.now()) ? session : undefined
}

/** For what outlives the request that it was asked with. */
export async function isSessionOpen(
  parts: { db: Queryable; clock: Clock },
  session_id: string,
): Promise<boolean> {
  return await hasOpenSession(parts.db, session_id, parts.clock.now())
}

/**
 * For what outlives the session and ends with it where somebody else had it: whoever ends the sessions of an account first
 * waits for this transaction, and then finds what it made.
 */
export async function requireOpenSession(
  { clock }: { clock: Clock },
  tx: Tx,
  session_id: string,
): Promise<void> {
  if (await holdSession(tx, session_id, clock.now())) return
  throw new ApiError('invalid_api_key', { message: 'The session has ended.' })
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

/** Ends the account's sessions, but for the one named. Answers how many there were. */
export async function closeSessions(
  feed: InvalidationFeed,
  tx: Tx,
  owner: { account_id: string; except_id: string | null },
): Promise<number> {
  const ended = await deleteSessions(tx, owner.account_id, owner.except_id)
  await forgetSessions(feed, tx, ended)
  return ended.length
}

type Owner = { account_id: string; session_id: string }

/** Newest first. */
export async function listOwnSessions(
  { db, clock, last_seen }: { db: Db; clock: Clock; last_seen: LastSeen },
  owner: Owner,
  page: { cursor: string | undefined; limit: number },
) {
  const now = clock.now()
  const rows = await listSessions(db, {
    account_id: owner.account_id,
    now,
    idle_since: last_seen.idleSince(now),
    before_id: readCursor(page.cursor),
    count: page.limit + 1,
  })
  const sessions = toPage(rows, page.limit, (row) => row.id)
  const data = sessions.data.map(({ ip, user_agent, ...row }) => ({
    ...row,
    place: describePlace(ip),
    device: describeDevice(user_agent),
    current: row.id === owner.session_id,
  }))
  return { ...sessions, data }
}

export type OwnSession = Awaited<ReturnType<typeof listOwnSessions>>['data'][number]

/** Ends what the account allowed apps in browsers; oauth stands to the right of accounts, so it comes as a function. */
export type EndBrowserGrants = (tx: Tx, account_id: string) => Promise<void>

export type OwnSessionParts = RevocationParts & {
  clock: Clock
  log: Log
  endBrowserGrants: EndBrowserGrants
}

export async function endOwnSession(
  parts: OwnSessionParts,
  owner: Owner & { client: Client },
  id: string,
): Promise<void> {
  if (!isUuid(id)) throw unknownSession()
  const { account_id } = owner
  await parts.db.transaction(async (tx) => {
    const ended = await deleteOwnSession(tx, { id, account_id })
    if (ended.length === 0) throw unknownSession()
    await forgetSessions(parts.feed, tx, ended)
    await recordEnd(parts, tx, owner, { ended_session_id: id })
  })
}

/** Signs out everywhere: everywhere else, or here as well, and of apps in browsers. Answers how many sessions there were. */
export async function endOwnSessions(
  parts: OwnSessionParts,
  owner: Owner & { client: Client },
  { current }: { current: boolean },
): Promise<number> {
  const { account_id, session_id } = owner
  return await parts.db.transaction(async (tx) => {
    const except_id = current ? null : session_id
    const sessions = await closeSessions(parts.feed, tx, { account_id, except_id })
    await parts.endBrowserGrants(tx, account_id)
    await recordEnd(parts, tx, owner, { sessions })
    return sessions
  })
}

async function recordEnd(
  parts: OwnSessionParts,
  tx: Tx,
  { account_id, session_id, client }: Owner & { client: Client },
  details: Record<string, string | number>,
): Promise<void> {
  const at = parts.clock.now()
  const event = { account_id, kind: 'sessions_ended', at, client, session_id, details } as const
  await recordSecurityEvent(parts, tx, event)
}

function unknownSession(): ApiError {
  return new ApiError('not_found', { message: 'You have no such session.' })
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
    last_seen_at: row.last_seen_at,
    suspended_reason: row.suspended_reason,
    has_second_factor: row.has_second_factor,
    is_operator: row.is_operator,
  }
  return { value, tags: [`session:${row.id}`, `account:${row.account_id}`] }
}
