// One proof of a second factor, whatever it is asked for. Each is used up by its use, inside the caller's transaction.

import type { Static } from 'typebox'
import type { RateLimits } from '../../http/rate-limit.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import { recordSecurityEvent } from '../security-log/security-log.ts'
import type { Client } from '../sessions.ts'
import type { Assertion } from './passkey-schemas.ts'
import { consumeAssertion, type PasskeyPurpose, relyingParty } from './passkeys.ts'
import { consumeRecoveryCode } from './recovery-codes.ts'
import { countRecoveryCodes } from './store.ts'
import { consumeTotp, type TotpParts } from './totp.ts'

export const PROOF_KINDS = ['passkey', 'totp', 'recovery_code'] as const
export type ProofKind = (typeof PROOF_KINDS)[number]

/** Exactly one of them is there. */
export type GivenProof = {
  totp?: string
  recovery_code?: string
  passkey?: Static<typeof Assertion>
}

export type FactorProofParts = TotpParts & {
  clock: Clock
  log: Log
  limits: RateLimits
  public_url: string
}

export type ProofContext = {
  account_id: string
  purpose: PasskeyPurpose
  /** What a passkey had to sign; undefined where nothing was asked. */
  challenge: string | undefined
  client: Client
  session_id?: string
}

/** Refuses none, and more than one. */
export function requireOneProof(given: object, kinds: readonly string[]): void {
  const named = Object.entries(given).filter(([name, value]) => kinds.includes(name) && value)
  if (named.length === 1) return
  throw new ApiError('bad_request', { message: `Send one of ${kinds.join(', ')}.` })
}

/**
 * Before anything is looked at. Six digits can be guessed, so all codes of an account are counted, right or wrong; a
 * passkey and a recovery code cannot, and stay a way in for the owner while somebody else guesses codes.
 */
export async function countProof(
  { limits }: FactorProofParts,
  account_id: string,
  proof: GivenProof,
): Promise<void> {
  if (proof.totp === undefined) return
  await limits.require('second_factor', account_id)
  await limits.require('second_factor_day', account_id)
}

/** Which one it was, or undefined if it is wrong. */
export async function consumeProof(
  parts: FactorProofParts,
  tx: Tx,
  proof: GivenProof,
  context: ProofContext,
): Promise<ProofKind | undefined> {
  const { account_id, challenge } = context
  const at = parts.clock.now()
  if (proof.totp !== undefined) {
    const is_right = await consumeTotp(parts, tx, { account_id, code: proof.totp, at })
    return is_right ? 'totp' : undefined
  }
  if (proof.recovery_code !== undefined) {
    if (!(await consumeRecoveryCode(tx, account_id, proof.recovery_code))) return undefined
    await recordRecovery(parts, tx, context)
    return 'recovery_code'
  }
  if (proof.passkey === undefined || challenge === undefined) return undefined
  const { purpose } = context
  const asked = { account_id, asked: { challenge }, purpose, response: proof.passkey, at }
  const is_right = await consumeAssertion(relyingParty(parts.public_url), tx, asked)
  return is_right ? 'passkey' : undefined
}

async function recordRecovery(
  parts: FactorProofParts,
  tx: Tx,
  context: ProofContext,
): Promise<void> {
  const { account_id, client, session_id } = context
  await recordSecurityEvent(parts, tx, {
    account_id,
    kind: 'recovery_code_used',
    at: parts.clock.now(),
    client,
    ...(session_id !== undefined && { session_id }),
    details: { codes_left: await countRecoveryCodes(tx, account_id) },
  })
}
