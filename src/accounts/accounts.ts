// Registration, login and the password: who somebody is, before any credential of theirs exists.

import { addressBucket } from '../http/address-bucket.ts'
import type { Db, Queryable } from '../platform/db.ts'

import { ApiError } from '../platform/errors.ts'
import type { InvalidationFeed } from '../platform/invalidation.ts'
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
import {
  type Client,
  closeSessions,
  type EndBrowserGrants,
  openSession,
  type Session,
} from './sessions.ts'
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
  type CameFrom,
  findAccount,
  findAccountByEmail,
  insertAccount,
  lockPassword,
  replacePassword,
} from './store.ts'
import { requireNotSuspended } from './suspension.ts'

export type AccountParts = PasswordRules &
  SecondStepParts &
  AttemptParts & {
    feed: InvalidationFeed
    welcome_credits: bigint
    endBrowserGrants: EndBrowserGrants
  }

export type User = { id: string; email: string; balance: bigint }

/** `device_token`: for the cookie by which this device is known at its next sign-in. */
export type LoggedIn = OpenedSession & { user: User }

type OpenedSession = Session & { device_token: string }

export async function register(
  parts: AccountParts,
  given: { email: string; password: string; client: Client; came_from?: CameFrom },
): Promise<LoggedIn> {
  const email = requireEmail(given.email)
  requireStrongPassword(parts, given.password, { param: 'password', email })
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
        came_from: given.came_from ?? 'registration',
      })
      const { balance } = await openWallet(tx, {
        account_id: id,
        welcome_credits: parts.welcome_credits,
        at: now,
      })
      const session = await openSession(parts, tx, id, { client, now, registered: true })
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
  const { account, attempt } = await requireCredentials(parts, given)
  if (account.closes_at) throw closingRefusal(account.closes_at)
  const entered = await enter(parts, account, { ...given, attempt })
  if ('challenge_id' in entered) throw secondFactorRequired(entered)
  return { user: await describeUser(parts.db, account), ...entered }
}

/** The account of an address and its password. */
export async function requireCredentials(
  parts: AttemptParts,
  given: { email: string; password: string; client: Client },
): Promise<{ account: AccountRow; attempt: Attempt }> {
  const key = emailKey(given.email)
  const attempt = await beginAttempt(parts, { email_key: key, client: given.client })
  const account = await findAccountByEmail(parts.db, key)
  const is_right = await judgeAttempt(parts, attempt, account, () =>
    verifyPassword(given.password, account?.password_hash, attempt.turn),
  )
  if (!is_right || !account) throw new ApiError('invalid_credentials')
  // Only to who knows the password.
  requireNotSuspended(account)
  return { account, attempt }
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
  const { client } = given
  const { account_id, session } = await answerSecondStep(parts, given, async (tx, id) => {
    // Both may have come to be since the first step.
    const account = await requireAccount(tx, id)
    requireNotSuspended(account)
    if (account.closes_at) throw closingRefusal(account.closes_at)
    const now = parts.clock.now()
    const opened = await openSession(parts, tx, id, { client, now })
    const device_token = await noteSignIn(parts, tx, {
      account_id: id,
      email: account.email,
      client,
    })
    return { account_id: id, session: { ...opened, device_token } }
  })
  return { user: await readUser(parts.db, account_id), ...session }
}

/** Only for the password that was verified: one that changed meanwhile has ended every session. */
async function enter(
  parts: AccountParts,
  account: AccountRow,
  given: { password: string; client: Client; attempt: Attempt },
): Promise<OpenedSession | SecondStep> {
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
    const entrant = { account_id: id, password_hash: stronger ?? password_hash }
    const step = await askSecondStep(parts, tx, entrant)
    if (step) return step
    const device_token = await noteSignIn(parts, tx, {
      account_id: id,
      email: account.email,
      client,
    })
    const session = await openSession(parts, tx, id, { client, now: parts.clock.now() })
    return { ...session, device_token }
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
  const turn = { kind: 'change', caller: account.id } as const
  if (!(await verifyPassword(given.current_password, account.password_hash, turn))) {
    throw new ApiError('invalid_credentials', { message: 'The current password is wrong.' })
  }
  requireStrongPassword(parts, given.new_password, { param: 'new_password', email: account.email })
  const password_hash = await hashPassword(given.new_password, turn)
  await parts.db.transaction(async (tx) => {
    const change = { verified_hash: account.password_hash, new_hash: password_hash }
    if (!(await replacePassword(tx, account.id, change))) throw new ApiError('invalid_credentials')
    await callOffProofs(tx, account.id, ['reset_password'])
    await closeSessions(parts.feed, tx, {
      account_id: account.id,
      except_id: caller.session_id,
    })
    await parts.endBrowserGrants(tx, account.id)
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

export async function findAccountOfEmail(
  db: Queryable,
  email: string,
): Promise<AccountRow | undefined> {
  return await findAccountByEmail(db, emailKey(email))
}

export async function findAccountOfId(
  db: Queryable,
  account_id: string,
): Promise<AccountRow | undefined> {
  return await findAccount(db, account_id)
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
