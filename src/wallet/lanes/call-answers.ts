// What the database answered to a hold or a settlement, in the words of the caller; what cannot be is an alarm.

import { ApiError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import type { LedgerMetrics } from '../../platform/metrics.ts'
import { timeOf } from '../bucket.ts'
import {
  type Hold,
  type HoldRequest,
  holdOf,
  type Settlement,
  type SettleRequest,
} from '../holds.ts'
import { limitReached, roomIsHeld } from '../spend-limits.ts'
import type { HoldRow, SettleRow } from '../store.ts'
import { busy } from './batch-entry.ts'

export function readHold(request: HoldRequest, row: HoldRow): Hold {
  const { id, wallet_id, min_credits, max_credits } = request
  switch (row.state) {
    case 'granted':
      if (row.granted === null) throw new Error(`hold ${id} was granted nothing`)
      if (row.granted < min_credits || row.granted > max_credits) {
        throw new Error(`hold ${id} was granted ${row.granted}`)
      }
      return {
        ...holdOf(request, row.granted),
        ...(row.ceiling !== null && { ceiling: row.ceiling }),
      }
    case 'insufficient':
      throw new ApiError('insufficient_credits', { detail: row.state })
    case 'blocked':
      throw roomIsHeld(request.spend_limits ?? [])
    case 'limit_reached': {
      const limit = request.spend_limits?.find(({ owner_id }) => owner_id === row.limit_owner_id)
      if (!limit) throw new Error(`hold ${id} was refused by a limit it does not have`)
      throw limitReached(limit, timeOf(id))
    }
    case 'gone':
    case 'stuck':
    case 'too_late':
    case 'lease_lapsed':
      throw busy(`a hold was refused: ${row.state}`)
    case 'no_wallet':
      throw new ApiError('user_not_found', { detail: `no wallet ${wallet_id}` })
    case 'conflict':
      throw new Error(`hold ${id} belongs to another wallet`)
  }
}

export function readSettlement(
  { log, metrics }: { log: Log; metrics: LedgerMetrics },
  request: SettleRequest,
  row: SettleRow,
): Settlement {
  const { hold, used_credits, cost_credits } = request
  if (row.state !== 'settled' && row.state !== 'late') {
    throw new Error(`settle ${hold.id} answered ${row.state}`)
  }
  const { charged, shortfall, balance_before, balance_after } = row
  const adds_up = balance_before - charged === balance_after && charged + shortfall === used_credits
  if (!adds_up || balance_after < 0n || charged < 0n || shortfall < 0n) {
    metrics.ledger_invariant_breaks.inc({ invariant: 'settlement_adds_up' })
    log.error({ alarm: 'ledger', invariant: 'settlement_adds_up', hold: hold.id }, 'ledger alarm')
  }
  if (shortfall > 0n) {
    metrics.ledger_shortfall.inc(Number(shortfall))
    log.error({ alarm: 'ledger_shortfall', hold: hold.id, credits: Number(shortfall) }, 'shortfall')
  }
  if (row.state === 'late') log.warn({ hold: hold.id }, 'settled late, without its hold')
  return {
    id: hold.id,
    state: row.state,
    credits_used: charged,
    markup_credits: charged > cost_credits ? charged - cost_credits : 0n,
    shortfall_credits: shortfall,
    balance_before,
    balance_after,
  }
}
