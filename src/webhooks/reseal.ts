// Secrets that an older key of the service sealed are sealed with the present one, so that the older can be taken away.

import type { Queryable } from '../platform/db.ts'
import type { Log } from '../platform/log.ts'
import type { SecretBox } from '../platform/secret-box.ts'
import { listSecrets, replaceSealed } from './store.ts'

const NO_ID = '00000000-0000-0000-0000-000000000000'
const PAGE_SIZE = 500

export type ResealParts = { db: Queryable; log: Log; secret_box: SecretBox }

export async function resealSecrets(parts: ResealParts, signal?: AbortSignal): Promise<void> {
  for (let after_id = NO_ID; ; ) {
    const rows = await listSecrets(parts.db, { after_id, count: PAGE_SIZE })
    const secrets = rows.flatMap(({ id, secret, previous_secret }) => [
      { id, sealed: secret },
      { id, sealed: previous_secret },
    ])
    for (const { id, sealed } of secrets) {
      if (sealed !== null && !parts.secret_box.isCurrent(sealed)) await reseal(parts, id, sealed)
    }
    const last = rows.at(-1)
    if (!last || rows.length < PAGE_SIZE || signal?.aborted) return
    after_id = last.id
  }
}

/** One whose key is missing keeps none of the others. */
async function reseal({ db, log, secret_box }: ResealParts, id: string, sealed: string) {
  try {
    const resealed = secret_box.seal(secret_box.open(sealed, id), id)
    await replaceSealed(db, { id, sealed, resealed })
  } catch (error) {
    log.error({ err: error, webhook_id: id }, 'a secret cannot be sealed anew')
  }
}
