// The spending cap as people fill it in: at consent, and later among their connected apps.

import { CREDITS_MAX, formatDollars, parseDollars } from '../platform/money.ts'
import { type Parameters, refusal } from './parameters.ts'
import type { Cap } from './store.ts'

/** What is proposed to somebody who has not chosen a cap for this app yet, nor to have none. */
const PROPOSED_USD = '10.00'

/** What the form shows, or shows again with what is wrong. */
export type ShownCap = { kind: 'none' | 'monthly' | 'daily'; usd: string; fault?: string }

export type TypedCap = ShownCap & { credits: bigint | null }

export function proposeCap(known: (Cap & { cap_chosen: boolean }) | undefined): ShownCap {
  if (!known?.cap_chosen) return { kind: 'monthly', usd: PROPOSED_USD }
  const { cap_credits: credits } = known
  if (credits === null) return { kind: 'none', usd: PROPOSED_USD }
  const kind = known.cap_period === 'day' ? 'daily' : 'monthly'
  return { kind, usd: formatDollars(credits).replaceAll(/[$,]/g, '') }
}

/** A page that did not ask for a cap changes none. */
export function readConsentCap(form: Parameters): TypedCap | undefined {
  const kind = form.read('cap')
  if (kind === undefined) return undefined
  const usd = form.read('cap_usd') ?? ''
  const is_typed = usd.trim() !== '' && usd !== form.read('cap_shown')
  if (kind !== 'none' || !is_typed) return readCap(kind, usd)
  // Without script, typing an amount does not choose it. It is about money: ask again, with the cap chosen.
  const fault = 'You typed an amount but chose “No cap”. Is this your cap? Then allow once more.'
  return { kind: 'monthly', usd, credits: null, fault }
}

export function readCap(kind: string, usd: string): TypedCap {
  if (kind === 'none') return { kind, usd, credits: null }
  if (kind !== 'monthly' && kind !== 'daily') throw refusal('cap is none, monthly or daily.')
  const credits = parseDollars(usd)
  if (credits !== undefined && credits > 0n && credits <= CREDITS_MAX) {
    return { kind, usd, credits }
  }
  const fault = 'Enter an amount in dollars, such as 10 or 2.50.'
  return { kind, usd, credits: null, fault }
}

/** As it is kept. */
export function capOfForm({ kind, credits }: TypedCap): Cap {
  return { cap_credits: credits, cap_period: kind === 'daily' ? 'day' : 'month' }
}
