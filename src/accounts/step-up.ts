// Step-up: what could cost the owner dearly is done only by a session whose owner has lately shown who they are, with
// the password or a second factor. A stolen session alone is then not enough.

import type { SessionPrincipal } from '../http/access.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { InvalidationFeed } from '../platform/invalidation.ts'
import { answerChallenge, isOpen, openChallenge } from './factors/challenges.ts'
import { relyingParty, requestOptions } from './factors/passkeys.ts'
import {
  consumeProof,
  countProof,
  type FactorProofParts,
  type GivenProof,
} from './factors/proofs.ts'
import { listFactorRows, listPasskeys, lockChallenge, proveSession } from './factors/store.ts'
import { verifyPassword } from './passwords.ts'
import type { Client } from './sessions.ts'
import { findAccount, lockPassword } from './store.ts'

const PROOF_LASTS_MS = 15 * 60_000

/** `with_second_factor`: accounts without one are asked for nothing, as the specification has it. */
export type StepUpMode = 'always' | 'with_second_factor'

export type StepUpParts = { clock: Clock; step_up: StepUpMode }

type Prover = Pick<SessionPrincipal, 'proved_at' | 'has_second_factor'>

/** Refuses with 403 `step_up_required` where the last proof is older than a quarter of an hour. */
export function requireRecentProof(parts: StepUpParts, session: Prover): void {
  if (needsProof(parts, session)) throw stepUpRequired()
}

/** For pages, which lead to the step-up page instead of refusing. */
export function needsProof(parts: StepUpParts, session: Prover): boolean {
  if (parts.step_up === 'with_second_factor' && !session.has_second_factor) return false
  return isOld(parts, session)
}

/** Whatever the setting says: for changes of the factors themselves, which the specification knows nothing of. */
export function requireFreshProof(parts: { clock: Clock }, session: Prover): void {
  if (isOld(parts, session)) throw stepUpRequired()
}

export function isOld({ clock }: { clock: Clock }, { proved_at }: Prover): boolean {
  return clock.now().getTime() - proved_at.getTime() > PROOF_LASTS_MS
}

export type StepUpWorkParts = FactorProofParts & { db: Db; feed: InvalidationFeed }

/** Exactly one of them is there. Recovery codes are for signing in only. */
export type StepUpProof = Omit<GivenProof, 'recovery_code'> & { password?: string }

export const STEP_UP_KINDS = ['password', 'totp', 'passkey'] as const

export type StepUpAsker = { account_id: string; session_id: string; client: Client }

/** What the session may show, and what a passkey would have to sign. */
export async function askStepUp(parts: StepUpWorkParts, asker: StepUpAsker) {
  const { account_id, session_id } = asker
  const party = relyingParty(parts.public_url)
  return await parts.db.transaction(async (tx) => {
    const kinds = (await listFactorRows(tx, account_id)).map(({ kind }) => kind)
    const proofs = STEP_UP_KINDS.filter((kind) => kind === 'password' || kinds.includes(kind))
    if (!party || !kinds.includes('passkey')) return { proofs, passkey_options: null }
    const wanted = { account_id, session_id, purpose: 'step_up' } as const
    const { challenge } = await openChallenge(tx, wanted, parts.clock.now())
    const known = await listPasskeys(tx, account_id)
    const passkey_options = await requestOptions(party, { challenge, purpose: 'step_up', known })
    return { proofs, passkey_options }
  })
}

/** The session then counts as proved from now on, in every process. */
export async function stepUp(
  parts: StepUpWorkParts,
  asker: StepUpAsker,
  proof: StepUpProof,
): Promise<{ proved_until: Date }> {
  const verified_hash = await checkPassword(parts, asker, proof)
  if (verified_hash === undefined) await countProof(parts, asker.account_id, proof)
  const now = parts.clock.now()
  const is_proved = await parts.db.transaction(async (tx) => {
    const is_right =
      verified_hash === undefined
        ? await isRightProof(parts, tx, { asker, proof })
        : await lockPassword(tx, asker.account_id, verified_hash)
    if (!is_right || !(await proveSession(tx, asker.session_id, now))) return false
    await parts.feed.invalidate(tx, [`session:${asker.session_id}`])
    return true
  })
  if (!is_proved) throw wrongProof()
  return { proved_until: new Date(now.getTime() + PROOF_LASTS_MS) }
}

/** The hash that the password fits; undefined where none was given. */
async function checkPassword(
  parts: StepUpWorkParts,
  { account_id }: StepUpAsker,
  { password }: StepUpProof,
): Promise<string | undefined> {
  if (password === undefined) return undefined
  // Counted before anything is looked at, together with changes of the password.
  await parts.limits.require('password', account_id)
  const hash = (await findAccount(parts.db, account_id))?.password_hash
  if (hash === undefined || !(await verifyPassword(password, hash))) throw wrongProof()
  return hash
}

async function isRightProof(
  parts: StepUpWorkParts,
  tx: Tx,
  given: { asker: StepUpAsker; proof: StepUpProof },
): Promise<boolean> {
  const { asker, proof } = given
  const context = { ...asker, purpose: 'step_up' } as const
  if (proof.passkey === undefined) {
    const kind = await consumeProof(parts, tx, proof, { ...context, challenge: undefined })
    return kind !== undefined
  }
  const asked = await lockChallenge(tx, context)
  if (!isOpen(asked, parts.clock.now())) return false
  const { challenge } = asked
  const kind = await answerChallenge(tx, asked, () =>
    consumeProof(parts, tx, proof, { ...context, challenge }),
  )
  return kind !== undefined
}

function stepUpRequired(): ApiError {
  return new ApiError('step_up_required')
}

function wrongProof(): ApiError {
  return new ApiError('invalid_credentials', {
    message: 'The password or code is wrong or was used before, or the passkey did not fit.',
    hint: 'POST /auth/step-up/options says what can be shown. A passkey answers the last options only.',
  })
}
