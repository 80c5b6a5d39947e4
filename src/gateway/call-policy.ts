// Who may make a call to a model, and what it can be answered with.

import type { RoutePolicy } from '../http/access.ts'

export const CALL_POLICY = {
  access: 'caller',
  scope: 'credits.spend',
  errors: [
    'bad_request',
    'insufficient_credits',
    'user_not_found',
    'model_not_found',
    'content_filtered',
    'provider_rate_limited',
    'pricing_error',
    'upstream_error',
    'provider_misconfigured',
    'provider_unavailable',
    'provider_timeout',
  ],
} as const satisfies RoutePolicy

/** The owner of a session tries a model: their own wallet pays, no key and no app is part of it. */
export const PLAYGROUND_POLICY = {
  access: 'session',
  errors: CALL_POLICY.errors,
} as const satisfies RoutePolicy
