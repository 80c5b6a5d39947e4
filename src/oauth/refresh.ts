// Refresh tokens rotate: each is good once. One that comes a second time is either a client that did not get
// the answer, and then it gets the same answer again, or a thief, and then the whole family ends.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { Tx } from '../platform/db.ts'
import { digestSecret } from '../platform/tokens.ts'
import type { AppRow } from './app-store.ts'
import { invalidGrant } from './code-exchange.ts'
import { type DpopProof, useProof } from './dpop.ts'
import { endFamily, type GrantParts } from './grants.ts'
import { effectiveScopes, parseScopes } from './scopes.ts'
import { lockGrants } from './store.ts'
import { findRefreshToken, markRotated, type RefreshTokenRow } from './token-store.ts'
import { type IssuedTokens, issueTokens, REFRESH_TOKEN_PATTERN } from './tokens.ts'

/** How long the same answer is given again. */
const GRACE_MS = 30_000
const SEAL_PURPOSE = 'svc refresh replay'
const NONCE_LENGTH = 12
const TAG_LENGTH = 16

export type Refresh = {
  refresh_token: string
  /** Of the new access token; at most what was granted, and that if absent. */
  scope: string | undefined
  /** That the caller holds the key of the grant. */
  proof: DpopProof | undefined
}

export async function refreshTokens(
  parts: GrantParts,
  app: AppRow,
  given: Refresh,
): Promise<IssuedTokens> {
  if (!REFRESH_TOKEN_PATTERN.test(given.refresh_token)) throw invalidGrant()
  const outcome = await parts.db.transaction((tx) => refreshOnce(parts, tx, app, given))
  if (outcome === 'reused') {
    parts.log.warn(
      { client_id: app.client_id, alarm: 'refresh_token_reused' },
      'a refresh token came again after it was replaced: the grant is ended',
    )
  }
  if (typeof outcome === 'string') throw invalidGrant()
  return outcome
}

async function refreshOnce(
  parts: GrantParts,
  tx: Tx,
  app: AppRow,
  given: Refresh,
): Promise<IssuedTokens | 'refused' | 'reused'> {
  const digest = digestSecret(given.refresh_token)
  const seen = await findRefreshToken(tx, digest)
  const grant = seen && (await lockGrants(tx, [seen.grant_id]))[0]
  // Read again behind the lock: of several at once the first rotates, the others must see that.
  const token = grant && (await findRefreshToken(tx, digest))
  if (!token || grant.app_id !== app.id || grant.ended_at !== null) return 'refused'
  const now = parts.clock.now()
  if (token.expires_at <= now) return 'refused'
  if (grant.dpop_jkt !== null) {
    // Nothing else happens without the key: a copy that is tried out must not sign the user out.
    if (given.proof?.jkt !== grant.dpop_jkt) return 'refused'
    await useProof(tx, given.proof)
  }
  const allowed = effectiveScopes(grant.scopes, app.allowed_scopes)
  const wish = given.scope?.split(' ').filter(Boolean) ?? grant.scopes
  // Before the wish is judged: a token that came twice is no less stolen for asking too much.
  if (token.rotated_at !== null) {
    const replayed = await replay(tx, token, { given, wish, now })
    if (replayed) return replayed
    await endFamily(parts, tx, grant)
    return 'reused'
  }
  const scopes = parseScopes(given.scope ?? allowed.join(' '), allowed)
  const issued = await issueTokens(tx, grant, { scopes, now })
  if (issued.refresh_token === undefined) throw new Error('a grant with a refresh token has none')
  await markRotated(tx, digest, {
    at: now,
    successor_digest: digestSecret(issued.refresh_token),
    replay: seal({ issued, wish }, given.refresh_token),
  })
  return issued
}

/**
 * The first answer once more, while it is fresh, nobody has used what it gave, and the wish is the same. What the app may
 * ask for can have changed between the two, and is no part of the wish.
 */
async function replay(
  tx: Tx,
  token: RefreshTokenRow,
  asked: { given: Refresh; wish: readonly string[]; now: Date },
): Promise<IssuedTokens | undefined> {
  const { rotated_at, successor_digest, replay: sealed } = token
  if (!rotated_at || !successor_digest || !sealed) return undefined
  if (asked.now.getTime() - rotated_at.getTime() > GRACE_MS) return undefined
  const successor = await findRefreshToken(tx, successor_digest)
  if (successor?.rotated_at !== null) return undefined
  const { issued, wish } = unseal(sealed, asked.given.refresh_token)
  if (new Set(asked.wish).symmetricDifference(new Set(wish)).size > 0) return undefined
  const left_ms = issued.expires_at.getTime() - asked.now.getTime()
  return { ...issued, expires_in: Math.max(0, Math.ceil(left_ms / 1000)) }
}

type Replay = { issued: IssuedTokens; wish: readonly string[] }

// Sealed with a key made from the rotated token: the database alone cannot open it, the client that asks
// again brings the key.
function seal(replay: Replay, refresh_token: string): Buffer {
  const nonce = randomBytes(NONCE_LENGTH)
  const cipher = createCipheriv('aes-256-gcm', sealingKey(refresh_token), nonce)
  const text = JSON.stringify(replay)
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

function unseal(sealed: Buffer, refresh_token: string): Replay {
  const nonce = sealed.subarray(0, NONCE_LENGTH)
  const decipher = createDecipheriv('aes-256-gcm', sealingKey(refresh_token), nonce)
  decipher.setAuthTag(sealed.subarray(-TAG_LENGTH))
  const text = Buffer.concat([
    decipher.update(sealed.subarray(NONCE_LENGTH, -TAG_LENGTH)),
    decipher.final(),
  ]).toString('utf8')
  const { issued, wish }: Replay = JSON.parse(text)
  return { issued: { ...issued, expires_at: new Date(issued.expires_at) }, wish }
}

function sealingKey(refresh_token: string): Buffer {
  return Buffer.from(hkdfSync('sha256', refresh_token, '', SEAL_PURPOSE, 32))
}
