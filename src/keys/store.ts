// SQL of API keys.

import { type Queryable, statement, type Tx } from '../platform/db.ts'

export type BillingMode = 'developer' | 'user'
export type SpendPeriod = 'day' | 'month' | 'total'

export type KeyRow = {
  id: string
  account_id: string
  name: string
  billing_mode: BillingMode
  client_id: string | null
  prefix: string
  created_at: Date
  last_used_at: Date | null
  expires_at: Date | null
  rate_limit_per_minute: number | null
  spend_limit_credits: bigint | null
  spend_limit_period: SpendPeriod | null
}

export type FoundKeyRow = KeyRow & { app_suspended_reason: string | null }

const COLUMNS = `id, account_id, name, billing_mode, client_id, prefix, created_at, last_used_at, expires_at,
          rate_limit_per_minute, spend_limit_credits, spend_limit_period`

// Two statements on purpose: one that locks and counts would count what it saw before it waited.
const LOCK_ACCOUNT = statement<{ id: string }>(
  'keys.lock_account',
  `select id
   from account
   where id = $1::uuid
   for no key update`,
)

const COUNT_KEYS = statement<{ keys: number }>(
  'keys.count_keys',
  `select count(*)::integer as keys
   from api_key
   where account_id = $1::uuid
     and revoked_at is null`,
)

const INSERT_KEY = statement<KeyRow>(
  'keys.insert_key',
  `insert into api_key (id, account_id, token_digest, name, billing_mode, client_id, prefix, created_at,
                        expires_at, rate_limit_per_minute, spend_limit_credits, spend_limit_period)
   values ($1::uuid, $2::uuid, $3::bytea, $4::text, $5::text, $6::text, $7::text, $8::timestamptz,
           $9::timestamptz, $10::integer, $11::bigint, $12::text)
   returning ${COLUMNS}`,
)

const LIST_KEYS = statement<KeyRow>(
  'keys.list_keys',
  `select ${COLUMNS}
   from api_key
   where account_id = $1::uuid
     and revoked_at is null
     and ($2::uuid is null or id < $2::uuid)
   order by id desc
   limit $3::integer`,
)

/** With why its app is suspended, if it is bound to one that is. */
const FIND_KEY_BY_DIGEST = statement<FoundKeyRow>(
  'keys.find_key_by_digest',
  `select ${COLUMNS}, (
     select app.suspended_reason from app where app.client_id = api_key.client_id
   ) as app_suspended_reason
   from api_key
   where token_digest = $1::bytea
     and revoked_at is null`,
)

const REVOKE_KEY = statement<{ id: string }>(
  'keys.revoke_key',
  `update api_key
   set revoked_at = $3::timestamptz
   where id = $1::uuid
     and account_id = $2::uuid
     and revoked_at is null
   returning id`,
)

const SET_RATE_LIMIT = statement<{ id: string; name: string }>(
  'keys.set_rate_limit',
  `update api_key
   set rate_limit_per_minute = $2::integer
   where id = $1::uuid
     and revoked_at is null
   returning id, name`,
)

// Locked in order first: two processes that flush at once must not wait for each other in a circle.
const TOUCH_KEYS = statement<object>(
  'keys.touch_keys',
  `update api_key
   set last_used_at = greatest(api_key.last_used_at, used.at)
   from unnest($1::uuid[], $2::timestamptz[]) as used (id, at)
   join (
     select id
     from api_key
     where id = any ($1::uuid[])
     order by id
     for no key update
   ) as locked on locked.id = used.id
   where api_key.id = locked.id`,
)

export type NewKey = {
  id: string
  account_id: string
  token_digest: Buffer
  name: string
  billing_mode: BillingMode
  client_id: string | null
  prefix: string
  created_at: Date
  expires_at: Date | null
  rate_limit_per_minute: number | null
  spend_limit_credits: bigint | null
  spend_limit_period: SpendPeriod | null
}

/** Counts the account's keys; the number holds until the transaction ends. */
export async function lockAndCountKeys(tx: Tx, account_id: string): Promise<number> {
  await tx.run(LOCK_ACCOUNT, [account_id])
  return (await tx.run(COUNT_KEYS, [account_id]))[0]?.keys ?? 0
}

export async function insertKey(tx: Tx, key: NewKey): Promise<KeyRow> {
  const [row] = await tx.run(INSERT_KEY, [
    key.id,
    key.account_id,
    key.token_digest,
    key.name,
    key.billing_mode,
    key.client_id,
    key.prefix,
    key.created_at,
    key.expires_at,
    key.rate_limit_per_minute,
    key.spend_limit_credits,
    key.spend_limit_period,
  ])
  if (!row) throw new Error('an insert returned no row')
  return row
}

export async function listKeys(
  db: Queryable,
  account_id: string,
  page: { before_id: string | null; count: number },
): Promise<KeyRow[]> {
  return await db.run(LIST_KEYS, [account_id, page.before_id, page.count])
}

export async function findKeyByDigest(
  db: Queryable,
  token_digest: Buffer,
): Promise<FoundKeyRow | undefined> {
  return (await db.run(FIND_KEY_BY_DIGEST, [token_digest]))[0]
}

export async function markRevoked(
  tx: Tx,
  key: { id: string; account_id: string; at: Date },
): Promise<boolean> {
  return (await tx.run(REVOKE_KEY, [key.id, key.account_id, key.at])).length > 0
}

export async function setRateLimit(tx: Tx, id: string, per_minute: number) {
  return (await tx.run(SET_RATE_LIMIT, [id, per_minute]))[0]
}

export async function touchKeys(db: Queryable, uses: ReadonlyMap<string, Date>): Promise<void> {
  await db.run(TOUCH_KEYS, [[...uses.keys()], [...uses.values()]])
}
