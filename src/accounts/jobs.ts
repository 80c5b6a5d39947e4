// Background work of accounts: sends queued mail, deletes what has expired.

import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import { trimInvalidations } from '../platform/invalidation.ts'
import type { Log } from '../platform/log.ts'
import type { Mail, Mailer } from '../platform/mail.ts'
import type { Job } from '../platform/worker.ts'
import { deleteExpiredEmailChanges } from './email-change/store.ts'
import { issueProof } from './mail-proofs.ts'
import { composeMail, composeNotice } from './mails.ts'
import { composeAlert } from './security-log/alerts.ts'
import { issueNotMe } from './security-log/not-me.ts'
import { claimMail, deleteExpired, deleteMail, type MailPurpose, postponeMail } from './store.ts'

const MINUTE_MS = 60_000
/** Longer than any attempt takes, so that two senders never hold one mail. */
const LEASE_MS = 2 * MINUTE_MS
const MAILS_PER_RUN = 100
const RETRY_AFTER_MS = [MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 120 * MINUTE_MS]
const INVALIDATION_KEPT_MS = 60 * MINUTE_MS

export const SEND_MAIL_JOB = 'accounts.send_mail'

export type AccountJobParts = {
  db: Db
  clock: Clock
  log: Log
  mailer: Mailer
  public_url: string
  onMail: (purpose: MailPurpose, outcome: 'sent' | 'failed' | 'dropped') => void
}

export function accountJobs(parts: AccountJobParts): Job[] {
  return [
    { name: SEND_MAIL_JOB, every_ms: 2_000, run: (signal) => sendMails(parts, signal) },
    {
      name: 'accounts.delete_expired',
      every_ms: 10 * MINUTE_MS,
      run: async () => {
        const now = parts.clock.now()
        await deleteExpired(parts.db, now)
        await deleteExpiredEmailChanges(parts.db, now)
        await trimInvalidations(parts.db, new Date(now.getTime() - INVALIDATION_KEPT_MS))
      },
    },
  ]
}

type ClaimedMail = Awaited<ReturnType<typeof claimMail>>[number]

async function sendMails(parts: AccountJobParts, signal: AbortSignal): Promise<void> {
  // One at a time, so that a lease covers one attempt, however slow the mail server is.
  for (let sent = 0; sent < MAILS_PER_RUN && !signal.aborted; sent++) {
    const now = parts.clock.now()
    const [mail] = await claimMail(parts.db, now, new Date(now.getTime() + LEASE_MS))
    if (!mail) return
    await sendMail(parts, mail)
  }
}

async function sendMail(parts: AccountJobParts, mail: ClaimedMail): Promise<void> {
  const { purpose } = mail
  try {
    const composed = await compose(parts, mail)
    if (!composed) return
    const { kept_in } = await parts.mailer.send(composed)
    await deleteMail(parts.db, mail.id)
    parts.onMail(purpose, 'sent')
    if (kept_in !== undefined)
      parts.log.info({ kept_in, purpose }, 'no SMTP_URL: the mail is kept in a file')
  } catch (error) {
    await retryOrDrop(parts, mail, error)
  }
}

/** Undefined: it was called off meanwhile, and is in the queue no more. */
async function compose(parts: AccountJobParts, mail: ClaimedMail): Promise<Mail | undefined> {
  const { id, account_id, email, purpose, subject, words, created_at } = mail
  if (purpose === 'notice') {
    return composeNotice({ to: email, subject: subject ?? '', words: words ?? '' })
  }
  if (purpose === 'security_alert') {
    const about_event = { account_id, email, happened_at: created_at }
    const token = await issueNotMe(parts.db, about_event, parts.clock.now())
    const about = { subject: subject ?? '', words: words ?? '' }
    return composeAlert({ to: email, ...about, token, public_url: parts.public_url })
  }
  const token = await issueProof(parts.db, { id, email, purpose }, parts.clock.now())
  if (token === undefined) return undefined
  return composeMail({ to: email, purpose, token, public_url: parts.public_url })
}

async function retryOrDrop(
  parts: AccountJobParts,
  mail: ClaimedMail,
  error: unknown,
): Promise<void> {
  const wait_ms = RETRY_AFTER_MS[mail.attempts - 1]
  const fields = {
    account_id: mail.account_id,
    purpose: mail.purpose,
    attempts: mail.attempts,
    err: error,
  }
  if (wait_ms === undefined) {
    await deleteMail(parts.db, mail.id)
    parts.onMail(mail.purpose, 'dropped')
    parts.log.error(fields, 'mail dropped')
  } else {
    await postponeMail(parts.db, mail.id, new Date(parts.clock.now().getTime() + wait_ms))
    parts.onMail(mail.purpose, 'failed')
    parts.log.warn(fields, 'mail failed, will be tried again')
  }
}
