// What GET /account says of the service itself, so that its pages need no settings of their own.

import { PROVIDERS } from './catalog/models.ts'
import type { Config } from './config.ts'
import { CREDITS_PER_DOLLAR } from './platform/money.ts'
import type { ServiceDescription } from './usage/account-routes.ts'

/** What a page offers with one press; those outside the bounds are left out. */
const SUGGESTED_USD = [5, 10, 20, 50, 100, 250]

export function describeService(config: Config): ServiceDescription {
  const { TOPUP_MIN_USD: min_usd, TOPUP_MAX_USD: max_usd } = config
  const api_keys = {
    openai: config.OPENAI_API_KEY,
    anthropic: config.ANTHROPIC_API_KEY,
    google: config.GOOGLE_API_KEY,
    elevenlabs: config.ELEVENLABS_API_KEY,
  }
  const fits = (usd: number) => usd >= min_usd && usd <= max_usd
  return {
    mode: config.SVC_MODE,
    service: {
      public_url: config.PUBLIC_URL,
      currency: 'usd',
      credits_per_usd: Number(CREDITS_PER_DOLLAR),
      topup: canTopUp(config)
        ? { min_usd, max_usd, suggested_usd: SUGGESTED_USD.filter(fits) }
        : null,
      providers: PROVIDERS.filter((name) => api_keys[name] !== undefined),
    },
  }
}

/** Nobody is to pay where the payment would not be heard of. */
export function canTopUp({ STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET }: Config): boolean {
  return STRIPE_SECRET_KEY !== undefined && STRIPE_WEBHOOK_SECRET !== undefined
}
