// Leaving. An account that its owner gives up has no session, no key and no consent from that moment on; its apps serve
// their users until the end. For thirty days it can be kept, with address and password; then it is deleted. What is left
// in the wallet is forfeited; what was earned is paid as it falls due, to the payout account, also afterwards. While an
// operator has it suspended it is not deleted: nothing else would keep its earnings from being paid.

import type { SessionPrincipal } from '../../http/access.ts'
import type { Queryable } from '../../platform/db.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import { forfeitCredits } from '../../wallet/closure.ts'
import { readBalance } from '../../wallet/postings.ts'
import { requireCredentials } from '../accounts.ts'
import type { EndAccess, ProofParts } from '../mail-proofs.ts'
import { queueNotice } from '../notices.ts'
import { callOffProofs, lockAccount } from '../proof-store.ts'
import { recordSecurityEvent } from '../security-log/security-log.ts'
import { type Client, closeSessions, requireOpenSession } from '../sessions.ts'
import type { AttemptParts } from '../sign-in/attempts.ts'
import { requireFreshProof } from '../step-up.ts'
import { deleteAccount, listClosed, setClosing } from './store.ts'

const DAY_MS = 24 * 60 * 60_000
const DAYS_TO_COME_BACK = 30
const DELETED_AT_ONCE = 100
const DELETED_PER_RUN_MAX = 1_000
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

/** What a developer has earned and not been paid yet. */
export type OpenEarnings = {
  /** Will be paid as it falls due. */
  open_credits: bigint
  /** Of it: a payout is under way. */
  in_flight_credits: bigint
  /** Earned with credits that nobody paid for: never paid. */
  not_payable_credits: bigint
  has_payout_account: boolean
}

export type ReadOpenEarnings = (
  db: Queryable,
  developer_id: string,
  now: Date,
) => Promise<OpenEarnings>

export type ClosingParts = ProofParts &
  AttemptParts & { readOpenEarnings: ReadOpenEarnings; public_url: string }

export type Closing = { closes_at: Date; balance: bigint; earnings: OpenEarnings }

export async function closeAccount(
  parts: ClosingParts,
  session: SessionPrincipal,
  client: Client,
): Promise<Closing> {
  requireFreshProof(parts, session)
  const { account_id, session_id } = session
  const at = parts.clock.now()
  const closes_at = new Date(at.getTime() + DAYS_TO_COME_BACK * DAY_MS)
  const closing = await parts.db.transaction(async (tx) => {
    if (!(await lockAccount(tx, account_id))) throw new ApiError('user_not_found')
    await requireOpenSession(parts, tx, session_id)
    await setClosing(tx, account_id, closes_at)
    await callOffProofs(tx, account_id, ['verify_email', 'change_email_from', 'change_email_to'])
    await closeSessions(parts.feed, tx, { account_id, except_id: null })
    await parts.endAccess(tx, { account_id, also: ['saved_card'] })
    const details = { closes_at: closes_at.toISOString() }
    const kind = 'account_closing'
    await recordSecurityEvent(parts, tx, { account_id, kind, at, client, session_id, details })
    await queueNotice(tx, { account_id, at, ...farewell(parts.public_url, closes_at) })
    return {
      closes_at,
      balance: (await readBalance(tx, account_id))?.balance ?? 0n,
      earnings: await parts.readOpenEarnings(tx, account_id, at),
    }
  })
  parts.wakeMailSender()
  return closing
}

/** Opens no session: whoever has a second factor shows it at the sign-in that follows. */
export async function keepAccount(
  parts: AttemptParts,
  given: { email: string; password: string; client: Client },
): Promise<void> {
  const { account: found } = await requireCredentials(parts, given)
  const { id: account_id, password_hash } = found
  await parts.db.transaction(async (tx) => {
    const account = await lockAccount(tx, account_id)
    if (!account || account.password_hash !== password_hash)
      throw new ApiError('invalid_credentials')
    if (!account.closes_at) return
    await setClosing(tx, account_id, null)
    const at = parts.clock.now()
    const kind = 'account_kept'
    await recordSecurityEvent(parts, tx, { account_id, kind, at, client: given.client })
  })
}

export type DeletionParts = Pick<ClosingParts, 'db' | 'clock' | 'readOpenEarnings'> & {
  log: Log
  endAccess: EndAccess
}

/** One that cannot be deleted yet is tried again by the next run, and holds up no other. */
export async function deleteClosed(parts: DeletionParts, signal: AbortSignal): Promise<void> {
  const now = parts.clock.now()
  let after_id = FIRST_ID
  for (let seen = 0; seen < DELETED_PER_RUN_MAX && !signal.aborted; seen += DELETED_AT_ONCE) {
    const ids = await listClosed(parts.db, { now, after_id, count: DELETED_AT_ONCE })
    for (const id of ids) {
      if (signal.aborted) return
      await deleteOne(parts, id, now).catch((error: unknown) => {
        parts.log.warn({ err: error, account_id: id }, 'an account could not be deleted yet')
      })
    }
    after_id = ids.at(-1) ?? after_id
    if (ids.length < DELETED_AT_ONCE) return
  }
}

async function deleteOne(parts: DeletionParts, account_id: string, now: Date): Promise<void> {
  await parts.db.transaction(async (tx) => {
    const account = await lockAccount(tx, account_id)
    // Its owner came back, or another process was faster.
    if (!account?.closes_at || account.closes_at > now) return
    if (account.suspended_reason !== null) throw new Error('it is suspended')
    const { in_flight_credits } = await parts.readOpenEarnings(tx, account_id, now)
    if (in_flight_credits > 0n) throw new Error('a payout is under way')
    await parts.endAccess(tx, { account_id, also: ['apps', 'saved_card'] })
    // The wallet last: it is the hot row, and locked last by everybody.
    const forfeited = await forfeitCredits(tx, { account_id, at: now })
    if (forfeited === undefined) throw new Error('a running call holds credits')
    await deleteAccount(tx, account_id)
    tx.afterCommit(() =>
      parts.log.info({ account_id, forfeited: forfeited.toString() }, 'account deleted'),
    )
  })
}

function farewell(public_url: string, closes_at: Date) {
  const day = closes_at.toISOString().slice(0, 10)
  return {
    subject: 'Your account is to be deleted',
    words: `Your account will be deleted on ${day}. API keys have stopped working and apps are disconnected.

If you change your mind, or if it was not you: until that day you keep it at ${public_url}/account/restore with your address and password. If you do not know the password any more, set a new one first at ${public_url}/oauth/login.`,
  }
}
