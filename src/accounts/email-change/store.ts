// SQL of changes of address.

import { type Queryable, statement, type Tx } from '../../platform/db.ts'

export type EmailChangeRow = {
  account_id: string
  old_email: string
  new_email: string
  expires_at: Date
  old_confirmed_at: Date | null
  new_confirmed_at: Date | null
}

const REPLACE_EMAIL_CHANGE = statement<object>(
  'accounts.replace_email_change',
  `insert into email_change (account_id, old_email, new_email, asked_at, expires_at)
   values ($1::uuid, $2::text, $3::text, $4::timestamptz, $5::timestamptz)
   on conflict (account_id) do update
   set old_email = excluded.old_email, new_email = excluded.new_email, asked_at = excluded.asked_at,
       expires_at = excluded.expires_at, old_confirmed_at = null, new_confirmed_at = null`,
)

const QUEUE_MAIL_TO_ADDRESS = statement<object>(
  'accounts.queue_mail_to_address',
  `insert into mail_outbox (id, account_id, purpose, to_email, created_at, next_attempt_at)
   values ($1::uuid, $2::uuid, $3::text, $4::text, $5::timestamptz, $5::timestamptz)`,
)

const FIND_EMAIL_CHANGE = statement<EmailChangeRow>(
  'accounts.find_email_change',
  `select account_id, old_email, new_email, expires_at, old_confirmed_at, new_confirmed_at
   from email_change
   where account_id = $1::uuid`,
)

const CONFIRM_EMAIL_CHANGE = statement<object>(
  'accounts.confirm_email_change',
  `update email_change
   set old_confirmed_at = case when $2::boolean then old_confirmed_at else $3::timestamptz end,
       new_confirmed_at = case when $2::boolean then $3::timestamptz else new_confirmed_at end
   where account_id = $1::uuid`,
)

const DELETE_EMAIL_CHANGE = statement<object>(
  'accounts.delete_email_change',
  `delete from email_change
   where account_id = $1::uuid`,
)

const DELETE_EXPIRED_EMAIL_CHANGES = statement<object>(
  'accounts.delete_expired_email_changes',
  `delete from email_change
   where account_id in (
     select account_id from email_change where expires_at < $1::timestamptz limit 5000
   )`,
)

const SET_EMAIL = statement<object>(
  'accounts.set_email',
  `update account
   set email = $2::text, email_key = $3::text, email_verified_at = $4::timestamptz
   where id = $1::uuid`,
)

/** A new request takes the place of the one before. */
export async function replaceEmailChange(
  tx: Tx,
  change: {
    account_id: string
    old_email: string
    new_email: string
    asked_at: Date
    expires_at: Date
  },
): Promise<void> {
  const { account_id, old_email, new_email, asked_at, expires_at } = change
  await tx.run(REPLACE_EMAIL_CHANGE, [account_id, old_email, new_email, asked_at, expires_at])
}

export async function queueMailToAddress(
  tx: Tx,
  mail: {
    id: string
    account_id: string
    purpose: 'change_email_from' | 'change_email_to'
    to_email: string
    at: Date
  },
): Promise<void> {
  const { id, account_id, purpose, to_email, at } = mail
  await tx.run(QUEUE_MAIL_TO_ADDRESS, [id, account_id, purpose, to_email, at])
}

export async function findEmailChange(
  db: Queryable,
  account_id: string,
): Promise<EmailChangeRow | undefined> {
  return (await db.run(FIND_EMAIL_CHANGE, [account_id]))[0]
}

export async function confirmEmailChange(
  tx: Tx,
  account_id: string,
  confirmed: { is_new: boolean; at: Date },
): Promise<void> {
  await tx.run(CONFIRM_EMAIL_CHANGE, [account_id, confirmed.is_new, confirmed.at])
}

export async function deleteEmailChange(tx: Tx, account_id: string): Promise<void> {
  await tx.run(DELETE_EMAIL_CHANGE, [account_id])
}

/** Both addresses have agreed, so the new one is verified. */
export async function setEmail(
  tx: Tx,
  change: { account_id: string; email: string; email_key: string; at: Date },
): Promise<void> {
  await tx.run(SET_EMAIL, [change.account_id, change.email, change.email_key, change.at])
}

export async function deleteExpiredEmailChanges(db: Queryable, now: Date): Promise<void> {
  await db.run(DELETE_EXPIRED_EMAIL_CHANGES, [now])
}
