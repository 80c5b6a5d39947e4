// Idempotency-Key: one effect for each key, and the same answer, byte for byte, to everyone who asks again.
// The key row, the effect and the answer are one transaction, so there is no state in between.

import { createHash } from 'node:crypto'
import type { Db, Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { toJson } from '../platform/money.ts'
import { bucketOf } from './bucket.ts'
import { INSERT_IDEMPOTENCY, SELECT_IDEMPOTENCY, UPDATE_IDEMPOTENCY } from './store.ts'

export type IdempotentRequest = {
  /** Whose key it is: keys of different accounts never meet. */
  principal: string
  endpoint: string
  /** The header, as it came. */
  key: string | undefined
  /** The parsed body; the order of its fields does not matter. */
  body: unknown
  at: Date
}

export type IdempotentAnswer = {
  status: number
  /** JSON text. */
  body: string
  /** Say so with `Idempotent-Replayed: true`. */
  replayed: boolean
}

const KEY_PATTERN = /^[\x20-\x7e]{1,255}$/

/**
 * A second request with the same key waits for the first to end. If the first was refused, its key row is
 * rolled back with everything else, and the second runs: only successes are remembered.
 */
export async function withIdempotency(
  db: Db,
  request: IdempotentRequest,
  work: (tx: Tx) => Promise<{ status: number; body: object }>,
): Promise<IdempotentAnswer> {
  const row_key = [
    bucketOf(request.principal),
    request.principal,
    request.endpoint,
    readKey(request),
  ]
  const body_hash = hashBody(request.body)
  return await db.transaction(async (tx) => {
    const inserted = await tx.run(INSERT_IDEMPOTENCY, [...row_key, body_hash, request.at])
    if (inserted.length === 0) return await replay(tx, row_key, body_hash)
    const done = await work(tx)
    const body = toJson(done.body)
    await tx.run(UPDATE_IDEMPOTENCY, [...row_key, done.status, body])
    return { status: done.status, body, replayed: false }
  })
}

async function replay(
  tx: Tx,
  row_key: readonly unknown[],
  body_hash: Buffer,
): Promise<IdempotentAnswer> {
  const [row] = await tx.run(SELECT_IDEMPOTENCY, row_key)
  if (!row || row.status === null || row.response === null) {
    throw new ApiError('service_unavailable', { headers: { 'retry-after': '1' } })
  }
  if (!row.body_hash.equals(body_hash)) {
    throw new ApiError('bad_request', {
      message: 'This Idempotency-Key was used with another body.',
      hint: 'Use a new key for a new request.',
      param: 'Idempotency-Key',
    })
  }
  return { status: row.status, body: row.response, replayed: true }
}

function readKey(request: IdempotentRequest): string {
  const { key } = request
  if (key !== undefined && KEY_PATTERN.test(key)) return key
  throw new ApiError('bad_request', {
    message: 'The Idempotency-Key header is missing or not 1 to 255 printable characters.',
    hint: 'Send one key, such as a UUID, and the same again when you repeat the request.',
    param: 'Idempotency-Key',
  })
}

export function hashBody(body: unknown): Buffer {
  return createHash('sha256')
    .update(toJson(sortFields(body)))
    .digest()
}

function sortFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortFields)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1))
  return Object.fromEntries(fields.map(([name, field]) => [name, sortFields(field)]))
}
