// Proofs that travel by mail: that an address is one's own, and that one may set a new password. A request
// only queues the mail; the token is made when it is sent, so no secret ever waits in the database, and no
// reply depends on a mail server.

import type { RateLimits } from '../http/rate-limit.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { InvalidationFeed } from '../platform/invalidation.ts'
import { digestSecret, mintId, mintSecret } from '../platform/tokens.ts'
import { emailKey, requireAccount } from './accounts.ts'
import { hashPassword, requireStrongPassword } from './passwords.ts'
import { closeSessions } from './sessions.ts'
import {
  deleteMailTokens,
  insertMailToken,
  markEmailVerified,
  type ProofPurpose,
  peekMailToken,
  queueMailToEmail,
  takeMailToken,
  updatePassword,
} from './store.ts'

const MINUTE_MS = 60_000

export const MAIL_TOKENS = {
  verify_email: { prefix: 'svc_verify_', lifetime_ms: 24 * 60 * MINUTE_MS },
  reset_password: { prefix: 'svc_reset_', lifetime_ms: 60 * MINUTE_MS },
} as const satisfies Record<ProofPurpose, { prefix: string; lifetime_ms: number }>

export type ProofParts = {
  db: Db
  feed: InvalidationFeed
  clock: Clock
  limits: RateLimits
  /** Wakes the sender in this process, if there is one. */
  wakeMailSender: () => void
}

export async function requestVerification(
  parts: ProofParts,
  account_id: string,
): Promise<{ already_verified: boolean }> {
  const account = await requireAccount(parts.db, account_id)
  if (account.email_verified_at) return { already_verified: true }
  await parts.limits.require('verification', account_id)
  await queueMail(parts, emailKey(account.email), 'verify_email')
  return { already_verified: false }
}

/** Never says whether the address is known, nor that it has had its share of mail. */
export async function requestReset(parts: ProofParts, email: string): Promise<void> {
  const key = emailKey(email)
  const slot = await parts.limits.take('verification', `reset:${key}`)
  if (slot.allowed) await queueMail(parts, key, 'reset_password')
}

export async function verifyEmail(parts: ProofParts, token: string): Promise<void> {
  const now = parts.clock.now()
  await parts.db.transaction(async (tx) => {
    const proof = await takeProof(tx, { token, purpose: 'verify_email', now })
    await markEmailVerified(tx, { ...proof, at: now })
  })
}

export async function resetPassword(
  parts: ProofParts,
  given: { token: string; new_password: string },
): Promise<void> {
  // Checked first, so that a password that is too short does not use up the link.
  requireStrongPassword(given.new_password, 'new_password')
  const now = parts.clock.now()
  // A token that is junk must not cost a turn at hashing; the good one is used up below, with what it is used for.
  const known = await peekMailToken(parts.db, digestSecret(given.token), 'reset_password')
  if (!known || known.expires_at <= now) throw spentLink('reset_password')
  const password_hash = await hashPassword(given.new_password)
  await parts.db.transaction(async (tx) => {
    const proof = await takeProof(tx, { token: given.token, purpose: 'reset_password', now })
    await updatePassword(tx, proof.account_id, password_hash)
    // Older links must not outlive the password they were asked for.
    await deleteMailTokens(tx, proof.account_id, 'reset_password')
    await markEmailVerified(tx, { ...proof, at: now })
    await closeSessions(parts.feed, tx, { account_id: proof.account_id, except_id: null })
  })
}

/** Makes the token of one mail; called by the sender, right before it is sent. */
export async function issueProof(
  db: Db,
  mail: { account_id: string; email: string; purpose: ProofPurpose },
  now: Date,
): Promise<string> {
  const { prefix, lifetime_ms } = MAIL_TOKENS[mail.purpose]
  const token = mintSecret(prefix)
  await insertMailToken(db, {
    ...mail,
    token_digest: digestSecret(token),
    created_at: now,
    expires_at: new Date(now.getTime() + lifetime_ms),
  })
  return token
}

async function queueMail(
  parts: ProofParts,
  email_key: string,
  purpose: ProofPurpose,
): Promise<void> {
  const at = parts.clock.now()
  await queueMailToEmail(parts.db, { id: mintId({ at }), email_key, purpose, at })
  parts.wakeMailSender()
}

async function takeProof(tx: Tx, given: { token: string; purpose: ProofPurpose; now: Date }) {
  const proof = await takeMailToken(tx, digestSecret(given.token), given.purpose)
  if (proof && proof.expires_at > given.now) return proof
  throw spentLink(given.purpose)
}

function spentLink(purpose: ProofPurpose): ApiError {
  return new ApiError('invalid_request', {
    message: 'The link was used before or is too old.',
    param: 'token',
    hint:
      purpose === 'verify_email'
        ? 'Ask for a new mail with POST /auth/send-verification.'
        : 'Ask for a new mail with POST /auth/forgot-password.',
  })
}
