// API keys: issue, list, revoke, and the look-up that every call makes.

import type { KeyPrincipal } from '../http/access.ts'
import { readCursor, toPage } from '../http/schemas.ts'
import type { Clock } from '../platform/clock.ts'
import type { CredentialCache } from '../platform/credential-cache.ts'
import type { Db, Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { InvalidationFeed } from '../platform/invalidation.ts'
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
import {
  type BillingMode,
  findKeyByDigest,
  insertKey,
  type KeyRow,
  listKeys,
  lockAndCountKeys,
  markRevoked,
  revokeKeysOfAccount,
  type SpendPeriod,
  setRateLimit,
} from './store.ts'

const PREFIX_LENGTH = 12

export type KeyParts = {
  db: Db
  feed: InvalidationFeed
  clock: Clock
  keys: CredentialCache<KeyPrincipal>
  keys_per_account_max: number
}

export type KeyRequest = {
  name: string
  billing_mode: BillingMode
  /** The app it is bound to. */
  client_id: string | null
  expires_at: Date | null
  rate_limit_per_minute: number | null
  spend_limit: { credits: bigint; period: SpendPeriod } | null
}

/** The secret is in the answer and nowhere else, ever. */
export async function issueKey(
  parts: KeyParts,
  account_id: string,
  wanted: KeyRequest,
): Promise<{ key: string; row: KeyRow }> {
  const now = parts.clock.now()
  if (wanted.expires_at && wanted.expires_at <= now) {
    throw new ApiError('bad_request', {
      message: 'body.expires_at is in the past.',
      param: 'expires_at',
    })
  }
  const key = mintApiKey()
  const row = await refuseUnknownApp(
    parts.db.transaction(async (tx) => {
      if ((await lockAndCountKeys(tx, account_id)) >= parts.keys_per_account_max) {
        throw new ApiError('bad_request', {
          message: `An account has at most ${parts.keys_per_account_max} keys.`,
          hint: 'Delete keys that are not used any more.',
        })
      }
      return await insertKey(tx, {
        id: mintId({ at: now }),
        account_id,
        token_digest: digestSecret(key),
        name: wanted.name,
        billing_mode: wanted.billing_mode,
        client_id: wanted.client_id,
        prefix: key.slice(0, PREFIX_LENGTH),
        created_at: now,
        expires_at: wanted.expires_at,
        rate_limit_per_minute: wanted.rate_limit_per_minute,
        spend_limit_credits: wanted.spend_limit?.credits ?? null,
        spend_limit_period: wanted.spend_limit?.period ?? null,
      })
    }),
  )
  return { key, row }
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

export async function revokeKey(parts: KeyParts, account_id: string, id: string): Promise<void> {
  if (!isUuid(id)) throw new ApiError('not_found')
  await parts.db.transaction(async (tx) => {
    const revoked = await markRevoked(tx, { id, account_id, at: parts.clock.now() })
    if (!revoked) throw new ApiError('not_found')
    await parts.feed.invalidate(tx, [`key:${id}`])
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

/** For operators: raises or lowers the limit of one key. */
export async function changeKeyLimit(
  parts: Pick<KeyParts, 'db' | 'feed'>,
  id: string,
  per_minute: number,
): Promise<{ name: string }> {
  if (!isUuid(id)) throw new ApiError('not_found', { message: `There is no key ${id}.` })
  return await parts.db.transaction(async (tx) => {
    const changed = await setRateLimit(tx, id, per_minute)
    if (!changed) throw new ApiError('not_found', { message: `There is no key ${id}.` })
    await parts.feed.invalidate(tx, [`key:${id}`])
    return changed
  })
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
  const { id, last_used_at: _, ...rest } = row
  const value: KeyPrincipal = { kind: 'key', key_id: id, ...rest }
  const app = row.client_id === null ? [] : [`app:${row.client_id}`]
  return { value, tags: [`key:${id}`, `account:${row.account_id}`, ...app] }
}
