// SQL of payout accounts: the mirror of what the processor knows.

import { type Queryable, statement, type Tx } from '../platform/db.ts'
import type { ProcessorAccount } from './processor.ts'

export type PayoutAccountRow = {
  developer_id: string
  stripe_account_id: string
  country: string | null
  default_currency: string | null
  charges_enabled: boolean
  payouts_enabled: boolean
  details_submitted: boolean
  disabled_reason: string | null
  requirements_due: string[]
  onboarding_completed_at: Date | null
  payouts_blocked: boolean
  mirrored_at: Date | null
  created_at: Date
}

const COLUMNS = `developer_id, stripe_account_id, country, default_currency, charges_enabled, payouts_enabled,
  details_submitted, disabled_reason, requirements_due, onboarding_completed_at, payouts_blocked, mirrored_at, created_at`
const IS_CONNECTED = 'stripe_account_id is not null and deauthorized_at is null'

const FIND = statement<PayoutAccountRow>(
  'payouts.find_account',
  `select ${COLUMNS} from payout_account where developer_id = $1::uuid and ${IS_CONNECTED}`,
)

export async function findAccount(
  db: Queryable,
  developer_id: string,
): Promise<PayoutAccountRow | undefined> {
  const [row] = await db.run(FIND, [developer_id])
  return row
}

const OPEN = statement<object>(
  'payouts.open_account',
  `insert into payout_account (developer_id, created_at) values ($1::uuid, $2::timestamptz)
   on conflict (developer_id) do nothing`,
)
const READ_ATTEMPT = statement<{ create_attempt: number }>(
  'payouts.read_attempt',
  `select create_attempt from payout_account where developer_id = $1::uuid and not (${IS_CONNECTED})`,
)

/** The number of the attempt to make an account; undefined if there is one. */
export async function openAttempt(
  db: Queryable,
  developer_id: string,
  at: Date,
): Promise<number | undefined> {
  await db.run(OPEN, [developer_id, at])
  const [row] = await db.run(READ_ATTEMPT, [developer_id])
  return row?.create_attempt
}

const NEXT_ATTEMPT = statement<object>(
  'payouts.next_attempt',
  `update payout_account set create_attempt = create_attempt + 1
   where developer_id = $1::uuid and create_attempt = $2::integer and not (${IS_CONNECTED})`,
)

export async function giveUpAttempt(
  db: Queryable,
  developer_id: string,
  attempt: number,
): Promise<void> {
  await db.run(NEXT_ATTEMPT, [developer_id, attempt])
}

// An account that takes the place of a lost one begins with an empty mirror.
const STORE_ACCOUNT = statement<{ developer_id: string }>(
  'payouts.store_account',
  `update payout_account
   set stripe_account_id = $2::text, deauthorized_at = null, create_attempt = create_attempt + 1,
     country = $3::text, default_currency = $4::text, charges_enabled = $5::boolean, payouts_enabled = $6::boolean,
     details_submitted = $7::boolean, disabled_reason = $8::text, requirements_due = $9::text[],
     onboarding_completed_at = null, event_at = null, mirrored_at = $10::timestamptz
   where developer_id = $1::uuid and not (${IS_CONNECTED})
   returning developer_id`,
)

/** False: somebody else stored one first. */
export async function storeAccount(
  db: Queryable,
  developer_id: string,
  account: ProcessorAccount,
  at: Date,
): Promise<boolean> {
  const rows = await db.run(STORE_ACCOUNT, [developer_id, ...valuesOf(account), at])
  return rows.length > 0
}

const BEGIN_LOOK = statement<{ stripe_account_id: string; look: bigint }>(
  'payouts.begin_look',
  `update payout_account set looks_begun = looks_begun + 1
   where developer_id = $1::uuid and stripe_account_id is not null
   returning stripe_account_id, looks_begun as look`,
)

/** Undefined: there is no account to look at. */
export async function beginLook(db: Queryable, developer_id: string) {
  const [row] = await db.run(BEGIN_LOOK, [developer_id])
  return row
}

// Answers whether something changed that decides about money.
const MIRROR = statement<{ changed: boolean }>(
  'payouts.mirror_account',
  `with old as (
     select developer_id, payouts_enabled, details_submitted, country, default_currency
     from payout_account
     where developer_id = $1::uuid
     for update
   )
   update payout_account p
   set country = $3::text, default_currency = $4::text, charges_enabled = $5::boolean, payouts_enabled = $6::boolean,
     details_submitted = $7::boolean, disabled_reason = $8::text, requirements_due = $9::text[],
     mirrored_at = $10::timestamptz,
     onboarding_completed_at = coalesce(p.onboarding_completed_at,
       case when $6::boolean and $7::boolean then $10::timestamptz end),
     deauthorized_at = null, look_mirrored = $11::bigint
   from old
   where p.developer_id = old.developer_id and p.stripe_account_id = $2::text and p.look_mirrored < $11::bigint
   returning (old.payouts_enabled, old.details_submitted, old.country, old.default_currency) is distinct from
     ($6::boolean, $7::boolean, $3::text, $4::text) as changed`,
)

export async function mirrorAccount(
  db: Queryable,
  developer_id: string,
  account: ProcessorAccount,
  seen: { at: Date; look: bigint },
): Promise<{ changed: boolean }> {
  const [row] = await db.run(MIRROR, [developer_id, ...valuesOf(account), seen.at, seen.look])
  return { changed: row?.changed === true }
}

// Looks that began before saw an account that was still ours.
const MARK_GONE = statement<{ changed: boolean }>(
  'payouts.mark_account_gone',
  `with old as (
     select developer_id, deauthorized_at
     from payout_account
     where developer_id = $1::uuid
     for update
   )
   update payout_account p
   set deauthorized_at = coalesce(p.deauthorized_at, $3::timestamptz), charges_enabled = false, payouts_enabled = false,
     mirrored_at = $3::timestamptz, look_mirrored = p.looks_begun
   from old
   where p.developer_id = old.developer_id and p.stripe_account_id = $2::text
   returning old.deauthorized_at is null as changed`,
)

export async function markAccountGone(
  db: Queryable,
  gone: { developer_id: string; stripe_account_id: string },
  at: Date,
): Promise<{ changed: boolean }> {
  const [row] = await db.run(MARK_GONE, [gone.developer_id, gone.stripe_account_id, at])
  return { changed: row?.changed === true }
}

// The next one is made under another idempotency key: the old key would get the old account again.
const FORGET = statement<object>(
  'payouts.forget_account',
  `update payout_account
   set stripe_account_id = null, create_attempt = create_attempt + 1, country = null, default_currency = null,
     charges_enabled = false, payouts_enabled = false, details_submitted = false, disabled_reason = null,
     requirements_due = '{}', onboarding_completed_at = null, event_at = null, look_mirrored = looks_begun
   where developer_id = $1::uuid`,
)

export async function forgetAccount(tx: Tx, developer_id: string): Promise<void> {
  await tx.run(FORGET, [developer_id])
}

const FIND_OWNER = statement<{ developer_id: string; event_at: Date | null }>(
  'payouts.find_account_owner',
  'select developer_id, event_at from payout_account where stripe_account_id = $1::text',
)

export async function findOwnerOf(db: Queryable, stripe_account_id: string) {
  const [row] = await db.run(FIND_OWNER, [stripe_account_id])
  return row
}

const NOTE_EVENT = statement<object>(
  'payouts.note_account_event',
  `update payout_account set event_at = greatest(event_at, $2::timestamptz) where stripe_account_id = $1::text`,
)

export async function noteAccountEvent(tx: Tx, stripe_account_id: string, at: Date): Promise<void> {
  await tx.run(NOTE_EVENT, [stripe_account_id, at])
}

function valuesOf(account: ProcessorAccount): unknown[] {
  const { id, country, default_currency, charges_enabled } = account
  const { payouts_enabled, details_submitted, disabled_reason, requirements_due } = account
  return [
    id,
    country,
    default_currency,
    charges_enabled,
    payouts_enabled,
    details_submitted,
    disabled_reason,
    requirements_due,
  ]
}
