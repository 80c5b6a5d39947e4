// Deletes accounts whose thirty days are over.

import type { Job } from '../../platform/worker.ts'
import { type DeletionParts, deleteClosed } from './closing.ts'

const EVERY_MS = 10 * 60_000

export function deleteClosedJob(parts: DeletionParts): Job {
  return {
    name: 'accounts.delete_closed',
    every_ms: EVERY_MS,
    run: (signal) => deleteClosed(parts, signal),
  }
}
