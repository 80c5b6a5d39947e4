// “This was not me”: the link in the mail about an event leads to a button that ends every session and API key of the
// account and sends a mail to set a new password. The link alone changes nothing, because scanners follow links.

import type { Clock } from '../../platform/clock.ts'
import type { Db, Tx } from '../../platform/db.ts'
import { ApiError } from '../../platform/errors.ts'
import type { InvalidationFeed } from '../../platform/invalidation.ts'
import type { Log } from '../../platform/log.ts'
import { digestSecret, mintId, mintSecret } from '../../platform/tokens.ts'
import type { Client } from '../client.ts'
import { closeSessions } from '../sessions.ts'
import { findAccount, insertMailToken, queueMailOfAccount, takeMailToken } from '../store.ts'
import { recordSecurityEvent } from './security-log.ts'

const PREFIX = 'svc_notme_'
const LIFETIME_MS = 7 * 24 * 60 * 60 * 1000

export type NotMeParts = {
  db: Db
  feed: InvalidationFeed
  clock: Clock
  log: Log
  /** Keys are another domain's: handed in by app.ts. Answers how many there were. */
  endKeysOfAccount: (feed: InvalidationFeed, tx: Tx, account_id: string) => Promise<number>
  wakeMailSender: () => void
}

/** Makes the token of one mail; called by the sender, right before it is sent. */
export async function issueNotMe(
  db: Db,
  mail: { account_id: string; email: string },
  now: Date,
): Promise<string> {
  const token = mintSecret(PREFIX)
  await insertMailToken(db, {
    ...mail,
    purpose: 'security_alert',
    token_digest: digestSecret(token),
    created_at: now,
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
  const mail_sent = await parts.db.transaction(async (tx) => {
    const proof = await takeMailToken(tx, digestSecret(given.token), 'security_alert')
    if (!proof || proof.expires_at <= at) throw usedBefore()
    const { account_id } = proof
    const keys = await parts.endKeysOfAccount(parts.feed, tx, account_id)
    const sessions = await closeSessions(parts.feed, tx, { account_id, except_id: null })
    const account = await findAccount(tx, account_id)
    const is_theirs = account?.email === proof.email
    if (is_theirs) {
      await queueMailOfAccount(tx, {
        id: mintId({ at }),
        account_id,
        purpose: 'reset_password',
        at,
      })
    }
    await recordSecurityEvent(parts, tx, {
      account_id,
      kind: 'sessions_ended',
      at,
      client: given.client,
      details: { because: 'this was not me', sessions, keys },
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
