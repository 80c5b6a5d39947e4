// The second step of a sign-in: the password was right, and the account has a factor. What is answered is a question with
// an id of its own; its right answer opens the session, if the password is still the one that was shown.

import type { Db, Queryable, Tx } from '../../platform/db.ts'
import { ApiError } from '../../platform/errors.ts'
import { digestSecret } from '../../platform/tokens.ts'
import { recordSecurityEvent } from '../security-log/security-log.ts'
import type { Client } from '../sessions.ts'
import { lockPassword } from '../store.ts'
import { answerChallenge, isOpen, openSignIn } from './challenges.ts'
import { relyingParty, requestOptions } from './passkeys.ts'
import {
  consumeProof,
  countProof,
  type FactorProofParts,
  type GivenProof,
  PROOF_KINDS,
  type ProofKind,
} from './proofs.ts'
import {
  type ChallengeRow,
  countRecoveryCodes,
  deleteChallenge,
  findSignIn,
  listFactorRows,
  listPasskeys,
  lockSignIn,
} from './store.ts'

export type SecondStepParts = FactorProofParts & { db: Db }

/** What the caller of a sign-in is told, and may answer. */
export type SecondStep = {
  challenge_id: string
  factors: ProofKind[]
  expires_at: Date
  passkey_options?: Awaited<ReturnType<typeof requestOptions>>
}

/** In the transaction that verified the password. Undefined: the account has no second factor. */
export async function askSecondStep(
  parts: SecondStepParts,
  tx: Tx,
  entrant: { account_id: string; password_hash: string },
): Promise<SecondStep | undefined> {
  const factors = await listFactorRows(tx, entrant.account_id)
  if (factors.length === 0) return undefined
  const opened = await openSignIn(tx, entrant, parts.clock.now())
  return await describeStep(parts, tx, { ...opened, account_id: entrant.account_id })
}

/** For a page that shows the question again. Undefined: it is answered, dead or too old. */
export async function readSecondStep(
  parts: SecondStepParts,
  challenge_id: string,
): Promise<SecondStep | undefined> {
  const row = await findSignIn(parts.db, digestSecret(challenge_id))
  if (!isOpen(row, parts.clock.now())) return undefined
  return await describeStep(parts, parts.db, { ...row, challenge_id })
}

export function secondFactorRequired(step: SecondStep): ApiError {
  const { expires_at, ...told } = step
  return new ApiError('second_factor_required', {
    fields: { ...told, expires_at: expires_at.toISOString() },
  })
}

/** `enter` opens the session; a right answer without it is none. */
export async function answerSecondStep<Entered>(
  parts: SecondStepParts,
  given: { challenge_id: string; proof: GivenProof; client: Client },
  enter: (tx: Tx, account_id: string) => Promise<Entered>,
): Promise<Entered> {
  const digest = digestSecret(given.challenge_id)
  const asked = await findSignIn(parts.db, digest)
  if (!isOpen(asked, parts.clock.now())) throw stepIsOver()
  await countProof(parts, asked.account_id, given.proof)
  const result = await parts.db.transaction(async (tx) => {
    // The account before its question, as everybody does who locks both.
    if (!(await lockPassword(tx, asked.account_id, asked.password_hash ?? ''))) {
      await deleteChallenge(tx, asked.id)
      return { failed: stepIsOver() }
    }
    const row = await lockSignIn(tx, digest)
    if (!isOpen(row, parts.clock.now())) return { failed: stepIsOver() }
    if (!(await isRight(parts, tx, { row, ...given }))) return { failed: wrongAnswer() }
    return { entered: await enter(tx, row.account_id) }
  })
  if ('failed' in result) throw result.failed
  return result.entered
}

async function isRight(
  parts: SecondStepParts,
  tx: Tx,
  given: { row: ChallengeRow; proof: GivenProof; client: Client },
): Promise<boolean> {
  const { row, proof, client } = given
  const { account_id, challenge } = row
  const context = { account_id, challenge, purpose: 'sign_in', client } as const
  const kind = await answerChallenge(tx, row, () => consumeProof(parts, tx, proof, context))
  if (kind !== undefined) return true
  // Of its own kind, and mailed: somebody else may have the password.
  const event = { account_id, kind: 'second_factor_failed', at: parts.clock.now(), client } as const
  await recordSecurityEvent(parts, tx, event)
  return false
}

async function describeStep(
  parts: SecondStepParts,
  db: Queryable,
  opened: { challenge_id: string; challenge: string; account_id: string; expires_at: Date },
): Promise<SecondStep> {
  const { challenge_id, challenge, account_id, expires_at } = opened
  const factors = await listFactorRows(db, account_id)
  const has: Record<ProofKind, boolean> = {
    passkey: factors.some(({ kind }) => kind === 'passkey'),
    totp: factors.some(({ kind }) => kind === 'totp'),
    recovery_code: (await countRecoveryCodes(db, account_id)) > 0,
  }
  const party = relyingParty(parts.public_url)
  const step = { challenge_id, factors: PROOF_KINDS.filter((kind) => has[kind]), expires_at }
  if (!has.passkey || !party) return step
  const known = await listPasskeys(db, account_id)
  return {
    ...step,
    passkey_options: await requestOptions(party, { challenge, purpose: 'sign_in', known }),
  }
}

/** For every reason the same words: whoever guesses ids learns nothing. */
function stepIsOver(): ApiError {
  return new ApiError('invalid_credentials', {
    message: 'This sign-in was answered before, had too many wrong answers, or is too old.',
    hint: 'Log in again with POST /auth/login.',
    param: 'challenge_id',
  })
}

function wrongAnswer(): ApiError {
  return new ApiError('invalid_credentials', {
    message: 'The code is wrong or was used before, or the passkey did not fit.',
    hint: 'Wait for the next code. After 5 wrong answers, log in again.',
  })
}
