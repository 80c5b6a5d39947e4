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
  /** May be over: the row keeps it until the next rotation. */
  previous_secret_until: Date | null
  allowed_endpoints: string[] | null
  allowed_ips: string[] | null
}

/** All but the end of its life. */
const DESCRIPTION = `id, account_id, name, billing_mode, client_id, prefix, created_at, last_used_at,
          rate_limit_per_minute, spend_limit_credits, spend_limit_period, previous_secret_until,
          allowed_endpoints, allowed_ips`
const COLUMNS = `${DESCRIPTION}, expires_at`

/** With why its account, or the app it is bound to, is suspended. */
type FoundKey = KeyRow & { suspended_reason: string | null }

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
                        expires_at, rate_limit_per_minute, spend_limit_credits, spend_limit_period,
                        allowed_endpoints, allowed_ips)
   values ($1::uuid, $2::uuid, $3::bytea, $4::text, $5::text, $6::text, $7::text, $8::timestamptz,
           $9::timestamptz, $10::integer, $11::bigint, $12::text, $13::text[], $14::text[])
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

// The secret before the last rotation ends with the overlap, or with the key if that is sooner.
const FIND_KEY_BY_DIGEST = statement<FoundKey>(
  'keys.find_key_by_digest',
  `select ${DESCRIPTION},
     case when token_digest = $1::bytea then expires_at else least(expires_at, previous_secret_until) end as expires_at,
     coalesce((select account.suspended_reason from account where account.id = api_key.account_id),
       (select app.suspended_reason from app where app.client_id = api_key.client_id)) as suspended_reason
   from api_key
   where (token_digest = $1::bytea or previous_digest = $1::bytea)
     and revoked_at is null`,
)

const LOCK_KEY = statement<KeyRow>(
  'keys.lock_key',
  `select ${COLUMNS}
   from api_key
   where id = $1::uuid
     and account_id = $2::uuid
     and revoked_at is null
   for no key update`,
)

const CHANGE_KEY = statement<KeyRow>(
  'keys.change_key',
  `update api_key
   set name = $2::text,
       expires_at = $3::timestamptz,
       rate_limit_per_minute = $4::integer,
       spend_limit_credits = $5::bigint,
       spend_limit_period = $6::text,
       allowed_endpoints = $7::text[],
       allowed_ips = $8::text[]
   where id = $1::uuid
   returning ${COLUMNS}`,
)

const ROTATE_KEY = statement<KeyRow>(
  'keys.rotate_key',
  `update api_key
   set token_digest = $3::bytea,
       prefix = $4::text,
       previous_digest = case when $5::timestamptz is not null then token_digest end,
       previous_secret_until = $5::timestamptz
   where id = $1::uuid
     and account_id = $2::uuid
     and revoked_at is null
   returning ${COLUMNS}`,
)

const REVOKE_KEY = statement<NamedKey>(
  'keys.revoke_key',
  `update api_key
   set revoked_at = $3::timestamptz
   where id = $1::uuid
     and account_id = $2::uuid
     and revoked_at is null
   returning id, name, prefix`,
)

const REVOKE_KEYS_OF_ACCOUNT = statement<{ id: string }>(
  'keys.revoke_keys_of_account',
  `update api_key
   set revoked_at = now()
   where account_id = $1::uuid
     and revoked_at is null
   returning id`,
)

const SET_RATE_LIMIT = statement<{ id: string; name: string; account_id: string }>(
  'keys.set_rate_limit',
  `update api_key
   set rate_limit_per_minute = $2::integer
   where id = $1::uuid
     and revoked_at is null
   returning id, name, account_id`,
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

/** What its owner may change. */
export type KeySettings = Pick<
  KeyRow,
  | 'name'
  | 'expires_at'
  | 'rate_limit_per_minute'
  | 'spend_limit_credits'
  | 'spend_limit_period'
  | 'allowed_endpoints'
  | 'allowed_ips'
>

export type NewKey = Omit<KeyRow, 'last_used_at' | 'previous_secret_until'> & {
  token_digest: Buffer
}

export type OwnedKey = { id: string; account_id: string }

/** What its owner recognises it by. */
export type NamedKey = Pick<KeyRow, 'id' | 'name' | 'prefix'>

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
    key.allowed_endpoints,
    key.allowed_ips,
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
): Promise<FoundKey | undefined> {
  return (await db.run(FIND_KEY_BY_DIGEST, [token_digest]))[0]
}

export async function lockKey(tx: Tx, key: OwnedKey): Promise<KeyRow | undefined> {
  return (await tx.run(LOCK_KEY, [key.id, key.account_id]))[0]
}

/** A key that is locked. */
export async function updateKey(
  tx: Tx,
  id: string,
  wanted: KeySettings,
): Promise<KeyRow | undefined> {
  const [row] = await tx.run(CHANGE_KEY, [
    id,
    wanted.name,
    wanted.expires_at,
    wanted.rate_limit_per_minute,
    wanted.spend_limit_credits,
    wanted.spend_limit_period,
    wanted.allowed_endpoints,
    wanted.allowed_ips,
  ])
  return row
}

export async function replaceSecret(
  tx: Tx,
  key: OwnedKey,
  secret: { token_digest: Buffer; prefix: string; previous_secret_until: Date | null },
): Promise<KeyRow | undefined> {
  const { token_digest, prefix, previous_secret_until } = secret
  const values = [key.id, key.account_id, token_digest, prefix, previous_secret_until]
  return (await tx.run(ROTATE_KEY, values))[0]
}

export async function markRevoked(
  tx: Tx,
  key: OwnedKey & { at: Date },
): Promise<NamedKey | undefined> {
  return (await tx.run(REVOKE_KEY, [key.id, key.account_id, key.at]))[0]
}

/** A key that is being made meanwhile is waited for, and ends too. */
export async function revokeKeysOfAccount(tx: Tx, account_id: string): Promise<number> {
  await tx.run(LOCK_ACCOUNT, [account_id])
  return (await tx.run(REVOKE_KEYS_OF_ACCOUNT, [account_id])).length
}

export async function setRateLimit(tx: Tx, id: string, per_minute: number) {
  return (await tx.run(SET_RATE_LIMIT, [id, per_minute]))[0]
}

export async function touchKeys(db: Queryable, uses: ReadonlyMap<string, Date>): Promise<void> {
  await db.run(TOUCH_KEYS, [[...uses.keys()], [...uses.values()]])
}
