// Proofs that travel by mail: that an address is one's own, and that one may set a new password. A request
// only queues the mail; the token is made when it is sent, so no secret ever waits in the database, and no
// reply depends on a mail server. Looking at a link uses nothing up: programs that scan mail do that.

import type { RateLimits } from '../http/rate-limit.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db, Queryable, Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { InvalidationFeed } from '../platform/invalidation.ts'
import type { Log } from '../platform/log.ts'
import { digestSecret, mintId, mintSecret } from '../platform/tokens.ts'
import { grantVerifiedCredits } from '../wallet/postings.ts'
import { requireAccount, requirePassword } from './accounts.ts'
import { emailKey } from './email-address.ts'
import { deleteFactorsOfAccount } from './factors/store.ts'
import { proofLink } from './mails.ts'
import { type PasswordRules, requireStrongPassword } from './password-policy.ts'
import { hashPassword } from './passwords.ts'
import { callOffProofs, findMailToken, insertTokenOfMail, lockAccount } from './proof-store.ts'
import { recordSecurityEvent } from './security-log/security-log.ts'
import { forgetPlaces } from './security-log/store.ts'
import { type Client, closeSessions, type EndBrowserGrants } from './sessions.ts'
import { rememberDevice } from './sign-in/known-devices.ts'
import {
  type AccountRow,
  markEmailVerified,
  type ProofPurpose,
  type ProofRow,
  queueMailToEmail,
  takeMailToken,
  updatePassword,
} from './store.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

export const MAIL_TOKENS = {
  verify_email: { prefix: 'svc_verify_', lifetime_ms: DAY_MS },
  reset_password: { prefix: 'svc_reset_', lifetime_ms: 60 * MINUTE_MS },
  change_email_from: { prefix: 'svc_leave_', lifetime_ms: DAY_MS },
  change_email_to: { prefix: 'svc_take_', lifetime_ms: DAY_MS },
} as const satisfies Record<ProofPurpose, { prefix: string; lifetime_ms: number }>

/**
 * Ends, in the caller's transaction, what was made in the account's name: its keys and what it lets apps do. What else
 * is to end is named. Answers how many keys there were.
 */
export type EndAccess = (
  tx: Tx,
  ending: { account_id: string; also: readonly ('apps' | 'saved_card' | 'payout_account')[] },
) => Promise<{ keys: number }>

const EVERYTHING = ['apps', 'saved_card', 'payout_account'] as const

export type ProofParts = PasswordRules & {
  db: Db
  feed: InvalidationFeed
  clock: Clock
  limits: RateLimits
  log: Log
  endAccess: EndAccess
  endBrowserGrants: EndBrowserGrants
  /** Wakes the sender in this process, if there is one. */
  wakeMailSender: () => void
  verified_credits: bigint
}

export type VerificationParts = ProofParts & {
  public_url: string
  /** Where no mail leaves the machine, who is signed in is shown the link: a first run must not end at a folder of mails. */
  shows_mail_links: boolean
}

export async function requestVerification(
  parts: VerificationParts,
  account_id: string,
): Promise<{ already_verified: boolean; verify_url?: string }> {
  const { email, email_verified_at } = await requireAccount(parts.db, account_id)
  if (email_verified_at) return { already_verified: true }
  await parts.limits.require('verification', account_id)
  const purpose = 'verify_email'
  if (!parts.shows_mail_links) {
    await queueMail(parts, emailKey(email), purpose)
    return { already_verified: false }
  }
  const at = parts.clock.now()
  const id = mintId({ at })
  // One transaction: the sender must not have sent and forgotten the mail before its second token is made.
  const token = await parts.db.transaction(async (tx) => {
    await queueMailToEmail(tx, { id, email_key: emailKey(email), purpose, at })
    return await issueProof(tx, { id, email, purpose }, at)
  })
  parts.wakeMailSender()
  if (token === undefined) return { already_verified: false }
  const { public_url } = parts
  return { already_verified: false, verify_url: proofLink({ public_url, purpose, token }) }
}

/** Never says whether the address is known, nor that it has had its share of mail. */
export async function requestReset(parts: ProofParts, email: string): Promise<void> {
  const key = emailKey(email)
  const slot = await parts.limits.take('verification', `reset:${key}`)
  if (slot.allowed) await queueMail(parts, key, 'reset_password')
}

/**
 * Whoever reads the mail must also be whoever made the account: else the owner of an address would, with one click,
 * confirm an account that somebody else made with it.
 */
export async function verifyEmail(
  parts: ProofParts,
  given: {
    token: string
    password: string | undefined
    /** The account of the session that it comes with. */
    account_id: string | undefined
    client: Client
  },
): Promise<void> {
  const link = { token: given.token, purpose: 'verify_email' } as const
  const { account_id } = await readProof(parts, link)
  if (given.account_id !== account_id) {
    if (given.password === undefined) throw passwordWanted()
    await requirePassword(parts, await requireAccount(parts.db, account_id), given.password)
  }
  await parts.db.transaction(async (tx) => {
    const { proof } = await takeProof(parts, tx, { ...link, account_id })
    await confirmAddress(parts, tx, { ...proof, client: given.client })
  })
}

/**
 * Until its address is confirmed, an account may have been made by anybody: whoever resets its password is its first
 * owner, and nothing that was made before is theirs. Afterwards keys and connections may be kept, if the owner says so.
 */
export async function resetPassword(
  parts: ProofParts,
  given: { token: string; new_password: string; keep_connections: boolean; client: Client },
): Promise<{ device_token: string }> {
  const link = { token: given.token, purpose: 'reset_password' } as const
  // Before the hashing, which is dear: a made-up token must cost nothing.
  const { account_id, email } = await readProof(parts, link)
  requireStrongPassword(parts, given.new_password, { param: 'new_password', email })
  const password_hash = await hashPassword(given.new_password)
  return await parts.db.transaction(async (tx) => {
    const { proof, account } = await takeProof(parts, tx, { ...link, account_id })
    const is_first_owner = account.email_verified_at === null
    const kept = given.keep_connections && !is_first_owner
    await updatePassword(tx, account_id, password_hash)
    // Older links must not outlive the password they were asked for, nor a change of address that was under way.
    await callOffProofs(tx, account_id, ['reset_password', 'change_email_from', 'change_email_to'])
    await confirmAddress(parts, tx, { ...proof, client: given.client })
    await closeSessions(parts.feed, tx, { account_id, except_id: null })
    // Whoever added them had not shown that the address is theirs.
    if (is_first_owner) await deleteFactorsOfAccount(tx, account_id)
    const also = is_first_owner ? EVERYTHING : []
    if (kept) {
      await parts.endBrowserGrants(tx, account_id)
    } else {
      await parts.endAccess(tx, { account_id, also })
      await forgetPlaces(tx, account_id)
    }
    const { client } = given
    const at = parts.clock.now()
    const details = { connections_kept: kept }
    await recordSecurityEvent(parts, tx, {
      account_id,
      kind: 'password_reset',
      at,
      client,
      details,
    })
    // It reads the owner's mail: the wrong passwords of others must not keep it from signing in with the new one.
    return { device_token: await rememberDevice(tx, { account_id, client, at }) }
  })
}

/** Makes the token of one mail; called by the sender, right before it is sent. Undefined: it was called off. */
export async function issueProof(
  db: Queryable,
  mail: { id: string; email: string; purpose: ProofPurpose },
  now: Date,
): Promise<string | undefined> {
  const { prefix, lifetime_ms } = MAIL_TOKENS[mail.purpose]
  const token = mintSecret(prefix)
  const inserted = await insertTokenOfMail(db, {
    token_digest: digestSecret(token),
    mail_id: mail.id,
    email: mail.email,
    created_at: now,
    expires_at: new Date(now.getTime() + lifetime_ms),
  })
  return inserted ? token : undefined
}

type Link = { token: string; purpose: ProofPurpose }

/** What the page of a link shows: undefined if the link is good no more. */
export async function describeProof(
  parts: Pick<ProofParts, 'db' | 'clock'>,
  link: Link,
): Promise<(ProofRow & { is_verified: boolean }) | undefined> {
  const proof = await findProof(parts, parts.db, link)
  if (!proof) return undefined
  const { email_verified_at } = await requireAccount(parts.db, proof.account_id)
  return { ...proof, is_verified: email_verified_at !== null }
}

/** Uses nothing up: `takeProof` does. */
export async function readProof(
  parts: Pick<ProofParts, 'db' | 'clock'>,
  link: Link,
): Promise<ProofRow> {
  return (await findProof(parts, parts.db, link)) ?? refuseLink(link)
}

/** The account is locked before its link, as everybody does who changes both. */
export async function takeProof(
  parts: Pick<ProofParts, 'clock'>,
  tx: Tx,
  link: Link & { account_id: string },
): Promise<{ proof: ProofRow; account: AccountRow }> {
  const account = await lockAccount(tx, link.account_id)
  const proof = await takeMailToken(tx, digestSecret(link.token), link.purpose)
  if (!account || !proof || proof.expires_at <= parts.clock.now()) return refuseLink(link)
  return { proof, account }
}

async function findProof(
  { clock }: Pick<ProofParts, 'clock'>,
  db: Queryable,
  link: Link,
): Promise<ProofRow | undefined> {
  const proof = await findMailToken(db, digestSecret(link.token), link.purpose)
  return proof && proof.expires_at > clock.now() ? proof : undefined
}

async function confirmAddress(
  parts: ProofParts,
  tx: Tx,
  { account_id, email, client }: ProofRow & { client: Client },
): Promise<void> {
  const at = parts.clock.now()
  if (!(await markEmailVerified(tx, { account_id, email, at }))) return
  await recordSecurityEvent(parts, tx, { account_id, kind: 'email_verified', at, client })
  await grantVerifiedCredits(tx, { account_id, amount: parts.verified_credits, at })
}

async function queueMail(
  parts: ProofParts,
  email_key: string,
  purpose: ProofPurpose,
): Promise<void> {
  const at = parts.clock.now()
  await queueMailToEmail(parts.db, { id: mintId({ at }), email_key, purpose, at })
  parts.wakeMailSender()
}

const NEW_LINK: Record<ProofPurpose, string> = {
  verify_email: 'Ask for a new mail with POST /auth/send-verification.',
  reset_password: 'Ask for a new mail with POST /auth/forgot-password.',
  change_email_from: 'Ask for the change again with POST /account/email.',
  change_email_to: 'Ask for the change again with POST /account/email.',
}

function refuseLink({ purpose }: Link): never {
  throw new ApiError('invalid_request', {
    message: 'The link was used before or is too old.',
    param: 'token',
    hint: NEW_LINK[purpose],
  })
}

function passwordWanted(): ApiError {
  return new ApiError('invalid_credentials', {
    message: 'The password of the account is wanted.',
    hint: 'Send `password` with the token, or the token with a session of the account.',
    param: 'password',
  })
}
