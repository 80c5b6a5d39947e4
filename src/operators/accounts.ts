// What operators do to accounts, named by their address or id. Each act and its record are one transaction.

import { findAccountOfEmail, findAccountOfId } from '../accounts/accounts.ts'
import { recordSecurityEvent } from '../accounts/security-log/security-log.ts'
import { closeSessions } from '../accounts/sessions.ts'
import { changeOperator, resumeAccount, suspendAccount } from '../accounts/suspension.ts'
import { endBrowserGrants } from '../oauth/ending.ts'
import type { GrantParts } from '../oauth/grants.ts'
import type { Queryable, Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { isUuid } from '../platform/tokens.ts'
import { type By, recordAct } from './acts.ts'
import { type AccountView, readAccountView } from './store.ts'

export type OperatorParts = GrantParts

export async function showAccount(
  { db, clock }: Pick<OperatorParts, 'db' | 'clock'>,
  account: string,
): Promise<AccountView> {
  const id = isUuid(account) ? account : (await requireAccount(db, account)).id
  return (await readAccountView(db, id, clock.now())) ?? unknownAccount(account)
}

/** False if it was suspended already. */
export async function suspend(
  parts: OperatorParts,
  account: string,
  by: By & { reason: string },
): Promise<boolean> {
  const act = { ...by, act: 'account suspend', account }
  return await actOnAccount(parts, act, (tx, account_id) =>
    suspendAccount(parts, tx, { account_id, reason: by.reason, at: parts.clock.now() }),
  )
}

/** False if it was not suspended. */
export async function resume(parts: OperatorParts, account: string, by: By): Promise<boolean> {
  const act = { ...by, act: 'account resume', account }
  return await actOnAccount(parts, act, (tx, account_id) =>
    resumeAccount(parts, tx, { account_id, at: parts.clock.now() }),
  )
}

/** And what apps in browsers were allowed, as when somebody signs out everywhere. Answers how many sessions there were. */
export async function endSessions(parts: OperatorParts, account: string, by: By): Promise<number> {
  const act = { ...by, act: 'account end-sessions', account }
  let sessions = 0
  await actOnAccount(parts, act, async (tx, account_id) => {
    sessions = await closeSessions(parts.feed, tx, { account_id, except_id: null })
    await endBrowserGrants(parts, tx, account_id)
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
  account: string,
  by: By & { is_operator: boolean },
): Promise<boolean> {
  const { is_operator, ...rest } = by
  const act = { ...rest, act: is_operator ? 'operator add' : 'operator remove', account }
  return await actOnAccount(parts, act, (tx, account_id) =>
    changeOperator(parts, tx, { account_id, is_operator }),
  )
}

/** Recorded only if something was done. */
async function actOnAccount(
  parts: OperatorParts,
  { account, ...act }: By & { act: string; account: string },
  work: (tx: Tx, account_id: string) => Promise<boolean>,
): Promise<boolean> {
  const { id: account_id, email: subject } = await requireAccount(parts.db, account)
  return await parts.db.transaction(async (tx) => {
    const done = await work(tx, account_id)
    if (done) await recordAct(parts.clock, tx, { ...act, subject, details: { account_id } })
    return done
  })
}

/** By its address or its id, which no address looks like. */
export async function requireAccount(
  db: Queryable,
  account: string,
): Promise<{ id: string; email: string }> {
  const found = isUuid(account)
    ? await findAccountOfId(db, account)
    : await findAccountOfEmail(db, account)
  return found ?? unknownAccount(account)
}

function unknownAccount(account: string): never {
  throw new ApiError('user_not_found', { message: `There is no account ${account}.` })
}
