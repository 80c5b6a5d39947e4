// The spending cap as people fill it in: at consent, and later among their connected apps.

import { CREDITS_MAX, formatDollars, parseDollars } from '../platform/money.ts'
import { type ClientType, isPublic } from './client-types.ts'
import { type Parameters, refusal } from './parameters.ts'
import type { Scope } from './scopes.ts'
import type { Cap } from './store.ts'

/** What is proposed to somebody who has not chosen a cap for this app yet, nor to have none. */
const PROPOSED_USD = '10.00'
/** The same for an app without a server, where a cap has to be. */
const PROPOSED_PUBLIC_USD = '5.00'

/** What the form shows, or shows again with what is wrong. */
export type ShownCap = {
  kind: 'none' | 'monthly' | 'daily'
  usd: string
  /** The choice of no cap is not offered. */
  is_required?: boolean
  fault?: string
}

export type TypedCap = ShownCap & { credits: bigint | null }

export function proposeCap(
  app: { client_type: ClientType },
  known: (Cap & { cap_chosen: boolean }) | undefined,
): ShownCap {
  const is_required = isPublic(app)
  const proposed = is_required ? PROPOSED_PUBLIC_USD : PROPOSED_USD
  const credits = known?.cap_credits ?? null
  if (!known?.cap_chosen || (credits === null && is_required)) {
    return { kind: 'monthly', usd: proposed, is_required }
  }
  if (credits === null) return { kind: 'none', usd: proposed }
  const kind = known.cap_period === 'day' ? 'daily' : 'monthly'
  return { kind, usd: formatDollars(credits).replaceAll(/[$,]/g, ''), is_required }
}

/**
 * A page that did not ask for a cap changes none. Whoever runs in the user's browser or on their machine cannot be told
 * from others, so there the cap is the one thing that bounds what is lost: it has to be.
 */
export function readConsentCap(
  { app, scopes }: { app: { client_type: ClientType }; scopes: readonly Scope[] },
  form: Parameters,
): TypedCap | undefined {
  if (isPublic(app)) return scopes.includes('credits.spend') ? readRequiredCap(form) : undefined
  const kind = form.read('cap')
  if (kind === undefined) return undefined
  const usd = form.read('cap_usd') ?? ''
  const is_typed = usd.trim() !== '' && usd !== form.read('cap_shown')
  if (kind !== 'none' || !is_typed) return readCap(kind, usd)
  // Without script, typing an amount does not choose it. It is about money: ask again, with the cap chosen.
  const fault = 'You typed an amount but chose “No cap”. Is this your cap? Then allow once more.'
  return { kind: 'monthly', usd, credits: null, fault }
}

function readRequiredCap(form: Parameters): TypedCap {
  const kind = form.read('cap')
  const usd = form.read('cap_usd') ?? ''
  if (kind === 'monthly' || kind === 'daily') {
    return { ...readCap(kind, usd), is_required: true }
  }
  const fault = 'This app needs a cap. Is this amount right? Then allow once more.'
  const shown = usd.trim() === '' ? PROPOSED_PUBLIC_USD : usd
  return { kind: 'monthly', usd: shown, credits: null, is_required: true, fault }
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
