// SQL of links that travel by mail: made with their mail, looked at, called off.

import { type Queryable, statement, type Tx } from '../platform/db.ts'
import { ACCOUNT_COLUMNS, type AccountRow, type ProofPurpose, type ProofRow } from './store.ts'

const LOCK_ACCOUNT = statement<AccountRow>(
  'accounts.lock_account',
  `select ${ACCOUNT_COLUMNS}
   from account
   where id = $1::uuid
   for no key update`,
)

// The lock makes whoever calls the mail off wait for the token, and then delete it too.
const INSERT_TOKEN_OF_MAIL = statement<{ purpose: string }>(
  'accounts.insert_token_of_mail',
  `insert into mail_token (token_digest, account_id, purpose, email, created_at, expires_at)
   select $1::bytea, account_id, purpose, $3::text, $4::timestamptz, $5::timestamptz
   from (
     select account_id, purpose
     from mail_outbox
     where id = $2::uuid
     for share
   ) as mail
   returning purpose`,
)

const FIND_MAIL_TOKEN = statement<ProofRow>(
  'accounts.find_mail_token',
  `select account_id, email, created_at, expires_at
   from mail_token
   where token_digest = $1::bytea
     and purpose = $2::text`,
)

const DELETE_QUEUED_MAIL = statement<object>(
  'accounts.delete_queued_mail',
  `delete from mail_outbox
   where account_id = $1::uuid
     and purpose = any ($2::text[])`,
)

const DELETE_MAIL_TOKENS = statement<object>(
  'accounts.delete_mail_tokens',
  `delete from mail_token
   where account_id = $1::uuid
     and purpose = any ($2::text[])`,
)

/** Whoever changes an account, or what its mails prove, locks it before anything else of it. */
export async function lockAccount(tx: Tx, id: string): Promise<AccountRow | undefined> {
  return (await tx.run(LOCK_ACCOUNT, [id]))[0]
}

/** False if the mail was called off meanwhile. */
export async function insertTokenOfMail(
  db: Queryable,
  row: {
    token_digest: Buffer
    mail_id: string
    email: string
    created_at: Date
    expires_at: Date
  },
): Promise<boolean> {
  const { token_digest, mail_id, email, created_at, expires_at } = row
  const values = [token_digest, mail_id, email, created_at, expires_at]
  return (await db.run(INSERT_TOKEN_OF_MAIL, values)).length > 0
}

/** Uses nothing up. */
export async function findMailToken(
  db: Queryable,
  token_digest: Buffer,
  purpose: ProofPurpose | 'security_alert',
) {
  return (await db.run(FIND_MAIL_TOKEN, [token_digest, purpose]))[0]
}

/** Links that were mailed, and mail that waits to be sent with one: none of them is good any more. */
export async function callOffProofs(
  tx: Tx,
  account_id: string,
  purposes: readonly ProofPurpose[],
): Promise<void> {
  await tx.run(DELETE_QUEUED_MAIL, [account_id, purposes])
  await tx.run(DELETE_MAIL_TOKENS, [account_id, purposes])
}
