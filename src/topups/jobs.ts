// Background work of top-ups: low balances are looked for, and charges that got no clear answer are followed.

import type { Job } from '../platform/worker.ts'
import { type ChargeParts, chargeDue, followOpen } from './automatic-charges.ts'

const CHARGE_EVERY_MS = 5_000
const FOLLOW_EVERY_MS = 15_000

export function topupJobs(parts: ChargeParts): Job[] {
  return [
    {
      name: 'topups.charge_due',
      every_ms: CHARGE_EVERY_MS,
      run: (signal) => chargeDue(parts, signal),
    },
    {
      name: 'topups.follow_open',
      every_ms: FOLLOW_EVERY_MS,
      run: (signal) => followOpen(parts, signal),
    },
  ]
}
