// Step-up: what could cost the owner dearly is done only by a session whose owner has lately shown who they are, with
// the password or a second factor. A stolen session alone is then not enough.

import type { SessionPrincipal } from '../http/access.ts'
import type { Clock } from '../platform/clock.ts'
import { ApiError } from '../platform/errors.ts'

const PROOF_LASTS_MS = 15 * 60_000

export type StepUpParts = { clock: Clock }

/** Refuses with 403 `forbidden` where the last proof is older than a quarter of an hour. */
export function requireRecentProof({ clock }: StepUpParts, session: SessionPrincipal): void {
  if (clock.now().getTime() - session.proved_at.getTime() <= PROOF_LASTS_MS) return
  throw new ApiError('forbidden', {
    message: 'This needs a fresh proof that it is you.',
    hint: 'Send your password to POST /auth/step-up, then try again within 15 minutes.',
  })
}
