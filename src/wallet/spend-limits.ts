// Spend limits: what a key, or an app on behalf of one user, may spend in a day, a month or in total; and the
// counters that say what it spent. The ledger enforces them, this file names them.

import type { Queryable, Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { formatDollars } from '../platform/money.ts'
import { bucketOf, timeOf } from './bucket.ts'
import {
  LOCK_WALLET,
  OPEN_SPEND_COUNTER,
  SELECT_SPENT,
  type SpentRow,
  SUM_SPENT_SINCE,
  SUM_SPENT_THROUGH_APP,
} from './store.ts'

const DAY_MS = 24 * 3_600_000

export const SPEND_PERIODS = ['day', 'month', 'total'] as const
export type SpendPeriod = (typeof SPEND_PERIODS)[number]

/** `account_id` is whose limit it is, who need not be the payer: the key's developer, or the app's user. */
export type SpendLimit = {
  /** The id of the key, or of the user's connection with the app. */
  owner_id: string
  account_id: string
  limit_credits: bigint
} & ({ kind: 'key'; period: SpendPeriod } | { kind: 'app'; period: 'day' | 'month' })

/** Where the ledger counts what a limit's owner spends. `period` is a day, YYYY-MM-DD. */
export type SpendCounter = { bucket: number; owner_id: string; period: string }

/** A counter and the credits it may reach: what a hold was placed under. */
export type LimitedCounter = SpendCounter & { limit: bigint }

/** When the period of a limit begins; a limit in total has one, which never ends. */
export function periodStart(period: SpendPeriod, at: Date): Date {
  return new Date(`${spendPeriod(period, at)}T00:00:00Z`)
}

/** When a limit counts from 0 again; null: never. */
export function periodEnd(period: SpendPeriod, at: Date): Date | null {
  switch (period) {
    case 'day':
      return new Date(periodStart('day', at).getTime() + DAY_MS)
    case 'month':
      return startOfMonth(at, 1)
    case 'total':
      return null
  }
}

/** The day or month (UTC) that a limit counts in, by the time of the call. */
export function spendPeriod(period: SpendPeriod, at: Date): string {
  const day = at.toISOString().slice(0, 10)
  switch (period) {
    case 'day':
      return day
    case 'month':
      return `${day.slice(0, 7)}-01`
    case 'total':
      return '1970-01-01'
  }
}

export function spendCounter(
  limit: Pick<SpendLimit, 'account_id' | 'owner_id' | 'period'>,
  at: Date,
): SpendCounter {
  return {
    bucket: bucketOf(limit.account_id),
    owner_id: limit.owner_id,
    period: spendPeriod(limit.period, at),
  }
}

/** Those that bind a call, in the order given; its id has the time of it. */
export function limitedCounters(call: {
  id: string
  spend_limits?: readonly SpendLimit[]
}): LimitedCounter[] {
  const { id, spend_limits = [] } = call
  return spend_limits.map((limit) => ({
    ...spendCounter(limit, timeOf(id)),
    limit: limit.limit_credits,
  }))
}

/** The refusal of a call that does not fit under a limit. */
export function limitReached(limit: SpendLimit, at: Date): ApiError {
  const ends_at = periodEnd(limit.period, at)
  const wait_s = ends_at && Math.max(1, Math.ceil((ends_at.getTime() - at.getTime()) / 1000))
  const when =
    ends_at === null ? 'never resets' : `resets on ${ends_at.toISOString().slice(0, 10)} (UTC)`
  const headers = wait_s === null ? {} : { 'retry-after': String(wait_s) }
  if (limit.kind === 'key') {
    return new ApiError('insufficient_credits', {
      message: "The key's spend limit is reached.",
      hint: `The limit of ${describeAmount(limit)} ${when}. Use a key with a higher limit, or without one.`,
      headers,
    })
  }
  const period = limit.period === 'day' ? 'daily' : 'monthly'
  return new ApiError('insufficient_credits', {
    message: `The user's ${period} spending cap for this app is used up.`,
    hint: `The cap of ${describeAmount(limit)} ${when}. The user can raise it at /oauth/connections.`,
    headers,
  })
}

/** The refusal of a call for which calls that run leave no room, in the wallet or under a limit. */
export function roomIsHeld(limits: readonly SpendLimit[]): ApiError {
  const bounds = limits.map((limit) =>
    limit.kind === 'key'
      ? "the key's spend limit"
      : `the user's cap of ${describeAmount(limit)} for this app`,
  )
  return new ApiError('insufficient_credits', {
    message: 'Calls that are running hold the credits that are left.',
    hint: `Try again when they have ended. They count against ${['the balance', ...bounds].join(' and ')}.`,
    detail: 'blocked',
    headers: { 'retry-after': '1' },
  })
}

function describeAmount({ limit_credits, period }: SpendLimit): string {
  const per = period === 'total' ? 'in total' : `a ${period}`
  return `${limit_credits.toLocaleString('en')} credits (${formatDollars(limit_credits)}) ${per}`
}

export type Spent = SpendCounter & { spent: bigint; held: bigint }

/** What is counted, in the order asked for; nothing where no call was counted yet. */
export async function readSpent(
  db: Queryable,
  counters: readonly SpendCounter[],
): Promise<Spent[]> {
  const rows = await db.run(SELECT_SPENT, [
    counters.map((counter) => counter.bucket),
    counters.map((counter) => counter.owner_id),
    counters.map((counter) => counter.period),
  ])
  return counters.map((counter, index) => ({ ...counter, ...requireRow(rows[index]) }))
}

/**
 * To be called in the transaction that sets an app's cap. Afterwards the counter of this day or month (UTC) has
 * what the user was charged through the app in it, also by calls that ran while there was no cap;
 * `held` is left alone. Answers what was spent.
 *
 * The period is summed before the wallet's row is locked, together with how far its chain had come. Under the lock no
 * settle of this wallet is under way, and only what was posted since is added: a wallet with many calls is not kept
 * from the next one while they are counted. Calls that run at that moment were placed without the cap. They
 * are settled without it too, and the counter does not have them; setting the cap again would bring it up.
 */
export async function openSpendCounter(
  tx: Tx,
  cap: {
    owner_id: string
    account_id: string
    client_id: string
    period: 'day' | 'month'
    at: Date
  },
): Promise<bigint> {
  const { owner_id, account_id, client_id, at } = cap
  const { bucket, period } = spendCounter(cap, at)
  const range = [periodStart(cap.period, at), periodEnd(cap.period, at)]
  const app = [bucket, account_id, client_id, ...range]
  const [before] = await tx.run(SUM_SPENT_THROUGH_APP, app)
  const locked = await tx.run(LOCK_WALLET, [bucket, account_id])
  if (!before || locked.length === 0)
    throw new ApiError('user_not_found', { detail: `no wallet ${account_id}` })
  // A statement of its own: it then sees what the lock waited for.
  const [since] = await tx.run(SUM_SPENT_SINCE, [...app, before.seq])
  const spent = before.spent + requireRow(since).spent
  return requireRow((await tx.run(OPEN_SPEND_COUNTER, [bucket, owner_id, period, spent]))[0]).spent
}

export function startOfMonth(at: Date, months_later = 0): Date {
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + months_later))
}

function requireRow<Row extends Pick<SpentRow, 'spent'>>(row: Row | undefined): Row {
  if (!row) throw new Error('a spend counter has an answer')
  return row
}
