// What to do with a payout that is still pending: its process died, or no answer came. The list at the processor says
// whether the transfer exists; only if it does not, it is asked for again, with the key and the parameters it had.

import type { Log } from '../platform/log.ts'
import { DAY_MS } from './rules.ts'
import type { PayoutRow } from './store.ts'
import { findTransfer, type Processor, type Sent } from './transfers.ts'

/** The processor keeps keys for a day at least. Within this time a repeated request cannot execute twice. */
const KEY_LIVES_MS = 23 * 3_600_000
const ALARM_AFTER_MS = 3 * DAY_MS

export type Step = { kind: 'send' } | { kind: 'known'; sent: Sent }

export async function resolveStep(
  parts: Processor & { log: Log },
  payout: PayoutRow,
  now: Date,
): Promise<Step> {
  const age_ms = now.getTime() - payout.created_at.getTime()
  if (age_ms >= ALARM_AFTER_MS) {
    const days = Math.floor(age_ms / DAY_MS)
    parts.log.error({ alarm: 'payout', payout_id: payout.id, days }, 'a payout is pending for days')
  }
  const found = await findTransfer(parts, payout)
  switch (found.kind) {
    case 'found':
      return { kind: 'known', sent: { kind: 'paid', transfer_id: found.transfer_id } }
    case 'none':
      return { kind: 'send' }
    case 'differs':
      return { kind: 'known', sent: { kind: 'unknown', reason: found.detail, mismatched: true } }
    case 'unknown':
      // Without the list only the key protects.
      if (now.getTime() - payout.first_attempt_at.getTime() < KEY_LIVES_MS) return { kind: 'send' }
      return { kind: 'known', sent: { kind: 'unknown', reason: found.reason, mismatched: false } }
  }
}
