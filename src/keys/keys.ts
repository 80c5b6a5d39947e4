// API keys: issue, list, revoke, and the look-up that every call makes. Changes and rotation: changes.ts.

import type { FastifyRequest } from 'fastify'
import { recordSecurityEvent } from '../accounts/security-log/security-log.ts'
import { type Client, clientOf, isSessionOpen } from '../accounts/sessions.ts'
import { type KeyPrincipal, sessionOf } from '../http/access.ts'
import { readCursor, toPage } from '../http/schemas.ts'
import type { Clock } from '../platform/clock.ts'
import type { CredentialCache } from '../platform/credential-cache.ts'
import type { Db, Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { InvalidationFeed } from '../platform/invalidation.ts'
import type { Log } from '../platform/log.ts'
import { violatedConstraint } from '../platform/sql-errors.ts'
import {
  digestKey,
  digestSecret,
  isUuid,
  isWellFormedApiKey,
  mintApiKey,
  mintId,
} from '../platform/tokens.ts'
import { periodEnd, readSpent, spendCounter } from '../wallet/spend-limits.ts'
import { restrictionsOf } from './restrictions.ts'
import {
  type BillingMode,
  findKeyByDigest,
  insertKey,
  type KeyRow,
  type KeySettings,
  listKeys,
  lockAndCountKeys,
  markRevoked,
  type NamedKey,
  revokeKeysOfAccount,
  setRateLimit,
} from './store.ts'

const PREFIX_LENGTH = 12

export type KeyParts = {
  db: Db
  feed: InvalidationFeed
  clock: Clock
  log: Log
  keys: CredentialCache<KeyPrincipal>
  keys_per_account_max: number
}

/** Who manages keys, for the security log. */
export type Owner = { account_id: string; session_id: string; client: Client }

/** The caller of a route that declared `access: 'session'`. */
export function ownerOf(request: FastifyRequest): Owner {
  const { account_id, session_id } = sessionOf(request)
  return { account_id, session_id, client: clientOf(request) }
}

export type KeyRequest = KeySettings & {
  billing_mode: BillingMode
  /** The app it is bound to. */
  client_id: string | null
}

/** The secret is in the answer and nowhere else, ever. */
export async function issueKey(
  parts: KeyParts,
  owner: Owner,
  wanted: KeyRequest,
): Promise<{ key: string; row: KeyRow }> {
  const now = parts.clock.now()
  requireFuture(wanted.expires_at, now)
  const { account_id } = owner
  const key = mintApiKey()
  const row = await refuseUnknownApp(
    parts.db.transaction(async (tx) => {
      if ((await lockAndCountKeys(tx, account_id)) >= parts.keys_per_account_max) {
        throw new ApiError('bad_request', {
          message: `An account has at most ${parts.keys_per_account_max} keys.`,
          hint: 'Delete keys that are not used any more.',
        })
      }
      // Whoever ends all keys and sessions holds the same lock: no key is to come after them.
      if (!(await isSessionOpen({ db: tx, clock: parts.clock }, owner.session_id))) {
        throw new ApiError('invalid_api_key', { message: 'The session has ended.' })
      }
      const made = await insertKey(tx, {
        ...wanted,
        id: mintId({ at: now }),
        account_id,
        token_digest: digestSecret(key),
        prefix: prefixOf(key),
        created_at: now,
      })
      await recordKeyEvent(parts, tx, { kind: 'key_created', owner, key: made })
      return made
    }),
  )
  return { key, row }
}

export function prefixOf(key: string): string {
  return key.slice(0, PREFIX_LENGTH)
}

export function requireFuture(expires_at: Date | null, now: Date): void {
  if (expires_at === null || expires_at > now) return
  throw new ApiError('bad_request', {
    message: 'body.expires_at is in the past.',
    param: 'expires_at',
  })
}

export async function recordKeyEvent(
  parts: Pick<KeyParts, 'clock' | 'log'>,
  tx: Tx,
  event: {
    kind: 'key_created' | 'key_changed' | 'key_rotated' | 'key_deleted'
    owner: Owner
    key: NamedKey
    details?: Record<string, string | number>
  },
): Promise<void> {
  const { kind, owner, key, details } = event
  await recordSecurityEvent(parts, tx, {
    ...owner,
    kind,
    at: parts.clock.now(),
    details: { key_id: key.id, name: key.name, prefix: key.prefix, ...details },
  })
}

/** The database knows whose app it is. */
async function refuseUnknownApp<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    if (violatedConstraint(error) !== 'api_key_app_is_the_owners') throw error
    throw new ApiError('not_found', { message: 'You have no app of that client_id.' })
  }
}

export async function listActiveKeys(
  parts: KeyParts,
  account_id: string,
  page: { cursor: string | undefined; limit: number },
) {
  const before_id = readCursor(page.cursor)
  const rows = await listKeys(parts.db, account_id, { before_id, count: page.limit + 1 })
  const keys = toPage(rows, page.limit, (row) => row.id)
  return { ...keys, data: await withSpending(parts, keys.data) }
}

type LimitedKey = Pick<KeyRow, 'id' | 'account_id' | 'spend_limit_period'>

/** What a key has spent in the period of its limit. Null where it has none: nothing is counted then. */
export type Spending = { spent_period_credits: bigint | null; period_resets_at: Date | null }

export const NO_LIMIT: Spending = { spent_period_credits: null, period_resets_at: null }

export async function withSpending<Key extends LimitedKey>(
  { db, clock }: Pick<KeyParts, 'db' | 'clock'>,
  keys: readonly Key[],
): Promise<(Key & Spending)[]> {
  const now = clock.now()
  const counters = keys.flatMap(({ id: owner_id, account_id, spend_limit_period: period }) =>
    period === null ? [] : [spendCounter({ owner_id, account_id, period }, now)],
  )
  const found = counters.length > 0 ? await readSpent(db, counters) : []
  const spent = new Map(found.map((counter) => [counter.owner_id, counter.spent]))
  return keys.map((key) => {
    const period = key.spend_limit_period
    if (period === null) return { ...key, ...NO_LIMIT }
    return {
      ...key,
      spent_period_credits: spent.get(key.id) ?? 0n,
      period_resets_at: periodEnd(period, now),
    }
  })
}

export async function withSpendingOf<Key extends LimitedKey>(
  parts: Pick<KeyParts, 'db' | 'clock'>,
  key: Key,
): Promise<Key & Spending> {
  const [with_spending = { ...key, ...NO_LIMIT }] = await withSpending(parts, [key])
  return with_spending
}

export async function revokeKey(parts: KeyParts, owner: Owner, id: string): Promise<void> {
  if (!isUuid(id)) throw new ApiError('not_found')
  await parts.db.transaction(async (tx) => {
    const { account_id } = owner
    const key = await markRevoked(tx, { id, account_id, at: parts.clock.now() })
    if (!key) throw new ApiError('not_found')
    await parts.feed.invalidate(tx, [`key:${id}`])
    await recordKeyEvent(parts, tx, { kind: 'key_deleted', owner, key })
  })
}

/** Ends every key of an account, in the transaction of what makes that necessary. Answers how many there were. */
export async function endKeysOfAccount(
  feed: InvalidationFeed,
  tx: Tx,
  account_id: string,
): Promise<number> {
  const ended = await revokeKeysOfAccount(tx, account_id)
  // One tag for all of them: an account may have many, and what else carries it is read again.
  if (ended > 0) await feed.invalidate(tx, [`account:${account_id}`])
  return ended
}

/** For operators: raises or lowers the limit of one key, in the transaction that records the act. */
export async function changeKeyLimit(
  { feed }: Pick<KeyParts, 'feed'>,
  tx: Tx,
  { id, per_minute }: { id: string; per_minute: number },
): Promise<{ name: string; account_id: string }> {
  const changed = isUuid(id) ? await setRateLimit(tx, id, per_minute) : undefined
  if (!changed) throw new ApiError('not_found', { message: `There is no key ${id}.` })
  await feed.invalidate(tx, [`key:${id}`])
  return changed
}

/** Undefined if the key is not in memory; `findActiveKey` then says whether there is one. */
export function findKeyInMemory(
  parts: Pick<KeyParts, 'keys'>,
  secret: string,
): KeyPrincipal | undefined {
  return parts.keys.peek(digestKey(secret))
}

export async function findActiveKey(
  parts: Pick<KeyParts, 'db' | 'keys'>,
  secret: string,
): Promise<KeyPrincipal | undefined> {
  // Junk is refused without a query.
  if (!isWellFormedApiKey(secret)) return undefined
  return await parts.keys.find(digestKey(secret), () => readKey(parts.db, secret))
}

async function readKey(db: Db, secret: string) {
  const row = await findKeyByDigest(db, digestSecret(secret))
  if (!row) return undefined
  const value: KeyPrincipal = {
    kind: 'key',
    key_id: row.id,
    account_id: row.account_id,
    name: row.name,
    prefix: row.prefix,
    billing_mode: row.billing_mode,
    client_id: row.client_id,
    created_at: row.created_at,
    expires_at: row.expires_at,
    rate_limit_per_minute: row.rate_limit_per_minute,
    spend_limit_credits: row.spend_limit_credits,
    spend_limit_period: row.spend_limit_period,
    restrictions: restrictionsOf(row),
    suspended_reason: row.suspended_reason,
  }
  const app = row.client_id === null ? [] : [`app:${row.client_id}`]
  return { value, tags: [`key:${row.id}`, `account:${row.account_id}`, ...app] }
}
