// Whose credential it is: from memory, or by asking the database.

import { findActiveSession, findSessionInMemory, type SessionParts } from '../accounts/sessions.ts'
import type { KeyPrincipal, Principal, TokenPrincipal } from '../http/access.ts'
import { findActiveKey, findKeyInMemory } from '../keys/keys.ts'
import { findAccessToken, findTokenInMemory } from '../oauth/tokens.ts'
import type { CredentialCache } from '../platform/credential-cache.ts'
import type { Db } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { Credential } from './credentials.ts'

export type PrincipalParts = SessionParts & {
  db: Db
  keys: CredentialCache<KeyPrincipal>
  tokens: CredentialCache<TokenPrincipal>
}

const REFUSALS: readonly string[] = ['user_not_found', 'forbidden']

/** Undefined: memory does not know. Null: there is none. */
export function findPrincipalInMemory(
  parts: PrincipalParts,
  credential: Credential,
): Principal | null | undefined {
  switch (credential.kind) {
    case 'none':
    case 'unknown':
    case 'two':
      return null
    case 'key':
      return findKeyInMemory(parts, credential.secret)
    case 'token':
      return findTokenInMemory(parts, credential.secret)
    case 'session': {
      const session = findSessionInMemory(parts, credential.secret)
      return session && { ...session, by_cookie: credential.by_cookie }
    }
  }
}

export async function findPrincipal(
  parts: PrincipalParts,
  credential: Credential,
): Promise<Principal | undefined> {
  switch (credential.kind) {
    case 'none':
    case 'unknown':
    case 'two':
      return undefined
    case 'key':
      return await findActiveKey(parts, credential.secret)
    case 'token':
      return await findAccessToken(parts, credential.secret)
    case 'session': {
      const session = await findActiveSession(parts, credential.secret)
      return session && { ...session, by_cookie: credential.by_cookie }
    }
  }
}

/** The token is good, but its user's account is gone, or its app is suspended. */
export function asRefusal(error: unknown): ApiError {
  const is_refusal = error instanceof ApiError && REFUSALS.includes(error.code)
  if (is_refusal) return error
  throw error
}

/** The token that came beside a key. Undefined: memory does not know. Null: none came. */
export function findUserTokenInMemory(
  parts: PrincipalParts,
  credential: Credential,
): TokenPrincipal | null | undefined {
  const secret = userTokenOf(credential)
  return secret === undefined ? null : findTokenInMemory(parts, secret)
}

export async function findUserToken(
  parts: PrincipalParts,
  credential: Credential,
): Promise<TokenPrincipal | undefined> {
  const secret = userTokenOf(credential)
  return secret === undefined ? undefined : await findAccessToken(parts, secret)
}

export function userTokenOf(credential: Credential): string | undefined {
  return credential.kind === 'key' ? credential.user_token : undefined
}

export function unexpired<Known extends { expires_at: Date | null }>(
  { clock }: Pick<PrincipalParts, 'clock'>,
  known: Known | null | undefined,
): Known | null {
  if (!known) return null
  return known.expires_at && known.expires_at <= clock.now() ? null : known
}
