// Consent: what the user approved is what was shown. It makes a grant and its code; the grant gives nothing
// until the app has exchanged the code.

import { createHmac } from 'node:crypto'
import { lockAccount } from '../accounts/proof-store.ts'
import { recordSecurityEvent } from '../accounts/security-log/security-log.ts'
import { requireOpenSession } from '../accounts/sessions.ts'
import type { Tx } from '../platform/db.ts'
import { violatedConstraint } from '../platform/sql-errors.ts'
import { digestSecret, equalSecrets, mintId, mintSecret } from '../platform/tokens.ts'
import type { Actor } from './actor.ts'
import { type AuthorizationRequest, unknownApp } from './authorize.ts'
import { LIFETIMES } from './client-types.ts'
import { changeCap, describeCap } from './connections.ts'
import type { GrantParts } from './grants.ts'
import { type Cap, insertCode, insertGrant, openConnection } from './store.ts'

const CODE_PREFIX = 'svc_code_'
const CODE_LIFETIME_MS = 60_000
const PROOF_LIFETIME_MS = 10 * 60_000

export type Approval = {
  account_id: string
  /** Undefined leaves it as it is. */
  cap: Cap | undefined
  actor: Actor
}

/** Answers the code. */
export async function approve(
  parts: GrantParts,
  request: AuthorizationRequest,
  approval: Approval,
): Promise<string> {
  const code = mintSecret(CODE_PREFIX)
  try {
    await parts.db.transaction((tx) => insertApproval(parts, tx, { request, approval, code }))
  } catch (error) {
    // Its developer deleted it while the user was reading.
    if (violatedConstraint(error) === 'app_connection_app_id_fkey') throw unknownApp()
    throw error
  }
  return code
}

async function insertApproval(
  parts: GrantParts,
  tx: Tx,
  given: { request: AuthorizationRequest; approval: Approval; code: string },
): Promise<void> {
  const { request, approval, code } = given
  const grant_id = await openGrant(parts, tx, request, approval)
  await insertCode(tx, {
    code_digest: digestSecret(code),
    grant_id,
    redirect_uri: request.redirect_uri,
    code_challenge: request.code_challenge,
    expires_at: new Date(parts.clock.now().getTime() + CODE_LIFETIME_MS),
    consumed_at: null,
  })
}

/** What a user agrees to. */
export type Terms = Pick<AuthorizationRequest, 'app' | 'scopes' | 'external_user_id'>

/** Answers the id of a grant that gives nothing yet. */
export async function openGrant(
  parts: GrantParts,
  tx: Tx,
  terms: Terms,
  approval: Approval,
): Promise<string> {
  const { app, external_user_id, scopes } = terms
  const now = parts.clock.now()
  await lockAccount(tx, approval.account_id)
  await requireOpenSession(parts, tx, approval.actor.session_id)
  const connection = await openConnection(tx, {
    id: mintId({ at: now }),
    app_id: app.id,
    account_id: approval.account_id,
    created_at: now,
    // Only a page that asks to spend shows a price, so only that one agrees to it.
    agreed_markup_bps: scopes.includes('credits.spend') ? app.markup_bps : null,
  })
  const { account_id, cap } = approval
  if (cap === undefined) {
    // The markup that was agreed to holds for the tokens of earlier consents too.
    await parts.feed.invalidate(tx, [`connection:${connection.id}`])
  } else {
    const { client_id } = app
    await changeCap(parts, tx, { connection, client_id, account_id, cap })
  }
  const grant_id = mintId({ at: now })
  const { grant_s } = LIFETIMES[app.client_type]
  await insertGrant(tx, {
    id: grant_id,
    connection_id: connection.id,
    scopes,
    external_user_id,
    created_at: now,
    // A hosted grant is kept by us and lasts until somebody ends it, or nobody uses it for long.
    expires_at: external_user_id === null ? new Date(now.getTime() + grant_s * 1000) : null,
  })
  await recordConsent(parts, tx, { terms, approval, holding: cap ?? connection })
  return grant_id
}

async function recordConsent(
  parts: GrantParts,
  tx: Tx,
  given: { terms: Terms; approval: Approval; holding: Cap },
): Promise<void> {
  const { terms, approval, holding } = given
  const { app, scopes, external_user_id } = terms
  await recordSecurityEvent(parts, tx, {
    account_id: approval.account_id,
    kind: 'consent_given',
    at: parts.clock.now(),
    ...approval.actor,
    details: {
      client_id: app.client_id,
      app_name: app.name,
      scopes: scopes.join(' '),
      ...(scopes.includes('credits.spend') && describeCap(holding)),
      ...(external_user_id !== null && { external_user_id }),
    },
  })
}

/**
 * Proof that a form came from a page we showed to this browser, for exactly this request. The key is the
 * browser's own cookie: whoever can make one has the session already.
 */
export function proveForm(
  secret: string,
  subject: string | AuthorizationRequest,
  now: Date,
): string {
  const expires_ms = now.getTime() + PROOF_LIFETIME_MS
  return `${expires_ms}.${sign(secret, subject, expires_ms)}`
}

export function isProven(
  proof: unknown,
  secret: string,
  options: { subject: string | AuthorizationRequest; now: Date },
): boolean {
  if (typeof proof !== 'string') return false
  const [, expires, signature] = /^(\d{13})\.([A-Za-z0-9_-]{43})$/.exec(proof) ?? []
  if (expires === undefined || signature === undefined) return false
  if (Number(expires) <= options.now.getTime()) return false
  return equalSecrets(signature, sign(secret, options.subject, Number(expires)))
}

function sign(secret: string, subject: string | AuthorizationRequest, expires_ms: number): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify([expires_ms, describeSubject(subject)]))
    .digest('base64url')
}

function describeSubject(subject: string | AuthorizationRequest): unknown {
  if (typeof subject === 'string') return subject
  const { app, redirect_uri, scopes, code_challenge, state, external_user_id } = subject
  const { client_id, markup_bps } = app
  return [
    client_id,
    markup_bps,
    redirect_uri,
    scopes,
    code_challenge,
    state ?? null,
    external_user_id,
  ]
}
