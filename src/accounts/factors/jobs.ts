// Background work of factors: forgets questions that are too old, and seals secrets of apps that an older key sealed with
// the present one, so that the older can be taken away (docs/operations.md, keys for secrets).

import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/db.ts'
import type { Log } from '../../platform/log.ts'
import type { SecretBox } from '../../platform/secret-box.ts'
import type { Job } from '../../platform/worker.ts'
import { deleteExpiredChallenges, listTotpSecrets, replaceTotpSecret } from './store.ts'

const NO_ID = '00000000-0000-0000-0000-000000000000'
const PAGE_SIZE = 500

const EVERY_MS = 10 * 60_000

export type FactorJobParts = { db: Db; clock: Clock; log: Log; secret_box: SecretBox }

export function factorJobs(parts: FactorJobParts): Job[] {
  return [
    {
      name: 'accounts.forget_challenges',
      every_ms: EVERY_MS,
      run: () => deleteExpiredChallenges(parts.db, parts.clock.now()),
    },
    {
      name: 'accounts.reseal_totp',
      every_ms: EVERY_MS,
      run: (signal) => resealTotp(parts, signal),
    },
  ]
}

async function resealTotp(parts: FactorJobParts, signal?: AbortSignal): Promise<void> {
  for (let after_id = NO_ID; ; ) {
    const rows = await listTotpSecrets(parts.db, { after_id, count: PAGE_SIZE })
    for (const { id, sealed_secret: sealed } of rows) {
      if (!parts.secret_box.isCurrent(sealed)) await reseal(parts, id, sealed)
    }
    const last = rows.at(-1)
    if (!last || rows.length < PAGE_SIZE || signal?.aborted) return
    after_id = last.id
  }
}

/** One whose key is missing keeps none of the others. */
async function reseal({ db, log, secret_box }: FactorJobParts, id: string, sealed: string) {
  try {
    const resealed = secret_box.seal(secret_box.open(sealed, id), id)
    await replaceTotpSecret(db, { id, sealed, resealed })
  } catch (error) {
    log.error({ err: error, factor_id: id }, 'a secret cannot be sealed anew')
  }
}
