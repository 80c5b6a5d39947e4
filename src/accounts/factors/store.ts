// SQL of second factors: the factors, the recovery codes, and the questions that are open.

import { type Queryable, statement, type Tx } from '../../platform/db.ts'

export type FactorKind = 'totp' | 'passkey'

export type FactorRow = {
  id: string
  kind: FactorKind
  name: string
  created_at: Date
  last_used_at: Date | null
}

export type TotpRow = { id: string; sealed_secret: string; last_step: bigint }

export type PasskeyRow = {
  id: string
  credential_id: string
  public_key: Buffer
  sign_count: bigint
  transports: string[]
}

export type ChallengePurpose = 'sign_in' | 'step_up' | 'add_passkey' | 'add_totp'

export type ChallengeRow = {
  id: string
  account_id: string
  challenge: string
  sealed_secret: string | null
  password_hash: string | null
  wrong_answers: number
  expires_at: Date
}

const LIST_FACTORS = statement<FactorRow>(
  'accounts.list_factors',
  `select id, kind, name, created_at, last_used_at
   from factor
   where account_id = $1::uuid
   order by id`,
)

// Whoever adds or removes a factor waits here for the other who does: the first factor and the last one are special.
const LOCK_OWNER = statement<{ email: string }>(
  'accounts.lock_factor_owner',
  `select email
   from account
   where id = $1::uuid
   for no key update`,
)

const FIND_TOTP = statement<TotpRow>(
  'accounts.find_totp',
  `select id, sealed_secret, last_step
   from factor
   where account_id = $1::uuid
     and kind = 'totp'`,
)

const LIST_PASSKEYS = statement<PasskeyRow>(
  'accounts.list_passkeys',
  `select id, credential_id, public_key, sign_count, transports
   from factor
   where account_id = $1::uuid
     and kind = 'passkey'
   order by id`,
)

const INSERT_TOTP = statement<object>(
  'accounts.insert_totp',
  `insert into factor (id, account_id, kind, name, created_at, sealed_secret, last_step)
   values ($1::uuid, $2::uuid, 'totp', $3::text, $4::timestamptz, $5::text, $6::bigint)`,
)

const INSERT_PASSKEY = statement<object>(
  'accounts.insert_passkey',
  `insert into factor (id, account_id, kind, name, created_at, credential_id, public_key, sign_count, transports)
   values ($1::uuid, $2::uuid, 'passkey', $3::text, $4::timestamptz, $5::text, $6::bytea, $7::bigint, $8::text[])`,
)

// Of two that show one code at once, one moves the step.
const USE_TOTP_STEP = statement<{ id: string }>(
  'accounts.use_totp_step',
  `update factor
   set last_step = $2::bigint,
       last_used_at = $3::timestamptz
   where id = $1::uuid
     and last_step < $2::bigint
   returning id`,
)

const COUNT_SIGNATURE = statement<object>(
  'accounts.count_signature',
  `update factor
   set sign_count = $2::bigint,
       last_used_at = $3::timestamptz
   where id = $1::uuid`,
)

const DELETE_FACTOR = statement<{ kind: FactorKind; name: string }>(
  'accounts.delete_factor',
  `delete from factor
   where id = $1::uuid
     and account_id = $2::uuid
   returning kind, name`,
)

const LIST_SEALED = statement<{ id: string; sealed_secret: string }>(
  'accounts.list_totp_secrets',
  `select id, sealed_secret
   from factor
   where id > $1::uuid
     and kind = 'totp'
   order by id
   limit $2::integer`,
)

const REPLACE_SEALED = statement<object>(
  'accounts.replace_totp_secret',
  `update factor
   set sealed_secret = $3::text
   where id = $1::uuid
     and sealed_secret = $2::text`,
)

const INSERT_RECOVERY_CODES = statement<object>(
  'accounts.insert_recovery_codes',
  `insert into recovery_code (account_id, code_digest, created_at)
   select $1::uuid, code_digest, $3::timestamptz
   from unnest($2::bytea[]) as code_digest`,
)

const DELETE_RECOVERY_CODES = statement<object>(
  'accounts.delete_recovery_codes',
  `delete from recovery_code
   where account_id = $1::uuid`,
)

// The delete is the use: of two that race, one gets the row.
const USE_RECOVERY_CODE = statement<{ account_id: string }>(
  'accounts.use_recovery_code',
  `delete from recovery_code
   where account_id = $1::uuid
     and code_digest = $2::bytea
   returning account_id`,
)

const COUNT_RECOVERY_CODES = statement<{ left: number }>(
  'accounts.count_recovery_codes',
  `select count(*)::integer as left
   from recovery_code
   where account_id = $1::uuid`,
)

const INSERT_CHALLENGE = statement<object>(
  'accounts.insert_factor_challenge',
  `insert into factor_challenge
     (id, token_digest, account_id, session_id, purpose, challenge, sealed_secret, password_hash, created_at, expires_at)
   values ($1::uuid, $2::bytea, $3::uuid, $4::uuid, $5::text, $6::text, $7::text, $8::text, $9::timestamptz,
     $10::timestamptz)`,
)

// The question that this session asked before, and the oldest of too many.
const DELETE_CHALLENGES = statement<object>(
  'accounts.delete_factor_challenges',
  `delete from factor_challenge
   where account_id = $1::uuid
     and purpose = $2::text
     and (
       session_id = $3::uuid
       or id in (
         select id
         from factor_challenge
         where account_id = $1::uuid
           and purpose = $2::text
         order by id desc
         offset $4::integer
       )
     )`,
)

const CHALLENGE_FIELDS =
  'id, account_id, challenge, sealed_secret, password_hash, wrong_answers, expires_at'

const FIND_SIGN_IN = statement<ChallengeRow>(
  'accounts.find_sign_in_challenge',
  `select ${CHALLENGE_FIELDS}
   from factor_challenge
   where token_digest = $1::bytea`,
)

const LOCK_SIGN_IN = statement<ChallengeRow>(
  'accounts.lock_sign_in_challenge',
  `select ${CHALLENGE_FIELDS}
   from factor_challenge
   where token_digest = $1::bytea
   for update`,
)

const LOCK_CHALLENGE = statement<ChallengeRow>(
  'accounts.lock_factor_challenge',
  `select ${CHALLENGE_FIELDS}
   from factor_challenge
   where account_id = $1::uuid
     and session_id = $2::uuid
     and purpose = $3::text
   order by id desc
   limit 1
   for update`,
)

const COUNT_WRONG_ANSWER = statement<object>(
  'accounts.count_wrong_answer',
  `update factor_challenge
   set wrong_answers = wrong_answers + 1
   where id = $1::uuid`,
)

const DELETE_CHALLENGE = statement<object>(
  'accounts.delete_factor_challenge',
  `delete from factor_challenge
   where id = $1::uuid`,
)

const DELETE_EXPIRED_CHALLENGES = statement<object>(
  'accounts.delete_expired_challenges',
  `delete from factor_challenge
   where id in (
     select id from factor_challenge where expires_at < $1::timestamptz limit 5000
   )`,
)

const PROVE_SESSION = statement<{ id: string }>(
  'accounts.prove_session',
  `update session
   set proved_at = $2::timestamptz
   where id = $1::uuid
   returning id`,
)

const DELETE_FACTORS_OF_ACCOUNT = statement<object>(
  'accounts.delete_factors_of_account',
  `with factors as (
     delete from factor where account_id = $1::uuid
   ), codes as (
     delete from recovery_code where account_id = $1::uuid
   )
   delete from factor_challenge where account_id = $1::uuid`,
)

// Codes of before stay only with a factor of before: they belong to it.
const DELETE_FACTORS_SINCE = statement<{ count: number }>(
  'accounts.delete_factors_since',
  `with factors as (
     delete from factor where account_id = $1::uuid and created_at >= $2::timestamptz
     returning id
   ), codes as (
     delete from recovery_code
     where account_id = $1::uuid
       and (
         created_at >= $2::timestamptz
         or not exists (
           select from factor where account_id = $1::uuid and created_at < $2::timestamptz
         )
       )
   ), challenges as (
     delete from factor_challenge where account_id = $1::uuid
   )
   select count(*)::integer as count from factors`,
)

export async function listFactorRows(db: Queryable, account_id: string): Promise<FactorRow[]> {
  return await db.run(LIST_FACTORS, [account_id])
}

/** The address of the owner, whose factors nobody else changes until the transaction ends. */
export async function lockOwner(tx: Tx, account_id: string): Promise<string | undefined> {
  return (await tx.run(LOCK_OWNER, [account_id]))[0]?.email
}

export async function findTotp(db: Queryable, account_id: string): Promise<TotpRow | undefined> {
  return (await db.run(FIND_TOTP, [account_id]))[0]
}

export async function listPasskeys(db: Queryable, account_id: string): Promise<PasskeyRow[]> {
  return await db.run(LIST_PASSKEYS, [account_id])
}

export type NewFactor = { id: string; account_id: string; name: string; created_at: Date }

export async function insertTotp(
  tx: Tx,
  row: NewFactor & { sealed_secret: string; last_step: bigint },
): Promise<void> {
  const { id, account_id, name, created_at, sealed_secret, last_step } = row
  await tx.run(INSERT_TOTP, [id, account_id, name, created_at, sealed_secret, last_step])
}

export async function insertPasskey(
  tx: Tx,
  row: NewFactor & Omit<PasskeyRow, 'id'>,
): Promise<void> {
  const { id, account_id, name, created_at, credential_id, public_key, sign_count } = row
  const key = [credential_id, public_key, sign_count, row.transports]
  await tx.run(INSERT_PASSKEY, [id, account_id, name, created_at, ...key])
}

/** False if a code of this step, or a later one, was used before. */
export async function useTotpStep(
  tx: Tx,
  use: { id: string; step: bigint; at: Date },
): Promise<boolean> {
  return (await tx.run(USE_TOTP_STEP, [use.id, use.step, use.at])).length > 0
}

export async function countSignature(
  tx: Tx,
  use: { id: string; sign_count: bigint; at: Date },
): Promise<void> {
  await tx.run(COUNT_SIGNATURE, [use.id, use.sign_count, use.at])
}

export async function deleteFactor(tx: Tx, owned: { id: string; account_id: string }) {
  return (await tx.run(DELETE_FACTOR, [owned.id, owned.account_id]))[0]
}

/** Also the recovery codes and whatever waits for an answer. */
export async function deleteFactorsOfAccount(tx: Tx, account_id: string): Promise<void> {
  await tx.run(DELETE_FACTORS_OF_ACCOUNT, [account_id])
}

/** Answers how many there were. */
export async function deleteFactorsSince(tx: Tx, account_id: string, at: Date): Promise<number> {
  return (await tx.run(DELETE_FACTORS_SINCE, [account_id, at]))[0]?.count ?? 0
}

export async function listTotpSecrets(db: Queryable, page: { after_id: string; count: number }) {
  return await db.run(LIST_SEALED, [page.after_id, page.count])
}

export async function replaceTotpSecret(
  db: Queryable,
  change: { id: string; sealed: string; resealed: string },
): Promise<void> {
  await db.run(REPLACE_SEALED, [change.id, change.sealed, change.resealed])
}

/** The codes of before are good no more. */
export async function replaceRecoveryCodes(
  tx: Tx,
  codes: { account_id: string; digests: readonly Buffer[]; at: Date },
): Promise<void> {
  await tx.run(DELETE_RECOVERY_CODES, [codes.account_id])
  if (codes.digests.length === 0) return
  await tx.run(INSERT_RECOVERY_CODES, [codes.account_id, codes.digests, codes.at])
}

export async function takeRecoveryCode(
  tx: Tx,
  account_id: string,
  digest: Buffer,
): Promise<boolean> {
  return (await tx.run(USE_RECOVERY_CODE, [account_id, digest])).length > 0
}

export async function countRecoveryCodes(db: Queryable, account_id: string): Promise<number> {
  return (await db.run(COUNT_RECOVERY_CODES, [account_id]))[0]?.left ?? 0
}

export type NewChallenge = {
  id: string
  token_digest: Buffer | null
  account_id: string
  session_id: string | null
  purpose: ChallengePurpose
  challenge: string
  sealed_secret: string | null
  password_hash: string | null
  created_at: Date
  expires_at: Date
}

/** Keeps at most `open_max` of the account for one purpose, and one of a session. */
export async function replaceChallenge(tx: Tx, row: NewChallenge, open_max: number): Promise<void> {
  const { account_id, session_id, purpose } = row
  await tx.run(DELETE_CHALLENGES, [account_id, purpose, session_id, open_max - 1])
  await tx.run(INSERT_CHALLENGE, [
    row.id,
    row.token_digest,
    account_id,
    session_id,
    purpose,
    row.challenge,
    row.sealed_secret,
    row.password_hash,
    row.created_at,
    row.expires_at,
  ])
}

export async function findSignIn(db: Queryable, token_digest: Buffer) {
  return (await db.run(FIND_SIGN_IN, [token_digest]))[0]
}

export async function lockSignIn(tx: Tx, token_digest: Buffer) {
  return (await tx.run(LOCK_SIGN_IN, [token_digest]))[0]
}

export async function lockChallenge(
  tx: Tx,
  asker: { account_id: string; session_id: string; purpose: ChallengePurpose },
) {
  return (await tx.run(LOCK_CHALLENGE, [asker.account_id, asker.session_id, asker.purpose]))[0]
}

export async function countWrongAnswer(tx: Tx, id: string): Promise<void> {
  await tx.run(COUNT_WRONG_ANSWER, [id])
}

export async function deleteChallenge(tx: Tx, id: string): Promise<void> {
  await tx.run(DELETE_CHALLENGE, [id])
}

export async function deleteExpiredChallenges(db: Queryable, now: Date): Promise<void> {
  await db.run(DELETE_EXPIRED_CHALLENGES, [now])
}

/** False if the session has ended meanwhile. */
export async function proveSession(tx: Tx, session_id: string, at: Date): Promise<boolean> {
  return (await tx.run(PROVE_SESSION, [session_id, at])).length > 0
}
