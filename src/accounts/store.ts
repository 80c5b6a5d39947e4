// SQL of accounts, sessions and the mail they are owed.

import { type Queryable, statement, type Tx } from '../platform/db.ts'

export type AccountRow = {
  id: string
  email: string
  password_hash: string
  email_verified_at: Date | null
  created_at: Date
  /** When it is deleted, unless its owner comes back before. */
  closes_at: Date | null
  suspended_reason: string | null
}

export const ACCOUNT_COLUMNS =
  'id, email, password_hash, email_verified_at, created_at, closes_at, suspended_reason'

/** Mails with a link that proves something. */
export type ProofPurpose =
  | 'verify_email'
  | 'reset_password'
  | 'change_email_from'
  | 'change_email_to'
export type MailPurpose = ProofPurpose | 'security_alert' | 'notice'

/** What a link proves: that somebody reads the mail of this address. */
export type ProofRow = { account_id: string; email: string; created_at: Date; expires_at: Date }

/** By which way an account was made: by its owner's own wish, or on the way to an app that asked for consent. */
export type CameFrom = 'registration' | 'consent'

const INSERT_ACCOUNT = statement<object>(
  'accounts.insert_account',
  `insert into account (id, email, email_key, password_hash, created_at, came_from)
   values ($1::uuid, $2::text, $3::text, $4::text, $5::timestamptz, $6::text)`,
)

const FIND_ACCOUNT_BY_EMAIL = statement<AccountRow>(
  'accounts.find_account_by_email',
  `select ${ACCOUNT_COLUMNS}
   from account
   where email_key = $1::text`,
)

const FIND_ACCOUNT = statement<AccountRow>(
  'accounts.find_account',
  `select ${ACCOUNT_COLUMNS}
   from account
   where id = $1::uuid`,
)

const UPDATE_PASSWORD = statement<object>(
  'accounts.update_password',
  `update account
   set password_hash = $2::text
   where id = $1::uuid`,
)

// Of two that verified the same password, one replaces it.
const REPLACE_PASSWORD = statement<{ id: string }>(
  'accounts.replace_password',
  `update account
   set password_hash = $3::text
   where id = $1::uuid
     and password_hash = $2::text
     and closes_at is null
   returning id`,
)

// Waits for a change of the password that is under way, and then finds another hash; an account that its owner has
// given up opens no session.
const LOCK_PASSWORD = statement<{ id: string }>(
  'accounts.lock_password',
  `select id
   from account
   where id = $1::uuid
     and password_hash = $2::text
     and closes_at is null
   for share`,
)

const MARK_EMAIL_VERIFIED = statement<{ id: string }>(
  'accounts.mark_email_verified',
  `update account
   set email_verified_at = $3::timestamptz
   where id = $1::uuid
     and email = $2::text
     and email_verified_at is null
   returning id`,
)

const INSERT_SESSION = statement<object>(
  'accounts.insert_session',
  `insert into session (token_digest, id, account_id, created_at, proved_at, last_seen_at, expires_at, ip, user_agent)
   values ($1::bytea, $2::uuid, $3::uuid, $4::timestamptz, $4::timestamptz, $4::timestamptz, $5::timestamptz, $6::text,
     $7::text)`,
)

const FIND_SESSION = statement<{
  id: string
  account_id: string
  expires_at: Date
  proved_at: Date
  last_seen_at: Date
  suspended_reason: string | null
  has_second_factor: boolean
  is_operator: boolean
}>(
  'accounts.find_session',
  `select s.id, s.account_id, s.expires_at, s.proved_at, s.last_seen_at, a.suspended_reason, a.is_operator,
     exists (select from factor f where f.account_id = s.account_id) as has_second_factor
   from session s
   join account a on a.id = s.account_id
   where s.token_digest = $1::bytea`,
)

const FIND_OPEN_SESSION = statement<{ id: string }>(
  'accounts.find_open_session',
  `select id
   from session
   where id = $1::uuid
     and expires_at > $2::timestamptz`,
)

const DELETE_SESSION_BY_DIGEST = statement<{ id: string }>(
  'accounts.delete_session_by_digest',
  `delete from session
   where token_digest = $1::bytea
   returning id`,
)

const DELETE_SESSION = statement<{ id: string }>(
  'accounts.delete_session',
  `delete from session
   where id = $1::uuid
   returning id`,
)

const DELETE_SESSIONS = statement<{ id: string }>(
  'accounts.delete_sessions',
  `delete from session
   where account_id = $1::uuid
     and id is distinct from $2::uuid
   returning id`,
)

const DELETE_EXPIRED_SESSIONS = statement<{ id: string }>(
  'accounts.delete_expired_sessions',
  `delete from session
   where token_digest in (
     select token_digest from session where expires_at < $1::timestamptz limit 5000
   )
   returning id`,
)

const DELETE_EXPIRED_MAIL_TOKENS = statement<object>(
  'accounts.delete_expired_mail_tokens',
  `delete from mail_token
   where token_digest in (
     select token_digest from mail_token where expires_at < $1::timestamptz limit 5000
   )`,
)

// One statement whether or not the address is known, so that the time it takes tells nothing.
const QUEUE_MAIL_TO_EMAIL = statement<object>(
  'accounts.queue_mail_to_email',
  `insert into mail_outbox (id, account_id, purpose, created_at, next_attempt_at)
   select $1::uuid, account.id, $3::text, $4::timestamptz, $4::timestamptz
   from account
   where email_key = $2::text`,
)

const QUEUE_MAIL_OF_ACCOUNT = statement<object>(
  'accounts.queue_mail_of_account',
  `insert into mail_outbox (id, account_id, purpose, created_at, next_attempt_at)
   values ($1::uuid, $2::uuid, $3::text, $4::timestamptz, $4::timestamptz)`,
)

// Money may move for an account that is deleted: a refund, a payout. Nobody is there to be told.
const QUEUE_NOTICE = statement<{ id: string }>(
  'accounts.queue_notice',
  `insert into mail_outbox (id, account_id, purpose, subject, words, created_at, next_attempt_at)
   select $1::uuid, id, 'notice', $3::text, $4::text, $5::timestamptz, $5::timestamptz
   from account
   where id = $2::uuid
   returning id`,
)

// Claimed by moving the next attempt: a sender that dies leaves the row to be tried again.
const CLAIM_MAIL = statement<{
  id: string
  account_id: string
  email: string
  purpose: MailPurpose
  subject: string | null
  words: string | null
  created_at: Date
  attempts: number
}>(
  'accounts.claim_mail',
  `update mail_outbox
   set attempts = mail_outbox.attempts + 1,
       next_attempt_at = $2::timestamptz
   from account
   where account.id = mail_outbox.account_id
     and mail_outbox.id in (
       select id
       from mail_outbox
       where next_attempt_at <= $1::timestamptz
       order by next_attempt_at
       limit 1
       for update skip locked
     )
   returning mail_outbox.id, mail_outbox.account_id, coalesce(mail_outbox.to_email, account.email) as email,
     mail_outbox.purpose, mail_outbox.subject, mail_outbox.words, mail_outbox.created_at, mail_outbox.attempts`,
)

const POSTPONE_MAIL = statement<object>(
  'accounts.postpone_mail',
  `update mail_outbox
   set next_attempt_at = $2::timestamptz
   where id = $1::uuid`,
)

const DELETE_MAIL = statement<object>(
  'accounts.delete_mail',
  `delete from mail_outbox
   where id = $1::uuid`,
)

const INSERT_MAIL_TOKEN = statement<object>(
  'accounts.insert_mail_token',
  `insert into mail_token (token_digest, account_id, purpose, email, created_at, expires_at)
   values ($1::bytea, $2::uuid, $3::text, $4::text, $5::timestamptz, $6::timestamptz)`,
)

// The delete is the use: of two that race, one gets the row.
const TAKE_MAIL_TOKEN = statement<ProofRow>(
  'accounts.take_mail_token',
  `delete from mail_token
   where token_digest = $1::bytea
     and purpose = $2::text
   returning account_id, email, created_at, expires_at`,
)

export async function insertAccount(
  tx: Tx,
  row: {
    id: string
    email: string
    email_key: string
    password_hash: string
    created_at: Date
    came_from: CameFrom
  },
): Promise<void> {
  await tx.run(INSERT_ACCOUNT, [
    row.id,
    row.email,
    row.email_key,
    row.password_hash,
    row.created_at,
    row.came_from,
  ])
}

export async function findAccountByEmail(
  db: Queryable,
  email_key: string,
): Promise<AccountRow | undefined> {
  return (await db.run(FIND_ACCOUNT_BY_EMAIL, [email_key]))[0]
}

export async function findAccount(db: Queryable, id: string): Promise<AccountRow | undefined> {
  return (await db.run(FIND_ACCOUNT, [id]))[0]
}

/** False if the password is no longer the one that was verified. */
export async function replacePassword(
  tx: Tx,
  account_id: string,
  change: { verified_hash: string; new_hash: string },
): Promise<boolean> {
  const rows = await tx.run(REPLACE_PASSWORD, [account_id, change.verified_hash, change.new_hash])
  return rows.length > 0
}

/** Keeps the password as it was verified until the transaction ends; false if it has changed. */
export async function lockPassword(
  tx: Tx,
  account_id: string,
  verified_hash: string,
): Promise<boolean> {
  return (await tx.run(LOCK_PASSWORD, [account_id, verified_hash])).length > 0
}

export async function updatePassword(
  db: Queryable,
  account_id: string,
  password_hash: string,
): Promise<void> {
  await db.run(UPDATE_PASSWORD, [account_id, password_hash])
}

/** False if it was verified before, or is another address by now. */
export async function markEmailVerified(
  tx: Tx,
  proof: { account_id: string; email: string; at: Date },
): Promise<boolean> {
  const rows = await tx.run(MARK_EMAIL_VERIFIED, [proof.account_id, proof.email, proof.at])
  return rows.length > 0
}

export async function insertSession(
  db: Queryable,
  row: {
    token_digest: Buffer
    id: string
    account_id: string
    created_at: Date
    expires_at: Date
    ip: string
    user_agent: string | null
  },
): Promise<void> {
  await db.run(INSERT_SESSION, [
    row.token_digest,
    row.id,
    row.account_id,
    row.created_at,
    row.expires_at,
    row.ip,
    row.user_agent,
  ])
}

export async function findSession(db: Queryable, token_digest: Buffer) {
  return (await db.run(FIND_SESSION, [token_digest]))[0]
}

export async function hasOpenSession(db: Queryable, id: string, now: Date): Promise<boolean> {
  return (await db.run(FIND_OPEN_SESSION, [id, now])).length > 0
}

export async function deleteSessionByDigest(tx: Tx, token_digest: Buffer): Promise<string[]> {
  return (await tx.run(DELETE_SESSION_BY_DIGEST, [token_digest])).map((row) => row.id)
}

export async function deleteSession(tx: Tx, id: string): Promise<string[]> {
  return (await tx.run(DELETE_SESSION, [id])).map((row) => row.id)
}

/** Ends every session of the account but one. */
export async function deleteSessions(
  tx: Tx,
  account_id: string,
  except_id: string | null,
): Promise<string[]> {
  return (await tx.run(DELETE_SESSIONS, [account_id, except_id])).map((row) => row.id)
}

export async function deleteExpired(db: Queryable, now: Date): Promise<void> {
  await db.run(DELETE_EXPIRED_SESSIONS, [now])
  await db.run(DELETE_EXPIRED_MAIL_TOKENS, [now])
}

export async function insertNotice(
  tx: Tx,
  notice: { id: string; account_id: string; subject: string; words: string; at: Date },
): Promise<boolean> {
  const { id, account_id, subject, words, at } = notice
  return (await tx.run(QUEUE_NOTICE, [id, account_id, subject, words, at])).length > 0
}

export async function queueMailToEmail(
  db: Queryable,
  mail: { id: string; email_key: string; purpose: MailPurpose; at: Date },
): Promise<void> {
  await db.run(QUEUE_MAIL_TO_EMAIL, [mail.id, mail.email_key, mail.purpose, mail.at])
}

export async function queueMailOfAccount(
  tx: Tx,
  mail: { id: string; account_id: string; purpose: ProofPurpose; at: Date },
): Promise<void> {
  await tx.run(QUEUE_MAIL_OF_ACCOUNT, [mail.id, mail.account_id, mail.purpose, mail.at])
}

export async function claimMail(db: Queryable, now: Date, lease_until: Date) {
  return await db.run(CLAIM_MAIL, [now, lease_until])
}

export async function postponeMail(db: Queryable, id: string, until: Date): Promise<void> {
  await db.run(POSTPONE_MAIL, [id, until])
}

export async function deleteMail(db: Queryable, id: string): Promise<void> {
  await db.run(DELETE_MAIL, [id])
}

export async function insertMailToken(
  db: Queryable,
  row: {
    token_digest: Buffer
    account_id: string
    purpose: MailPurpose
    email: string
    created_at: Date
    expires_at: Date
  },
): Promise<void> {
  await db.run(INSERT_MAIL_TOKEN, [
    row.token_digest,
    row.account_id,
    row.purpose,
    row.email,
    row.created_at,
    row.expires_at,
  ])
}

export async function takeMailToken(tx: Tx, token_digest: Buffer, purpose: MailPurpose) {
  return (await tx.run(TAKE_MAIL_TOKEN, [token_digest, purpose]))[0]
}
