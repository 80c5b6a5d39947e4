// “This was not me”: the link in the mail about an event leads to a button that ends every session, API key and consent of
// the account, its password, and second factors that came with the event or after it, and sends a mail to set a new
// password. The link alone changes nothing, because scanners follow links.

import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/db.ts'
import { ApiError } from '../../platform/errors.ts'
import type { InvalidationFeed } from '../../platform/invalidation.ts'
import type { Log } from '../../platform/log.ts'
import { digestSecret, mintId, mintSecret } from '../../platform/tokens.ts'
import type { Client } from '../client.ts'
import { deleteFactorsSince } from '../factors/store.ts'
import type { EndAccess } from '../mail-proofs.ts'
import { hashPassword } from '../passwords.ts'
import { callOffProofs, findMailToken, lockAccount } from '../proof-store.ts'
import { closeSessions } from '../sessions.ts'
import { insertMailToken, queueMailOfAccount, takeMailToken, updatePassword } from '../store.ts'
import { recordSecurityEvent } from './security-log.ts'
import { forgetPlaces } from './store.ts'

const PREFIX = 'svc_notme_'
const LIFETIME_MS = 7 * 24 * 60 * 60 * 1000

export type NotMeParts = {
  db: Db
  feed: InvalidationFeed
  clock: Clock
  log: Log
  endAccess: EndAccess
  wakeMailSender: () => void
}

/** Makes the token of one mail; called by the sender, right before it is sent. */
export async function issueNotMe(
  db: Db,
  mail: { account_id: string; email: string; happened_at: Date },
  now: Date,
): Promise<string> {
  const token = mintSecret(PREFIX)
  const { account_id, email, happened_at } = mail
  await insertMailToken(db, {
    account_id,
    email,
    purpose: 'security_alert',
    token_digest: digestSecret(token),
    // Of the event, not of the mail, which may come late: what was added since then may be a stranger's.
    created_at: happened_at,
    expires_at: new Date(now.getTime() + LIFETIME_MS),
  })
  return token
}

/** Answers whether the mail to set a new password is on its way: not to an address that came after the link. */
export async function endEverything(
  parts: NotMeParts,
  given: { token: string; client: Client },
): Promise<{ mail_sent: boolean }> {
  const at = parts.clock.now()
  const digest = digestSecret(given.token)
  // Before the hashing, which is dear: a made-up token must cost nothing.
  const found = await findMailToken(parts.db, digest, 'security_alert')
  if (!found || found.expires_at <= at) throw usedBefore()
  const { account_id } = found
  // Of a password that nobody knows.
  const password_hash = await hashPassword(mintSecret(''))
  const mail_sent = await parts.db.transaction(async (tx) => {
    // First of all: a sign-in or a new key that is under way comes before, and ends too, or after, and finds no session.
    const account = await lockAccount(tx, account_id)
    const proof = await takeMailToken(tx, digest, 'security_alert')
    if (!account || !proof) throw usedBefore()
    const sessions = await closeSessions(parts.feed, tx, { account_id, except_id: null })
    const { keys } = await parts.endAccess(tx, { account_id, also: [] })
    await callOffProofs(tx, account_id, ['change_email_from', 'change_email_to'])
    await forgetPlaces(tx, account_id)
    const is_theirs = account.email === proof.email
    let factors = 0
    if (is_theirs) {
      // With a stranger's second factor left in, the new password would not let the owner in.
      factors = await deleteFactorsSince(tx, account_id, proof.created_at)
      // Somebody else knows the old one, or may: with it they would be back before the mail is read.
      await updatePassword(tx, account_id, password_hash)
      const id = mintId({ at })
      await queueMailOfAccount(tx, { id, account_id, purpose: 'reset_password', at })
    }
    await recordSecurityEvent(parts, tx, {
      account_id,
      kind: 'sessions_ended',
      at,
      client: given.client,
      details: { because: 'this was not me', sessions, keys, factors },
    })
    return is_theirs
  })
  parts.wakeMailSender()
  return { mail_sent }
}

function usedBefore(): ApiError {
  return new ApiError('invalid_request', {
    message: 'The link was used before or is too old.',
    param: 'token',
    hint: 'DELETE /account/sessions ends the other sessions; POST /auth/forgot-password sends a mail to set a new password.',
  })
}
