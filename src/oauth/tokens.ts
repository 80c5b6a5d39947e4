// Tokens: issued in the transaction that grants them, looked up from memory, gone with their grant.

import type { TokenPrincipal } from '../http/access.ts'
import type { CredentialCache } from '../platform/credential-cache.ts'
import type { Db, Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { digestKey, digestSecret, mintSecret } from '../platform/tokens.ts'
import { LIFETIMES } from './client-types.ts'
import { originsOf } from './origins.ts'
import { effectiveScopes, type Scope } from './scopes.ts'
import { type GrantRow, setLapse } from './store.ts'
import {
  findAccessTokenRow,
  insertAccessToken,
  insertRefreshToken,
  type UserRow,
} from './token-store.ts'

const ACCESS_TOKEN_PREFIX = 'svc_token_'
const REFRESH_TOKEN_PREFIX = 'svc_refresh_'
const ACCESS_TOKEN_PATTERN = /^svc_token_[A-Za-z0-9_-]{43}$/
export const REFRESH_TOKEN_PATTERN = /^svc_refresh_[A-Za-z0-9_-]{43}$/

export type IssuedTokens = {
  access_token: string
  /** A hosted grant has none: the server keeps the grant. */
  refresh_token: string | undefined
  expires_at: Date
  /** Seconds from the answer on: of a fresh token its whole life, whatever the answer itself took. */
  expires_in: number
  scopes: readonly Scope[]
}

/** The grant is locked by the caller. */
export async function issueTokens(
  tx: Tx,
  grant: GrantRow,
  options: { scopes: readonly Scope[]; now: Date },
): Promise<IssuedTokens> {
  const { scopes, now } = options
  const access_token = mintSecret(ACCESS_TOKEN_PREFIX)
  const { access_token_s: expires_in, refresh_idle_s } = LIFETIMES[grant.client_type]
  const expires_at = later(now, expires_in)
  await insertAccessToken(tx, {
    token_digest: digestSecret(access_token),
    grant_id: grant.id,
    scopes,
    expires_at,
  })
  if (grant.expires_at === null) {
    return { access_token, refresh_token: undefined, expires_at, expires_in, scopes }
  }
  const refresh_token = mintSecret(REFRESH_TOKEN_PREFIX)
  const idle_end = later(now, refresh_idle_s)
  const lapses_at = idle_end < grant.expires_at ? idle_end : grant.expires_at
  await insertRefreshToken(tx, {
    token_digest: digestSecret(refresh_token),
    grant_id: grant.id,
    expires_at: lapses_at,
  })
  await setLapse(tx, grant.id, lapses_at)
  return { access_token, refresh_token, expires_at, expires_in, scopes }
}

/** Undefined if the token is not in memory; `findAccessToken` then says whether there is one. */
export function findTokenInMemory(
  parts: { tokens: CredentialCache<TokenPrincipal> },
  token: string,
): TokenPrincipal | undefined {
  return parts.tokens.peek(digestKey(token))
}

export async function findAccessToken(
  parts: { db: Db; tokens: CredentialCache<TokenPrincipal> },
  token: string,
): Promise<TokenPrincipal | undefined> {
  // Junk is refused without a query.
  if (!ACCESS_TOKEN_PATTERN.test(token)) return undefined
  return await parts.tokens.find(digestKey(token), () => readAccessToken(parts.db, token))
}

async function readAccessToken(db: Db, token: string) {
  const row = await findAccessTokenRow(db, digestSecret(token))
  if (!row) return undefined
  const value: TokenPrincipal = {
    kind: 'token',
    ...describeUser(row),
    expires_at: row.expires_at,
    origins: originsOf(row),
  }
  return { value, tags: userTags(row) }
}

/** Whom a token or a link leads to. */
export function describeUser(row: UserRow) {
  const { account_id, scopes, allowed_scopes, ...rest } = row
  if (account_id === null) {
    throw new ApiError('user_not_found', { message: 'The account of this user is gone.' })
  }
  return {
    grant_id: rest.grant_id,
    connection_id: rest.connection_id,
    client_id: rest.client_id,
    developer_id: rest.developer_id,
    markup_bps: rest.markup_bps,
    cap_credits: rest.cap_credits,
    cap_period: rest.cap_period,
    suspended_reason: rest.suspended_reason,
    account_id,
    scopes: effectiveScopes(scopes, allowed_scopes),
  }
}

/** What makes a look-up stale: the end of the grant or account, a change of the app or of the user's cap. */
export function userTags(row: UserRow): string[] {
  return [
    `grant:${row.grant_id}`,
    `app:${row.client_id}`,
    `connection:${row.connection_id}`,
    `account:${row.developer_id}`,
    ...(row.account_id === null ? [] : [`account:${row.account_id}`]),
  ]
}

function later(from: Date, seconds: number): Date {
  return new Date(from.getTime() + seconds * 1000)
}
