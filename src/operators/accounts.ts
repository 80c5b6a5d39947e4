// What operators do to accounts. Each act and its record are one transaction.

import { findAccountOfEmail } from '../accounts/accounts.ts'
import { recordSecurityEvent } from '../accounts/security-log/security-log.ts'
import { closeSessions } from '../accounts/sessions.ts'
import { changeOperator, resumeAccount, suspendAccount } from '../accounts/suspension.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { InvalidationFeed } from '../platform/invalidation.ts'
import type { Log } from '../platform/log.ts'
import { type Act, recordAct } from './acts.ts'
import { type AccountView, readAccountView } from './store.ts'

export type OperatorParts = { db: Db; feed: InvalidationFeed; clock: Clock; log: Log }

/** Who acts, and why. */
export type By = { who: string; reason?: string | undefined }

export async function showAccount(
  { db, clock }: Pick<OperatorParts, 'db' | 'clock'>,
  email: string,
): Promise<AccountView> {
  const view = await readAccountView(db, await accountIdOf(db, email), clock.now())
  return view ?? unknownAccount(email)
}

/** False if it was suspended already. */
export async function suspend(
  parts: OperatorParts,
  email: string,
  by: By & { reason: string },
): Promise<boolean> {
  const act = { ...by, act: 'account suspend', subject: email }
  return await actOnAccount(parts, act, (tx, account_id) =>
    suspendAccount(parts, tx, { account_id, reason: by.reason, at: parts.clock.now() }),
  )
}

/** False if it was not suspended. */
export async function resume(parts: OperatorParts, email: string, by: By): Promise<boolean> {
  const act = { ...by, act: 'account resume', subject: email }
  return await actOnAccount(parts, act, (tx, account_id) =>
    resumeAccount(parts, tx, { account_id, at: parts.clock.now() }),
  )
}

/** Answers how many there were. */
export async function endSessions(parts: OperatorParts, email: string, by: By): Promise<number> {
  const act = { ...by, act: 'account end-sessions', subject: email }
  let sessions = 0
  await actOnAccount(parts, act, async (tx, account_id) => {
    sessions = await closeSessions(parts.feed, tx, { account_id, except_id: null })
    const at = parts.clock.now()
    const details = { because: 'an operator ended them', sessions }
    await recordSecurityEvent(parts, tx, { account_id, kind: 'sessions_ended', at, details })
    return true
  })
  return sessions
}

/** False if it was so before. */
export async function setOperator(
  parts: OperatorParts,
  email: string,
  by: By & { is_operator: boolean },
): Promise<boolean> {
  const { is_operator, ...rest } = by
  const act = { ...rest, act: is_operator ? 'operator add' : 'operator remove', subject: email }
  return await actOnAccount(parts, act, (tx, account_id) =>
    changeOperator(tx, account_id, is_operator),
  )
}

/** Recorded only if something was done. */
async function actOnAccount(
  parts: OperatorParts,
  act: Act,
  work: (tx: Tx, account_id: string) => Promise<boolean>,
): Promise<boolean> {
  const account_id = await accountIdOf(parts.db, act.subject)
  return await parts.db.transaction(async (tx) => {
    const done = await work(tx, account_id)
    if (done) await recordAct(parts.clock, tx, { ...act, details: { account_id } })
    return done
  })
}

async function accountIdOf(db: Db, email: string): Promise<string> {
  return (await findAccountOfEmail(db, email))?.id ?? unknownAccount(email)
}

function unknownAccount(email: string): never {
  throw new ApiError('user_not_found', { message: `There is no account ${email}.` })
}
