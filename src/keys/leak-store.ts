// SQL of keys that were found in public.

import { statement, type Tx } from '../platform/db.ts'
import type { NamedKey } from './store.ts'

export type LeakedKey = NamedKey & {
  account_id: string
  token_digest: Buffer
  previous_digest: Buffer | null
  previous_secret_until: Date | null
  revoked_at: Date | null
}

// In the order of their ids, as everybody locks keys: two reports of the same keys must not wait in a circle.
const LOCK_LEAKED = statement<LeakedKey>(
  'keys.lock_leaked',
  `select id, account_id, name, prefix, token_digest, previous_digest, previous_secret_until, revoked_at
   from api_key
   where token_digest = any ($1::bytea[])
      or previous_digest = any ($1::bytea[])
   order by id
   for no key update`,
)

const END_KEY = statement<object>(
  'keys.end_leaked_key',
  `update api_key
   set revoked_at = $2::timestamptz
   where id = $1::uuid`,
)

const END_PREVIOUS_SECRET = statement<object>(
  'keys.end_previous_secret',
  `update api_key
   set previous_secret_until = $2::timestamptz
   where id = $1::uuid`,
)

/** Also keys that have ended: a scanner may tell of them again. */
export async function lockLeaked(tx: Tx, digests: readonly Buffer[]): Promise<LeakedKey[]> {
  return await tx.run(LOCK_LEAKED, [digests])
}

/** Of a key that is locked. */
export async function endSecret(
  tx: Tx,
  id: string,
  { secret, at }: { secret: 'current' | 'previous'; at: Date },
): Promise<void> {
  await tx.run(secret === 'current' ? END_KEY : END_PREVIOUS_SECRET, [id, at])
}
