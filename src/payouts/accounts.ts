// The account that a developer is paid to: made at the processor, set up on its pages, mirrored here.

import { requireAccount } from '../accounts/accounts.ts'
import { recordSecurityEvent } from '../accounts/security-log/security-log.ts'
import { type Client, requireOpenSession } from '../accounts/sessions.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db, Queryable, Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import {
  beginLook,
  findAccount,
  forgetAccount,
  giveUpAttempt,
  markAccountGone,
  mirrorAccount,
  openAttempt,
  type PayoutAccountRow,
  storeAccount,
} from './account-store.ts'
import {
  forPerson,
  type Processor,
  type ProcessorAccount,
  ProcessorError,
  requireProcessor,
  type WithProcessor,
} from './processor.ts'

export type { PayoutAccountRow } from './account-store.ts'

export type PayoutAccountParts = WithProcessor & {
  db: Db
  clock: Clock
  log: Log
  public_url: string
}

export type RefreshParts = Pick<PayoutAccountParts, 'db' | 'clock' | 'processor' | 'log'>

/** As the mirror has it. Undefined: never made, or cut off. */
export async function findPayoutAccount(
  db: Queryable,
  developer_id: string,
): Promise<PayoutAccountRow | undefined> {
  return await findAccount(db, developer_id)
}

/** For an account whose address was not its maker's: what they earn from now on must not go where somebody else said. */
export async function forgetPayoutAccount(tx: Tx, developer_id: string): Promise<void> {
  await forgetAccount(tx, developer_id)
}

/** Looks at the processor and mirrors what it says. Throws a ProcessorError if it cannot be asked. */
export async function refreshPayoutAccount(
  parts: RefreshParts,
  developer_id: string,
): Promise<PayoutAccountRow | undefined> {
  const processor = requireProcessor(parts)
  const looked_at = await beginLook(parts.db, developer_id)
  if (!looked_at) return undefined
  const { stripe_account_id, look } = looked_at
  try {
    const account = await processor.readAccount(stripe_account_id)
    const at = parts.clock.now()
    await parts.db.transaction(async (tx) => {
      const { changed } = await mirrorAccount(tx, developer_id, account, { at, look })
      if (changed) await recordChange(parts, tx, developer_id, account)
    })
  } catch (error) {
    if (!(error instanceof ProcessorError && error.reason === 'missing')) throw error
    const gone = { developer_id, stripe_account_id }
    await parts.db.transaction((tx) => cutOffAccount(parts, tx, gone))
  }
  return await findAccount(parts.db, developer_id)
}

export async function cutOffAccount(
  parts: Pick<RefreshParts, 'clock' | 'log'>,
  tx: Tx,
  gone: { developer_id: string; stripe_account_id: string },
): Promise<void> {
  const at = parts.clock.now()
  const { changed } = await markAccountGone(tx, gone, at)
  if (!changed) return
  await recordSecurityEvent(parts, tx, {
    account_id: gone.developer_id,
    kind: 'payout_account_changed',
    at,
    details: { stripe_account_id: gone.stripe_account_id, connected: false },
  })
}

/** `by`: the owner, who asked for it here. What is changed on the processor's pages is told by the processor. */
async function recordChange(
  parts: Pick<RefreshParts, 'clock' | 'log'>,
  tx: Tx,
  developer_id: string,
  account: ProcessorAccount & { by?: Owner },
): Promise<void> {
  const { id, payouts_enabled, details_submitted, country, by } = account
  await recordSecurityEvent(parts, tx, {
    account_id: developer_id,
    kind: 'payout_account_changed',
    at: parts.clock.now(),
    ...(by && { client: by.client, session_id: by.session_id }),
    details: { stripe_account_id: id, payouts_enabled, details_submitted, country },
  })
}

export type Owner = { account_id: string; session_id: string; client: Client }

/**
 * Whoever asks twice at once gets the same account from the processor, by its idempotency key, and one of them stores
 * it. The link is made before the account is stored, so that a failure leaves nothing behind that would refuse a repeat.
 */
export async function startOnboarding(
  parts: PayoutAccountParts,
  owner: Owner,
  return_to?: string,
): Promise<{ onboarding_url: string; stripe_account_id: string }> {
  const processor = requireProcessor(parts)
  const { account_id: developer_id } = owner
  const account = await forPerson(makeAccount(parts, processor, developer_id))
  const onboarding_url = await linkTo(parts, processor, { account_id: account.id, return_to })
  await parts.db.transaction(async (tx) => {
    // The processor was asked meanwhile: whoever was shut out by a reset must not be paid what the owner earns.
    await requireOpenSession(parts, tx, owner.session_id)
    const stored = await storeAccount(tx, developer_id, account, parts.clock.now())
    if (!stored) throw new ApiError('already_connected')
    await recordChange(parts, tx, developer_id, { ...account, by: owner })
  })
  return { onboarding_url, stripe_account_id: account.id }
}

/** The same key would get an error that was saved under it for a day. An account that it made all the same stays unused. */
const KEYS_MAX = 2

async function makeAccount(
  parts: PayoutAccountParts,
  processor: Processor,
  developer_id: string,
): Promise<ProcessorAccount> {
  const { email } = await requireAccount(parts.db, developer_id)
  for (let keys = 1; ; keys++) {
    const attempt = await openAttempt(parts.db, developer_id, parts.clock.now())
    if (attempt === undefined) throw new ApiError('already_connected')
    const idempotency_key = `connect_account_${developer_id}_${attempt}`
    try {
      return await processor.createAccount({ email, developer_id, idempotency_key })
    } catch (error) {
      if (!(error instanceof ProcessorError && error.replayed)) throw error
      await giveUpAttempt(parts.db, developer_id, attempt)
      if (keys === KEYS_MAX) throw error
    }
  }
}

/** Links open once and for a few minutes: another one for the same account. */
export async function continueOnboarding(
  parts: PayoutAccountParts,
  developer_id: string,
  return_to?: string,
): Promise<{ onboarding_url: string }> {
  const processor = requireProcessor(parts)
  const { stripe_account_id } = await requirePayoutAccount(parts.db, developer_id)
  const to = { account_id: stripe_account_id, return_to }
  return { onboarding_url: await linkTo(parts, processor, to) }
}

/** As the processor says, or as the mirror says when the processor cannot be asked. */
export async function readStatus(
  parts: PayoutAccountParts,
  developer_id: string,
): Promise<PayoutAccountRow | undefined> {
  if (!parts.processor) return await findAccount(parts.db, developer_id)
  try {
    return await refreshPayoutAccount(parts, developer_id)
  } catch (error) {
    if (!(error instanceof ProcessorError)) throw error
    parts.log.warn({ err: error, developer_id }, 'payout status from the mirror')
    return await findAccount(parts.db, developer_id)
  }
}

export async function openDashboard(
  parts: PayoutAccountParts,
  developer_id: string,
): Promise<{ dashboard_url: string }> {
  const processor = requireProcessor(parts)
  await requirePayoutAccount(parts.db, developer_id)
  const account = await forPerson(refreshPayoutAccount(parts, developer_id))
  if (!account) return neverStarted()
  if (!isOnboarded(account)) throw new ApiError('onboarding_incomplete')
  const making = processor.createLoginLink(account.stripe_account_id)
  return { dashboard_url: await forPerson(making) }
}

export function isOnboarded(account: PayoutAccountRow): boolean {
  return account.details_submitted && account.payouts_enabled
}

async function linkTo(
  { public_url }: PayoutAccountParts,
  processor: Processor,
  { account_id, return_to }: { account_id: string; return_to?: string | undefined },
): Promise<string> {
  const making = processor.createAccountLink({
    account_id,
    refresh_url: `${public_url}/developers/connect/refresh`,
    return_url: `${public_url}${return_to ?? '/developers/connect/return'}`,
  })
  return await forPerson(making)
}

async function requirePayoutAccount(db: Db, developer_id: string): Promise<PayoutAccountRow> {
  return (await findAccount(db, developer_id)) ?? neverStarted()
}

function neverStarted(): never {
  throw new ApiError('not_found', {
    message: 'You have no payout account.',
    hint: 'POST /developers/connect/onboard makes one.',
  })
}
