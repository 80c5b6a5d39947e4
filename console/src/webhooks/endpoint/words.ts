// What becomes of a delivery, in words: "3rd try in 12 minutes".

import { formatDistance } from '../../format.ts'
import type { Delivery, Status } from './deliveries.ts'

const MINUTE_MS = 60_000

export const STATUS_WORDS: Record<Status, string> = {
  pending: 'Waiting',
  delivered: 'Delivered',
  failed: 'Failed',
  cancelled: 'Cancelled',
}

export const STATUS_TONES: Record<Status, 'plain' | 'good' | 'warn' | 'danger'> = {
  pending: 'warn',
  delivered: 'good',
  failed: 'danger',
  cancelled: 'plain',
}

type Told = Pick<Delivery, 'status' | 'attempt' | 'next_attempt_at' | 'test'>

export function describeProgress(
  delivery: Told,
  { now, is_active }: { now: number; is_active: boolean },
): string {
  const { status, attempt, next_attempt_at, test } = delivery
  switch (status) {
    case 'pending':
      if (!is_active) return 'Not sent while paused'
      // Before the first try, the time is that of a sender who holds it.
      if (attempt === 0 || next_attempt_at === null) return 'Being sent'
      return `${ordinal(attempt + 1)} try ${describeWait(next_attempt_at, now)}`
    case 'delivered':
      return attempt <= 1 ? 'At the first try' : `At the ${ordinal(attempt)} try`
    case 'failed':
      if (test && attempt <= 1) return 'A test is tried once'
      return attempt === 1 ? 'Given up after one try' : `Given up after ${attempt} tries`
    case 'cancelled':
      return 'The webhook was off'
  }
}

function describeWait(at: string, now: number): string {
  const wait_ms = Date.parse(at) - now
  if (wait_ms <= 0) return 'now'
  if (wait_ms < MINUTE_MS) return 'within a minute'
  return formatDistance(at, now)
}

export function ordinal(number: number): string {
  const tens = number % 100
  if (tens >= 11 && tens <= 13) return `${number}th`
  const ends: Record<number, string> = { 1: 'st', 2: 'nd', 3: 'rd' }
  return `${number}${ends[number % 10] ?? 'th'}`
}

export function describeDuration(duration_ms: number): string {
  return duration_ms < 1_000 ? `${duration_ms} ms` : `${(duration_ms / 1_000).toFixed(1)} s`
}
