// A grant is one consent, and the family of every token that came of it: what ends it ends them all. Whether a
// user is connected to an app follows from the grants that are live, and so do the two events about it.
// Locks are always taken in the order links, apps, grants, connections.

import { recordSecurityEvent } from '../accounts/security-log/security-log.ts'
import type { Wake } from '../events/wake.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/db.ts'
import type { InvalidationFeed } from '../platform/invalidation.ts'
import type { Log } from '../platform/log.ts'
import { recordEvent } from '../wallet/events.ts'
import type { Actor } from './actor.ts'
import { findLapsedGrants, type Lapse } from './expiry-store.ts'
import {
  type ConnectionStateRow,
  findLiveGrants,
  type GrantRow,
  lockConnections,
  lockGrants,
  lockLinks,
  markEnded,
  setConnected,
} from './store.ts'

export type GrantParts = {
  db: Db
  feed: InvalidationFeed
  clock: Clock
  event_wake: Wake
  log: Log
}

const LAPSED_AT_ONCE = 500
const DAY_MS = 24 * 3600 * 1000

/**
 * What grants for one external id have in common, and are serialised by. Through all apps of a developer: a key that is
 * bound to none finds the newest link, whichever app made it.
 */
export function linkName(name: { developer_id: string; external_user_id: string }): string {
  return `${name.developer_id}:${name.external_user_id}`
}

/** Ends grants that the caller has locked, whatever state they are in. */
export async function endGrants(
  parts: GrantParts,
  tx: Tx,
  grants: readonly GrantRow[],
): Promise<void> {
  const live = grants.filter((grant) => grant.ended_at === null)
  if (live.length === 0) return
  await markEnded(
    tx,
    live.map((grant) => grant.id),
    parts.clock.now(),
  )
  await parts.feed.invalidate(
    tx,
    live.map((grant) => `grant:${grant.id}`),
  )
}

/**
 * Makes `connected_at` say what the grants say, and records what changed. Who left is told before who came: an
 * external id may have moved from one user to another.
 */
export async function updateConnections(
  parts: GrantParts,
  tx: Tx,
  { ids, actor }: { ids: readonly string[]; actor?: Actor | undefined },
): Promise<void> {
  const changed = (await lockConnections(tx, [...new Set(ids)])).filter(
    (connection) => connection.is_live !== (connection.connected_at !== null),
  )
  const now = parts.clock.now()
  for (const connection of changed.toSorted((a, b) => Number(a.is_live) - Number(b.is_live))) {
    await setConnected(tx, connection.id, connection.is_live ? now : null)
    await announce(tx, connection, now)
    if (!connection.is_live) await recordEnd(parts, tx, { connection, actor, at: now })
  }
  if (changed.length > 0) tx.afterCommit(parts.event_wake.wake)
}

async function announce(tx: Tx, connection: ConnectionStateRow, at: Date): Promise<void> {
  const { account_id, client_id, email, is_live } = connection
  // An account that is gone has no wallet to record the event with.
  if (account_id === null) return
  const time = at.toISOString()
  await recordEvent(tx, {
    account_id,
    source_id: connection.id,
    kind: is_live ? 'user.connected' : 'user.disconnected',
    payload: {
      client_id,
      user_id: account_id,
      email,
      ...(is_live ? { connected_at: time } : { disconnected_at: time }),
    },
  })
}

/** For the user, who need not have done it: then there is no actor. */
async function recordEnd(
  parts: GrantParts,
  tx: Tx,
  ended: { connection: ConnectionStateRow; actor: Actor | undefined; at: Date },
): Promise<void> {
  const { account_id, client_id, app_name } = ended.connection
  if (account_id === null) return
  await recordSecurityEvent(parts, tx, {
    account_id,
    kind: 'consent_ended',
    at: ended.at,
    ...ended.actor,
    details: { client_id, app_name },
  })
}

/** The user, or time, ends everything between a user and an app. */
export async function endConnection(
  parts: GrantParts,
  tx: Tx,
  connection_id: string,
  actor?: Actor,
): Promise<void> {
  const seen = await findLiveGrants(tx, connection_id)
  await lockLinks(tx, linkNames(seen))
  const grants = await lockGrants(
    tx,
    seen.map((grant) => grant.id),
  )
  await endGrants(parts, tx, grants)
  await updateConnections(parts, tx, { ids: [connection_id], actor })
}

/** Ends one grant that the caller has locked, and says so if it was the user's last. */
export async function endFamily(parts: GrantParts, tx: Tx, grant: GrantRow): Promise<void> {
  await endGrants(parts, tx, [grant])
  await updateConnections(parts, tx, { ids: [grant.connection_id] })
}

export type LapseParts = GrantParts & { config: { HOSTED_GRANT_IDLE_DAYS: number } }

/** Grants that nobody refreshed, and links that nobody used, for too long. */
export async function endLapsedGrants(parts: LapseParts, signal: AbortSignal): Promise<void> {
  const lapsed_at = parts.clock.now()
  // A use is noted once a day: what is noted may be a day older than the last use.
  const idle_ms = (parts.config.HOSTED_GRANT_IDLE_DAYS + 1) * DAY_MS
  const lapse = { lapsed_at, unused_since: new Date(lapsed_at.getTime() - idle_ms) }
  let after_id: string | null = null
  while (!signal.aborted) {
    const ids: string[] = await findLapsedGrants(parts.db, {
      ...lapse,
      after_id,
      count: LAPSED_AT_ONCE,
    })
    for (const id of ids) await endLapsedGrant(parts, id, lapse)
    after_id = ids.at(-1) ?? null
    if (ids.length < LAPSED_AT_ONCE) return
  }
}

/** One that fails must not keep the others. */
async function endLapsedGrant(parts: LapseParts, id: string, lapse: Lapse): Promise<void> {
  try {
    await parts.db.transaction(async (tx) => {
      const [grant] = await lockGrants(tx, [id])
      // It may have been refreshed or used since it was found.
      if (grant && hasLapsed(grant, lapse)) await endFamily(parts, tx, grant)
    })
  } catch (error) {
    parts.log.warn({ err: error, grant_id: id }, 'a lapsed grant could not be ended')
  }
}

function hasLapsed(grant: GrantRow, { lapsed_at, unused_since }: Lapse): boolean {
  const { external_user_id, lapses_at, last_used_at } = grant
  if (external_user_id === null) return lapses_at !== null && lapses_at <= lapsed_at
  return last_used_at !== null && last_used_at <= unused_since
}

export function linkNames(
  grants: readonly Pick<GrantRow, 'developer_id' | 'external_user_id'>[],
): string[] {
  return grants
    .flatMap(({ developer_id, external_user_id }) =>
      external_user_id === null ? [] : [linkName({ developer_id, external_user_id })],
    )
    .sort()
}
