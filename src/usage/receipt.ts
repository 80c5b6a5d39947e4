// The receipt of one call: what was used times what it cost, the one rounding, the markup, and who ended it.

import type { Principal } from '../http/access.ts'
import type { Queryable } from '../platform/db.ts'
import { ApiError, findErrorEntry } from '../platform/errors.ts'
import { divideRoundUp } from '../platform/money.ts'
import { type Call, findCall, showTo } from './calls.ts'
import type { CallRow } from './calls-store.ts'
import {
  type AudioCharge,
  audioChargeOf,
  longCacheWrites,
  pricesOf,
  soundTokens,
} from './prices.ts'

export const ENDED_BY = ['provider', 'client', 'service', 'credits', 'gateway'] as const
export type EndedBy = (typeof ENDED_BY)[number]

/** As `pricing.unit` in GET /v1/models. */
export const RECEIPT_UNITS = ['token', 'character', 'hour', 'generation'] as const

const MS_PER_HOUR = 3_600_000n

/** By the outcome of the call; all others the provider ended. */
const ENDED: ReadonlyMap<string, EndedBy> = new Map([
  ['client_left', 'client'],
  ['service_stopped', 'service'],
  ['out_of_credits', 'credits'],
  ['refused', 'gateway'],
])

/** `millionths` of a credit: their sum is rounded up once. */
export type ReceiptLine = {
  bucket: string
  unit: (typeof RECEIPT_UNITS)[number]
  tokens: number
  price: number
  millionths: bigint
}

export type Receipt = {
  call: Call
  lines: ReceiptLine[]
  ended_by: EndedBy
  error: { message: string; hint: string | null } | null
}

/** For the credential that made the call, the wallet that paid for it, or the developer it came through. */
export async function readReceipt(
  db: Queryable,
  principal: Principal,
  id: string,
): Promise<Receipt> {
  const row = await findCall(db, id)
  const call = row && visibleTo(principal, row)
  if (!call) throw new ApiError('not_found', { message: 'You have no call of that id.' })
  const ended_by = ENDED.get(call.outcome ?? '') ?? 'provider'
  return { call, lines: linesOf(call), ended_by, error: explain(call.error_code) }
}

/** In the words of today's table: a code of long ago may be gone from it. */
function explain(code: string | null): Receipt['error'] {
  const entry = code === null ? undefined : findErrorEntry(code)
  return entry ? { message: entry.message, hint: entry.hint ?? null } : null
}

function visibleTo(principal: Principal, row: CallRow): Call | undefined {
  switch (principal.kind) {
    case 'key':
      // The reply of the call told this key everything that the receipt does.
      return row.key_id === principal.key_id ? row : undefined
    case 'token': {
      const made_it =
        row.wallet_id === principal.account_id && row.client_id === principal.client_id
      return made_it ? { ...row, key_id: null } : undefined
    }
    case 'session': {
      const { account_id } = principal
      const may_see = row.wallet_id === account_id || row.developer_id === account_id
      return may_see ? showTo(account_id, row) : undefined
    }
  }
}

function linesOf(call: Call): ReceiptLine[] {
  const audio = audioChargeOf(call)
  if (audio) return [audioLine(audio)]
  const prices = pricesOf(call)
  if (!prices) return []
  const long_writes = longCacheWrites(call)
  const sound = soundTokens(call)
  const line = (bucket: string, tokens: number, price: number): ReceiptLine => ({
    bucket,
    unit: 'token',
    tokens,
    price,
    millionths: BigInt(tokens) * BigInt(price),
  })
  return [
    line('input', call.input_tokens - sound, prices.input),
    ...(sound > 0 ? [line('audio_input', sound, prices.audio_input ?? prices.input)] : []),
    line('cached_input', call.cached_input_tokens, prices.cached_input),
    line('cache_write', call.cache_write_tokens - long_writes, prices.cache_write),
    ...(long_writes > 0 ? [line('cache_write_1h', long_writes, prices.cache_write_1h)] : []),
    line('output', call.output_tokens, prices.output),
  ]
}

/** Rounding up to millionths and then to credits comes to what one rounding comes to. */
function audioLine({ bucket, unit, count, price }: AudioCharge): ReceiptLine {
  const parts_per_unit = unit === 'hour' ? MS_PER_HOUR : 1n
  const millionths = divideRoundUp(BigInt(count) * BigInt(price), parts_per_unit)
  return { bucket, unit, tokens: count, price, millionths }
}
