// Registration, login and the password: who somebody is, before any credential of theirs exists.

import type { RateLimits } from '../http/rate-limit.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db, Queryable } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { InvalidationFeed } from '../platform/invalidation.ts'
import type { Log } from '../platform/log.ts'
import { violatedConstraint } from '../platform/sql-errors.ts'
import { mintId } from '../platform/tokens.ts'
import { openWallet, readBalance } from '../wallet/postings.ts'
import { emailKey, requireEmail } from './email-address.ts'
import type { GivenProof } from './factors/proofs.ts'
import {
  answerSecondStep,
  askSecondStep,
  type SecondStep,
  type SecondStepParts,
  secondFactorRequired,
} from './factors/second-step.ts'
import { type PasswordRules, requireStrongPassword } from './password-policy.ts'
import { hashPassword, needsRehash, verifyPassword } from './passwords.ts'
import { callOffProofs } from './proof-store.ts'
import { recordSecurityEvent } from './security-log/security-log.ts'
import { type Client, closeSessions, openSession, type Session } from './sessions.ts'
import {
  type AccountRow,
  findAccount,
  findAccountByEmail,
  insertAccount,
  lockPassword,
  replacePassword,
} from './store.ts'
import { requireNotSuspended } from './suspension.ts'

export type AccountParts = PasswordRules &
  SecondStepParts & {
    db: Db
    feed: InvalidationFeed
    clock: Clock
    log: Log
    limits: RateLimits
    welcome_credits: bigint
  }

export type User = { id: string; email: string; balance: bigint }

export type LoggedIn = Session & { user: User }

export async function register(
  parts: AccountParts,
  given: { email: string; password: string; client: Client },
): Promise<LoggedIn> {
  const email = requireEmail(given.email)
  requireStrongPassword(parts, given.password, { param: 'password', email })
  const password_hash = await hashPassword(given.password)
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
      const session = await openSession(parts, tx, id, {
        client: given.client,
        now,
        registered: true,
      })
      return { user: { id, email, balance }, ...session }
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
  const account = await requireCredentials(parts, given)
  if (account.closes_at) throw closingRefusal(account.closes_at)
  const entered = await enter(parts, account, given)
  if ('challenge_id' in entered) throw secondFactorRequired(entered)
  return { user: await describeUser(parts.db, account), ...entered }
}

/** The account of an address and its password. */
export async function requireCredentials(
  parts: Pick<AccountParts, 'db' | 'limits'>,
  given: { email: string; password: string },
): Promise<AccountRow> {
  const key = emailKey(given.email)
  await parts.limits.require('login', `email:${key}`)
  const account = await findAccountByEmail(parts.db, key)
  if (!(await verifyPassword(given.password, account?.password_hash)) || !account) {
    throw new ApiError('invalid_credentials')
  }
  // Only to who knows the password.
  requireNotSuspended(account)
  return account
}

/** Coming back is a decision of its own: signing in by habit must not undo a deletion. */
function closingRefusal(closes_at: Date): ApiError {
  return new ApiError('forbidden', {
    message: `This account is to be deleted on ${closes_at.toISOString().slice(0, 10)}. Until then you can keep it.`,
    hint: 'Keep it at /account/restore, with address and password, then sign in.',
  })
}

/** The second step of a login whose account has a second factor. */
export async function finishLogin(
  parts: AccountParts,
  given: { challenge_id: string; proof: GivenProof; client: Client },
): Promise<LoggedIn> {
  const { account_id, session } = await answerSecondStep(parts, given, async (tx, id) => {
    // Both may have come to be since the first step.
    const account = await requireAccount(tx, id)
    requireNotSuspended(account)
    if (account.closes_at) throw closingRefusal(account.closes_at)
    const opened = await openSession(parts, tx, id, {
      client: given.client,
      now: parts.clock.now(),
    })
    return { account_id: id, session: opened }
  })
  return { user: await readUser(parts.db, account_id), ...session }
}

/** Only for the password that was verified: one that changed meanwhile has ended every session. */
async function enter(
  parts: AccountParts,
  account: AccountRow,
  given: { password: string; client: Client },
): Promise<Session | SecondStep> {
  const { id, password_hash } = account
  const stronger = needsRehash(password_hash) ? await hashPassword(given.password) : undefined
  return await parts.db.transaction(async (tx) => {
    const unchanged =
      stronger === undefined
        ? await lockPassword(tx, id, password_hash)
        : await replacePassword(tx, id, { verified_hash: password_hash, new_hash: stronger })
    if (!unchanged) throw new ApiError('invalid_credentials')
    const entrant = { account_id: id, password_hash: stronger ?? password_hash }
    const step = await askSecondStep(parts, tx, entrant)
    return (
      step ?? (await openSession(parts, tx, id, { client: given.client, now: parts.clock.now() }))
    )
  })
}

export async function changePassword(
  parts: AccountParts,
  caller: { account_id: string; session_id: string },
  given: { current_password: string; new_password: string; client: Client },
): Promise<void> {
  // Counted before anything is looked at: a wrong guess is what the limit is for.
  await parts.limits.require('password', caller.account_id)
  const account = await requireAccount(parts.db, caller.account_id)
  if (!(await verifyPassword(given.current_password, account.password_hash))) {
    throw new ApiError('invalid_credentials', { message: 'The current password is wrong.' })
  }
  requireStrongPassword(parts, given.new_password, { param: 'new_password', email: account.email })
  const password_hash = await hashPassword(given.new_password)
  await parts.db.transaction(async (tx) => {
    const change = { verified_hash: account.password_hash, new_hash: password_hash }
    if (!(await replacePassword(tx, account.id, change))) throw new ApiError('invalid_credentials')
    await callOffProofs(tx, account.id, ['reset_password'])
    await closeSessions(parts.feed, tx, {
      account_id: account.id,
      except_id: caller.session_id,
    })
    await recordSecurityEvent(parts, tx, {
      account_id: account.id,
      kind: 'password_changed',
      at: parts.clock.now(),
      client: given.client,
      session_id: caller.session_id,
    })
  })
}

/** Where a session alone is not enough. A wrong one uses up an attempt, as in `changePassword`. */
export async function requirePassword(
  parts: Pick<AccountParts, 'limits'>,
  account: AccountRow,
  password: string,
): Promise<void> {
  await parts.limits.require('password', account.id)
  if (await verifyPassword(password, account.password_hash)) return
  throw new ApiError('invalid_credentials', {
    message: 'The password is wrong.',
    param: 'password',
  })
}

export async function readUser(db: Db, account_id: string): Promise<User> {
  return await describeUser(db, await requireAccount(db, account_id))
}

export async function findAccountOfEmail(db: Db, email: string): Promise<AccountRow | undefined> {
  return await findAccountByEmail(db, emailKey(email))
}

export async function requireAccount(db: Queryable, account_id: string): Promise<AccountRow> {
  const account = await findAccount(db, account_id)
  if (!account) throw new ApiError('user_not_found')
  return account
}

async function describeUser(db: Db, account: AccountRow): Promise<User> {
  const wallet = await readBalance(db, account.id)
  return { id: account.id, email: account.email, balance: wallet?.balance ?? 0n }
}
