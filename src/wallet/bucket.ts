// Buckets: the unit in which wallets can one day be spread over servers. A wallet's bucket is part of its
// id, and so is part of every id that belongs to the wallet.

import { randomInt } from 'node:crypto'
import { mintId } from '../platform/tokens.ts'

export const BUCKET_COUNT = 64

export const ALL_BUCKETS: readonly number[] = Array.from(
  { length: BUCKET_COUNT },
  (_, index) => index,
)

/** Bits of the tag below the bucket, spare for later splits. */
const SPARE_BITS = 6

/** The top 6 of the 12 bits that follow the version of a UUIDv7. */
export function bucketOf(id: string): number {
  const rand_a = Number.parseInt(id.slice(15, 18), 16)
  if (!Number.isInteger(rand_a)) throw new Error('this is not an id')
  return rand_a >> SPARE_BITS
}

/** A fresh id that lives in the wallet's bucket: for holds, journal transactions and usage events. */
export function mintWalletId(wallet_id: string, at: Date): string {
  const tag = (bucketOf(wallet_id) << SPARE_BITS) | randomInt(1 << SPARE_BITS)
  return mintId({ at, tag })
}

/** The time in a UUIDv7. */
export function timeOf(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))
}
