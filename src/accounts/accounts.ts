// Registration, login and the password: who somebody is, before any credential of theirs exists.

import { addressBucket } from '../http/address-bucket.ts'
import type { Db } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { InvalidationFeed } from '../platform/invalidation.ts'
import { violatedConstraint } from '../platform/sql-errors.ts'
import { mintId } from '../platform/tokens.ts'
import { openWallet, readBalance } from '../wallet/postings.ts'
import { hashPassword, needsRehash, requireStrongPassword, verifyPassword } from './passwords.ts'
import { type Client, closeSessions, openSession, type Session } from './sessions.ts'
import {
  type Attempt,
  type AttemptParts,
  beginAttempt,
  judgeAttempt,
  noteSignIn,
} from './sign-in/attempts.ts'
import { rememberDevice } from './sign-in/known-devices.ts'
import { requireRegistrationBudget } from './sign-in/registration-budget.ts'
import {
  type AccountRow,
  findAccount,
  findAccountByEmail,
  insertAccount,
  lockPassword,
  replacePassword,
} from './store.ts'

const EMAIL_LENGTH_MAX = 254
/** One @, something on both sides, nothing a mail header could be broken with. */
const EMAIL_PATTERN = /^[^\s@\p{Cc}<>"(),;:\\]+@[^\s@\p{Cc}<>"(),;:\\]+$/u

export type AccountParts = AttemptParts & {
  feed: InvalidationFeed
  welcome_credits: bigint
}

export type User = { id: string; email: string; balance: bigint }

/** `device_token`: for the cookie by which this device is known at its next sign-in. */
export type LoggedIn = OpenedSession & { user: User }

type OpenedSession = Session & { device_token: string }

export async function register(
  parts: AccountParts,
  given: { email: string; password: string; client: Client },
): Promise<LoggedIn> {
  const email = requireEmail(given.email)
  requireStrongPassword(given.password, 'password')
  // What costs little comes before what costs much.
  if (await findAccountByEmail(parts.db, emailKey(email))) throw new ApiError('email_exists')
  const { client } = given
  await requireRegistrationBudget(parts.limits, client.ip)
  const turn = { kind: 'register', caller: addressBucket(client.ip) } as const
  const password_hash = await hashPassword(given.password, turn)
  const now = parts.clock.now()
  const id = mintId({ at: now })
  try {
    return await parts.db.transaction(async (tx) => {
      await insertAccount(tx, {
        id,
        email,
        email_key: emailKey(email),
        password_hash,
        created_at: now,
      })
      const { balance } = await openWallet(tx, {
        account_id: id,
        welcome_credits: parts.welcome_credits,
        at: now,
      })
      const session = await openSession(tx, id, { client, now })
      const device_token = await rememberDevice(tx, { account_id: id, client, at: now })
      return { user: { id, email, balance }, ...session, device_token }
    })
  } catch (error) {
    if (violatedConstraint(error) === 'account_email_is_unique') throw new ApiError('email_exists')
    throw error
  }
}

export async function login(
  parts: AccountParts,
  given: { email: string; password: string; client: Client },
): Promise<LoggedIn> {
  const key = emailKey(given.email)
  const attempt = await beginAttempt(parts, { email_key: key, client: given.client })
  const account = await findAccountByEmail(parts.db, key)
  const is_right = await judgeAttempt(parts, attempt, account, () =>
    verifyPassword(given.password, account?.password_hash, attempt.turn),
  )
  if (!is_right || !account) throw new ApiError('invalid_credentials')
  const session = await openVerifiedSession(parts, account, { ...given, attempt })
  return { user: await describeUser(parts.db, account), ...session }
}

/** Only for the password that was verified: one that changed meanwhile has ended every session. */
async function openVerifiedSession(
  parts: AccountParts,
  account: AccountRow,
  given: { password: string; client: Client; attempt: Attempt },
): Promise<OpenedSession> {
  const { id, password_hash } = account
  const { attempt, client } = given
  const stronger = needsRehash(password_hash)
    ? await hashPassword(given.password, attempt.turn)
    : undefined
  return await parts.db.transaction(async (tx) => {
    const unchanged =
      stronger === undefined
        ? await lockPassword(tx, id, password_hash)
        : await replacePassword(tx, id, { verified_hash: password_hash, new_hash: stronger })
    if (!unchanged) throw new ApiError('invalid_credentials')
    const device_token = await noteSignIn(parts, tx, attempt, id)
    const session = await openSession(tx, id, { client, now: parts.clock.now() })
    return { ...session, device_token }
  })
}

export async function changePassword(
  parts: AccountParts,
  caller: { account_id: string; session_id: string },
  given: { current_password: string; new_password: string },
): Promise<void> {
  // Counted before anything is looked at: a wrong guess is what the limit is for.
  await parts.limits.require('password', caller.account_id)
  const account = await requireAccount(parts.db, caller.account_id)
  const turn = { kind: 'change', caller: account.id } as const
  if (!(await verifyPassword(given.current_password, account.password_hash, turn))) {
    throw new ApiError('invalid_credentials', { message: 'The current password is wrong.' })
  }
  requireStrongPassword(given.new_password, 'new_password')
  const password_hash = await hashPassword(given.new_password, turn)
  await parts.db.transaction(async (tx) => {
    const change = { verified_hash: account.password_hash, new_hash: password_hash }
    if (!(await replacePassword(tx, account.id, change))) throw new ApiError('invalid_credentials')
    await closeSessions(parts.feed, tx, {
      account_id: account.id,
      except_id: caller.session_id,
    })
  })
}

export async function readUser(db: Db, account_id: string): Promise<User> {
  return await describeUser(db, await requireAccount(db, account_id))
}

export async function findAccountOfEmail(db: Db, email: string): Promise<AccountRow | undefined> {
  return await findAccountByEmail(db, emailKey(email))
}

export async function requireAccount(db: Db, account_id: string): Promise<AccountRow> {
  const account = await findAccount(db, account_id)
  if (!account) throw new ApiError('user_not_found')
  return account
}

/** What two spellings of one address share. The length comes first: nothing is made of a text that is no address. */
export function emailKey(email: string): string {
  if (email.length > EMAIL_LENGTH_MAX) throw new ApiError('invalid_email', { param: 'email' })
  return email.trim().normalize('NFKC').toLowerCase()
}

function requireEmail(given: string): string {
  const email = given.trim()
  if (email.length > EMAIL_LENGTH_MAX || !EMAIL_PATTERN.test(email))
    throw new ApiError('invalid_email', { param: 'email' })
  return email
}

async function describeUser(db: Db, account: AccountRow): Promise<User> {
  const wallet = await readBalance(db, account.id)
  return { id: account.id, email: account.email, balance: wallet?.balance ?? 0n }
}
