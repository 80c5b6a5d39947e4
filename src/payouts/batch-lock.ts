// One batch at a time, in this process and over all: a convenience, because the claims are safe without it. The lock is
// that of a session of its own, so that it goes with the process, however that ends. Whoever loses the session is told,
// because another batch may have begun.

import { openClient } from '../platform/session.ts'

const LOCK_ID = 7_233_005

let running = false

/** Undefined at once if a batch runs anywhere. */
export async function withBatchLock<Result>(
  database_url: string,
  work: (lost: AbortSignal) => Promise<Result>,
): Promise<Result | undefined> {
  // A session may take its lock twice: it alone does not keep this process from running two.
  if (running) return undefined
  running = true
  try {
    const client = await openClient({ url: database_url, application_name: 'svc payouts' })
    try {
      const { rows } = await client.query<{ locked: boolean }>(
        'select pg_try_advisory_lock($1) as locked',
        [LOCK_ID],
      )
      if (!rows[0]?.locked) return undefined
      const lost = new AbortController()
      client.once('end', () => lost.abort())
      return await work(lost.signal)
    } finally {
      await client.end().catch(() => {})
    }
  } finally {
    running = false
  }
}
