// The exchange of a code: once, by the app it was made for, with the verifier of the request that asked for it.
// Only this makes a grant live. One transaction, and what it decides is committed before anybody is told.

import type { Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { digestSecret } from '../platform/tokens.ts'
import type { AppRow } from './app-store.ts'
import { LIFETIMES } from './client-types.ts'
import { type DpopProof, useProof } from './dpop.ts'
import { endFamily, endGrants, type GrantParts, linkName, updateConnections } from './grants.ts'
import { matchesChallenge } from './pkce.ts'
import {
  activateGrant,
  type CodeRow,
  consumeCode,
  findCode,
  findGrant,
  type GrantRow,
  lockGrants,
  lockLinks,
} from './store.ts'
import { findLinks, type LinkRow, upsertLink } from './token-store.ts'
import { type IssuedTokens, issueTokens } from './tokens.ts'

const CODE_PATTERN = /^svc_code_[A-Za-z0-9_-]{43}$/

export type CodeExchange = {
  code: string
  code_verifier: string
  /** Optional; if sent, the one the code was made for. */
  redirect_uri: string | undefined
  /** With hosted storage: whose session of the app received the code. If sent, the one the code was made for. */
  external_user_id: string | undefined
  /** Binds the grant to its key. */
  proof: DpopProof | undefined
}

export type Exchanged = IssuedTokens & { external_user_id: string | null }

export async function exchangeCode(
  parts: GrantParts,
  app: AppRow,
  given: CodeExchange,
): Promise<Exchanged> {
  if (!CODE_PATTERN.test(given.code)) throw invalidGrant()
  const outcome = await parts.db.transaction((tx) => exchangeOnce(parts, tx, app, given))
  if (outcome === 'reused') {
    parts.log.warn({ client_id: app.client_id, alarm: 'code_reused' }, 'a code came twice')
  }
  if (typeof outcome === 'string') throw refusalOf(outcome)
  return outcome
}

type Refusal = 'refused' | 'reused' | 'misnamed' | 'unconfirmed'

/** Who is told about the name has proved with secret and verifier that the code is theirs. */
function refusalOf(outcome: Refusal): ApiError {
  switch (outcome) {
    case 'refused':
    case 'reused':
      return invalidGrant()
    case 'misnamed':
      return new ApiError('invalid_grant', {
        message: 'external_user_id is not the one of the request that the user approved.',
        hint: 'Somebody may have changed it in the address bar: link nobody, and begin again.',
      })
    case 'unconfirmed':
      return new ApiError('invalid_grant', {
        message: 'This link needs a confirmation.',
        hint: 'Send external_user_id with the code: your id of the user whose session received it.',
      })
  }
}

/** One description for all causes: whoever guesses learns nothing. */
export function invalidGrant(): ApiError {
  return new ApiError('invalid_grant')
}

async function exchangeOnce(
  parts: GrantParts,
  tx: Tx,
  app: AppRow,
  given: CodeExchange,
): Promise<Exchanged | Refusal> {
  const code_digest = digestSecret(given.code)
  const seen = await findCode(tx, code_digest)
  const locked = seen && (await lockForExchange(tx, seen.grant_id))
  // Read again behind the lock: another exchange of the same code may have come first.
  const code = locked && (await findCode(tx, code_digest))
  if (!code || !locked || locked.grant.app_id !== app.id) return 'refused'
  if (!verifies(code, given)) return 'refused'
  // As with a wrong verifier the code stays good: who guesses at the name must not burn it.
  const { external_user_id } = locked.grant
  if (given.external_user_id !== undefined && given.external_user_id !== external_user_id) {
    return 'misnamed'
  }
  if (code.consumed_at !== null) {
    await endFamily(parts, tx, locked.grant)
    return 'reused'
  }
  const now = parts.clock.now()
  if (code.expires_at <= now || locked.grant.ended_at !== null) return 'refused'
  if (external_user_id !== null && given.external_user_id === undefined) {
    if (locked.is_taken || app.require_external_user_id) return 'unconfirmed'
  }
  await consumeCode(tx, code_digest, now)
  if (given.proof) await useProof(tx, given.proof)
  return await activate(parts, tx, { ...locked, grant: bindGrant(locked.grant, given.proof, now) })
}

/** Without a key the grant may end sooner than it would have. */
export function bindGrant(grant: GrantRow, proof: DpopProof | undefined, now: Date): GrantRow {
  if (proof || grant.expires_at === null) return { ...grant, dpop_jkt: proof?.jkt ?? null }
  const end = new Date(now.getTime() + LIFETIMES[grant.client_type].grant_without_key_s * 1000)
  return end < grant.expires_at ? { ...grant, expires_at: end } : grant
}

type Locked = {
  grant: GrantRow
  replaced: GrantRow | undefined
  /** Another account has a link of this name, through this app or another one of its developer. */
  is_taken: boolean
}

/** Locks the grant and, with hosted storage, the name and the grant whose place it takes. */
async function lockForExchange(tx: Tx, grant_id: string): Promise<Locked | undefined> {
  const seen = await findGrant(tx, grant_id)
  if (!seen) return undefined
  const links = await lockName(tx, seen)
  const other_id = links.find((link) => link.app_id === seen.app_id)?.grant_id
  const grants = await lockGrants(tx, other_id === undefined ? [grant_id] : [grant_id, other_id])
  const grant = grants.find((one) => one.id === grant_id)
  const is_taken = links.some(
    ({ account_id }) => account_id !== null && account_id !== seen.account_id,
  )
  return grant && { grant, replaced: grants.find((one) => one.id !== grant_id), is_taken }
}

async function lockName(
  tx: Tx,
  { developer_id, external_user_id }: GrantRow,
): Promise<readonly LinkRow[]> {
  if (external_user_id === null) return []
  const name = { developer_id, external_user_id }
  await lockLinks(tx, [linkName(name)])
  return await findLinks(tx, name)
}

/** The verifier first: someone who holds only the code cannot end the family with it. */
function verifies(code: CodeRow, given: CodeExchange): boolean {
  if (!matchesChallenge(given.code_verifier, code.code_challenge)) return false
  return given.redirect_uri === undefined || given.redirect_uri === code.redirect_uri
}

/** Makes a grant that the caller has locked live, and gives the first tokens of it. */
export async function activate(
  parts: GrantParts,
  tx: Tx,
  { grant, replaced }: Locked,
): Promise<Exchanged> {
  const now = parts.clock.now()
  const { id, external_user_id, app_id, developer_id } = grant
  await activateGrant(tx, grant, now)
  if (replaced) await endGrants(parts, tx, [replaced])
  if (external_user_id !== null) {
    await upsertLink(tx, { app_id, external_user_id, developer_id, grant_id: id, linked_at: now })
    await parts.feed.invalidate(tx, [`hosted:${developer_id}:${external_user_id}`])
  }
  const ids = [grant.connection_id, ...(replaced ? [replaced.connection_id] : [])]
  await updateConnections(parts, tx, { ids })
  const tokens = await issueTokens(tx, grant, { scopes: grant.scopes, now })
  return { ...tokens, external_user_id }
}
