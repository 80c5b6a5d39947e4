// A change of address takes effect when somebody who reads the old one and somebody who reads the new one have both
// said so. Whoever cannot read the old one any more keeps it: a stolen session must not be able to take an account away.

import type { SessionPrincipal } from '../../http/access.ts'
import { ApiError } from '../../platform/errors.ts'
import { violatedConstraint } from '../../platform/sql-errors.ts'
import { mintId } from '../../platform/tokens.ts'
import { grantVerifiedCredits } from '../../wallet/postings.ts'
import { emailKey, requireEmail } from '../email-address.ts'
import { MAIL_TOKENS, type ProofParts, readProof, takeProof } from '../mail-proofs.ts'
import { callOffProofs, lockAccount } from '../proof-store.ts'
import { recordSecurityEvent } from '../security-log/security-log.ts'
import type { Client } from '../sessions.ts'
import { requireFreshProof } from '../step-up.ts'
import {
  confirmEmailChange,
  deleteEmailChange,
  type EmailChangeRow,
  findEmailChange,
  queueMailToAddress,
  replaceEmailChange,
  setEmail,
} from './store.ts'

const LASTS_MS = 24 * 60 * 60_000
const PURPOSES = ['change_email_from', 'change_email_to'] as const

/** Never says whether the new address has an account: only its reader may know. */
export async function askEmailChange(
  parts: ProofParts,
  session: SessionPrincipal,
  given: { new_email: string; client: Client },
): Promise<void> {
  requireFreshProof(parts, session)
  const { account_id, session_id } = session
  const new_email = requireEmail(given.new_email, 'new_email')
  // A mail to any address that somebody names must not be had without end.
  await parts.limits.require('verification', `email:${account_id}`)
  const at = parts.clock.now()
  await parts.db.transaction(async (tx) => {
    const account = await lockAccount(tx, account_id)
    if (!account) throw new ApiError('user_not_found')
    if (account.email === new_email) throw sameAddress()
    await callOffProofs(tx, account_id, PURPOSES)
    await replaceEmailChange(tx, {
      account_id,
      old_email: account.email,
      new_email,
      asked_at: at,
      expires_at: new Date(at.getTime() + LASTS_MS),
    })
    const mail = (purpose: (typeof PURPOSES)[number], to_email: string) =>
      queueMailToAddress(tx, { id: mintId({ at }), account_id, purpose, to_email, at })
    await mail('change_email_from', account.email)
    await mail('change_email_to', new_email)
    const { client } = given
    const kind = 'email_change_asked'
    await recordSecurityEvent(parts, tx, { account_id, kind, at, client, session_id })
  })
  parts.wakeMailSender()
}

export type EmailDecision = 'confirm' | 'stop'

/** `waiting`: the other address has not agreed yet. */
export type EmailChangeState = 'changed' | 'waiting' | 'stopped'

export async function decideEmailChange(
  parts: ProofParts,
  given: { token: string; decision: EmailDecision; client: Client },
): Promise<EmailChangeState> {
  const { token, decision, client } = given
  const link = { token, purpose: purposeOf(token) }
  const { account_id } = await readProof(parts, link)
  const at = parts.clock.now()
  try {
    return await parts.db.transaction(async (tx) => {
      const { account } = await takeProof(parts, tx, { ...link, account_id })
      const change = await findEmailChange(tx, account_id)
      const is_current = change && change.expires_at > at && change.old_email === account.email
      if (!is_current) throw overtaken()
      if (decision === 'stop') {
        await deleteEmailChange(tx, account_id)
        await callOffProofs(tx, account_id, PURPOSES)
        const kind = 'email_change_stopped'
        await recordSecurityEvent(parts, tx, { account_id, kind, at, client })
        return 'stopped'
      }
      const is_new = link.purpose === 'change_email_to'
      await confirmEmailChange(tx, account_id, { is_new, at })
      if (!(is_new ? change.old_confirmed_at : change.new_confirmed_at)) return 'waiting'
      const email = change.new_email
      await setEmail(tx, { account_id, email, email_key: emailKey(email), at })
      await deleteEmailChange(tx, account_id)
      // Links that wait in the old mailbox are nobody's any more.
      await callOffProofs(tx, account_id, ['verify_email', 'reset_password', ...PURPOSES])
      await recordSecurityEvent(parts, tx, { account_id, kind: 'email_changed', at, client })
      if (!account.email_verified_at)
        await grantVerifiedCredits(tx, { account_id, amount: parts.verified_credits, at })
      return 'changed'
    })
  } catch (error) {
    if (violatedConstraint(error) === 'account_email_is_unique') throw new ApiError('email_exists')
    throw error
  }
}

/** What the page of a link shows. Undefined: the link is good no more. */
export async function describeEmailChange(
  parts: ProofParts,
  token: string,
): Promise<(EmailChangeRow & { is_new: boolean }) | undefined> {
  const purpose = purposeOf(token)
  const proof = await readProof(parts, { token, purpose }).catch(asDeadLink)
  const change = proof && (await findEmailChange(parts.db, proof.account_id))
  return change && { ...change, is_new: purpose === 'change_email_to' }
}

function purposeOf(token: string): (typeof PURPOSES)[number] {
  return token.startsWith(MAIL_TOKENS.change_email_to.prefix)
    ? 'change_email_to'
    : 'change_email_from'
}

function asDeadLink(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 'invalid_request') return undefined
  throw error
}

function sameAddress(): ApiError {
  return new ApiError('bad_request', {
    message: 'The account has this address already.',
    param: 'new_email',
  })
}

function overtaken(): ApiError {
  return new ApiError('invalid_request', {
    message: 'The change was called off, or another one took its place.',
    hint: 'Ask for the change again with POST /account/email.',
    param: 'token',
  })
}
