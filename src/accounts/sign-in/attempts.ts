// Who may try a password, and what becomes of a wrong one. The requests of an address are counted where they come in
// (the limit `login` of the route), but for those of known devices. Failures are counted here, by address and by account, a
// minute in memory (http/rate-limit.ts) and a day in the database (waits.ts). There are three kinds of callers:
//
//   device    sends the cookie of an earlier sign-in to this account: only its own failures count
//   place     an address that this account was signed in to from: the address's requests and its own failures count
//   stranger  anybody else: the address's requests and the account's failures count
//
// So nobody is kept out by the wrong passwords of somebody elsewhere, and no kind may guess without end.

import { addressBucket } from '../../http/address-bucket.ts'
import type { RateLimits } from '../../http/rate-limit.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Db, Tx } from '../../platform/db.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import { digestSecret } from '../../platform/tokens.ts'
import { emailKey } from '../email-address.ts'
import type { HashingTurn } from '../passwords.ts'
import { recordSecurityEvent } from '../security-log/security-log.ts'
import type { Client } from '../sessions.ts'
import { addressDigestOf, deviceDigestOf, rememberDevice } from './known-devices.ts'
import { clearFailures, countFailures, type FailureRow, readStanding } from './store.ts'
import { waitAfter } from './waits.ts'

/** Rows in the security log of an account a day; the last one says how many there were until then. */
const EVENTS_PER_DAY = 50

export type AttemptParts = {
  db: Db
  clock: Clock
  log: Log
  limits: RateLimits
  login_limit: number
}

export type Attempt = {
  readonly client: Client
  readonly turn: HashingTurn
  /** Of the limit `login`: taken, and given back if the password is right. */
  readonly counters: readonly string[]
  readonly subjects: Subjects
  /** What a wrong password counts for. */
  readonly counted: readonly Buffer[]
}

type Caller = { email_key: string; client: Client }

/** Whose failures are counted, each as a digest. */
type Subjects = { account: Buffer; address: Buffer; device: Buffer; place: Buffer }

/** Takes a turn to try a password, or refuses with 429: without a query where the address has failed too often. */
export async function beginAttempt(parts: AttemptParts, caller: Caller): Promise<Attempt> {
  const { email_key, client } = caller
  const bucket = addressBucket(client.ip)
  const device_digest = deviceDigestOf(client)
  const subjects = subjectsOf(caller, bucket)
  const { by_device, by_address, failures } = await readStanding(parts.db, {
    email_key,
    device_digest: device_digest ?? null,
    address_digest: addressDigestOf(client),
    day: dayOf(parts.clock),
    subjects: Object.values(subjects),
  })
  const kind = by_device ? 'device' : by_address ? 'place' : 'stranger'
  const terms = termsOf(kind, subjects)
  requireNoWait(parts, failures, terms)
  // Its cookie spared it where requests are counted, and was another account's or nobody's.
  if (device_digest !== undefined && kind !== 'device') await parts.limits.require('login', bucket)
  await takeAll(parts.limits, terms.counters)
  const turn = { kind: kind === 'stranger' ? 'sign_in' : 'sign_in_known', caller: bucket } as const
  return { client, turn, counters: terms.counters, subjects, counted: terms.counted }
}

/** Whether `check` says yes. A no is counted; whatever else comes of it is given back. */
export async function judgeAttempt(
  parts: AttemptParts,
  attempt: Attempt,
  account: { id: string } | undefined,
  check: () => Promise<boolean>,
): Promise<boolean> {
  let is_wrong = false
  try {
    is_wrong = !(await check())
  } finally {
    if (!is_wrong) await giveBackAll(parts.limits, attempt.counters)
  }
  if (is_wrong) await noteFailure(parts, attempt, account)
  return !is_wrong
}

/** In the transaction that opens the session: the account's failures are forgotten, the device is remembered. */
export async function noteSignIn(
  parts: Pick<AttemptParts, 'clock'>,
  tx: Tx,
  entrant: { account_id: string; email: string; client: Client },
): Promise<string> {
  const { account_id, email, client } = entrant
  const caller = { email_key: emailKey(email), client }
  const { account, device, place } = subjectsOf(caller, addressBucket(client.ip))
  // Not those of the address: whoever has one account could then guess at others without end.
  await clearFailures(tx, { subjects: [account, device, place], day: dayOf(parts.clock) })
  return await rememberDevice(tx, { account_id, client, at: parts.clock.now() })
}

async function noteFailure(
  parts: AttemptParts,
  { subjects, counted, client }: Attempt,
  account: { id: string } | undefined,
): Promise<void> {
  const at = parts.clock.now()
  await parts.db.transaction(async (tx) => {
    const counts = await countFailures(tx, { subjects: counted, day: dayOf(parts.clock), at })
    const failures_today = counts.find((row) => row.subject.equals(subjects.account))?.count ?? 0
    if (!account || failures_today > EVENTS_PER_DAY) return
    const details = { failures_today }
    const event = { account_id: account.id, kind: 'sign_in_failed', at, client, details } as const
    await recordSecurityEvent(parts, tx, event)
  })
}

type Terms = {
  counters: string[]
  counted: Buffer[]
  /** Whose failures of today make this caller wait. */
  waits: { subject: Buffer; of: 'account' | 'address' }[]
}

function termsOf(
  kind: 'device' | 'place' | 'stranger',
  { account, address, device, place }: Subjects,
): Terms {
  const own = (subject: Buffer) => ({ subject, of: 'account' as const })
  const of_address = { subject: address, of: 'address' as const }
  switch (kind) {
    case 'device':
      return { counters: [keyOf(device)], counted: [device, account], waits: [own(device)] }
    case 'place':
      return {
        counters: [keyOf(place)],
        counted: [place, account, address],
        waits: [of_address, own(place)],
      }
    case 'stranger':
      return {
        counters: [keyOf(account)],
        counted: [account, address],
        waits: [of_address, own(account)],
      }
  }
}

function subjectsOf({ email_key, client }: Caller, bucket: string): Subjects {
  const digest = (...parts: string[]) => digestSecret(JSON.stringify(parts))
  return {
    account: digest('account', email_key),
    address: digest('address', bucket),
    device: digest('device', email_key, client.device_token ?? ''),
    place: digest('place', email_key, bucket),
  }
}

function keyOf(subject: Buffer): string {
  return subject.toString('base64url')
}

function requireNoWait(
  { clock, login_limit }: AttemptParts,
  failures: readonly FailureRow[],
  { waits }: Terms,
): void {
  const now_ms = clock.now().getTime()
  for (const { subject, of } of waits) {
    const failed = failures.find((row) => row.subject.equals(subject))
    const wait_ms = failed ? waitAfter(failed.count, { of, login_limit }) : 0
    // Before the threshold nobody waits, also where another machine's clock is ahead of this one's.
    if (!failed || wait_ms === 0) continue
    const until_ms = failed.last_at.getTime() + wait_ms
    if (until_ms > now_ms) throw mustWait(until_ms - now_ms)
  }
}

function mustWait(wait_ms: number): ApiError {
  return new ApiError('rate_limit_exceeded', {
    message: 'Too many sign-ins have failed today.',
    hint: 'Wait as long as `Retry-After` says, or sign in where you have signed in before.',
    headers: { 'retry-after': String(Math.ceil(wait_ms / 1000)) },
  })
}

/** Taken before the password is tried, so that many at once are not each the first. */
async function takeAll(limits: RateLimits, counters: readonly string[]): Promise<void> {
  const taken: string[] = []
  for (const counter of counters) {
    const slot = await limits.take('login', counter)
    taken.push(counter)
    if (slot.allowed) continue
    await giveBackAll(limits, taken)
    throw limits.refusal('login', slot)
  }
}

async function giveBackAll(limits: RateLimits, counters: readonly string[]): Promise<void> {
  for (const counter of counters) await limits.giveBack('login', counter)
}

function dayOf(clock: Clock): string {
  return clock.now().toISOString().slice(0, 10)
}
