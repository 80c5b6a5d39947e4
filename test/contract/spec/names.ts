// The names that the specification uses: endpoints with their fields, statuses and codes; codes, events, headers.

export type Endpoint = {
  /** What it answers with when all is well. */
  status: number
  request?: readonly string[]
  query?: readonly string[]
  /** A dot leads into an object, or into what a list holds. */
  reply?: readonly string[]
  codes?: readonly string[]
}

const KEY = ['name', 'billing_mode']
const SIGNED_IN = ['user.id', 'user.email', 'user.balance', 'session_token', 'expires_at']
const APP = ['id', 'name', 'client_id', 'redirect_uris', 'created_at']
const NUMBERS = ['svc.credits_used', 'svc.balance_before', 'svc.balance_after', 'svc.billing_mode']
const COMPLETION = ['id', 'object', 'created', 'model', 'choices']
const USAGE = ['usage.prompt_tokens', 'usage.completion_tokens', 'usage.total_tokens']
const HOOK = ['id', 'url', 'events', 'low_balance_threshold', 'active', 'created_at', 'client_id']
const DELIVERY = ['id', 'event_type', 'payload', 'response_status', 'response_body']
const DELIVERY_TIMES = ['delivered_at', 'created_at']
const STATUS = ['connected', 'stripe_account_id', 'charges_enabled', 'payouts_enabled', 'country']
const STATUS_MORE = ['details_submitted', 'onboarding_completed', 'default_currency']
const SUMMARY = ['total_earned', 'pending_payout', 'accumulating', 'reserve_held', 'total_paid_out']
const AMOUNTS = ['gross_amount', 'reserve_amount', 'transfer_amount']
const PAYOUT = ['id', 'earnings_count', 'status', 'period_start', 'period_end', 'created_at']

/** By method and path, as the OpenAPI document writes them. */
export const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  'POST /auth/register': {
    status: 201,
    request: ['email', 'password'],
    reply: SIGNED_IN,
    codes: ['invalid_email', 'weak_password', 'email_exists'],
  },
  'POST /auth/login': {
    status: 200,
    request: ['email', 'password'],
    reply: SIGNED_IN,
    codes: ['invalid_credentials'],
  },
  'GET /auth/me': { status: 200, reply: ['id', 'email', 'balance'] },
  'POST /auth/logout': { status: 200, reply: ['success'] },
  'POST /auth/send-verification': { status: 200, codes: ['rate_limited'] },
  'POST /auth/change-password': {
    status: 200,
    request: ['current_password'],
    codes: ['rate_limited'],
  },
  'POST /developers/keys': { status: 201, request: KEY, reply: [...KEY, 'key', 'id'] },
  'GET /developers/keys': { status: 200, reply: ['data.id'] },
  'DELETE /developers/keys/{id}': { status: 200, codes: ['not_found'] },
  'POST /developers/apps': {
    status: 201,
    request: ['name', 'redirect_uris'],
    reply: [...APP, 'client_secret'],
  },
  'GET /developers/apps': { status: 200, reply: APP.map((field) => `data.${field}`) },
  'DELETE /developers/apps/{id}': { status: 200, codes: ['not_found'] },
  'PATCH /developers/apps/{id}': {
    status: 200,
    request: ['allowed_scopes'],
    reply: [...APP, 'allowed_scopes'],
    codes: ['not_found'],
  },
  'GET /oauth/authorize': {
    status: 200,
    query: [
      'client_id',
      'redirect_uri',
      'response_type',
      'state',
      'scope',
      'code_challenge',
      'storage_mode',
      'external_user_id',
    ],
    codes: ['invalid_request', 'invalid_scope', 'unauthorized_client'],
  },
  'POST /oauth/token': {
    status: 200,
    request: ['grant_type', 'code', 'code_verifier', 'refresh_token'],
    reply: ['access_token', 'refresh_token'],
    codes: ['invalid_client', 'invalid_grant', 'invalid_request', 'invalid_scope'],
  },
  'GET /oauth/userinfo': { status: 200, codes: ['invalid_token', 'user_not_found'] },
  'POST /oauth/revoke': { status: 200, request: ['token'], codes: ['invalid_client'] },
  'POST /v1/chat/completions': {
    status: 200,
    request: ['model', 'messages', 'stream'],
    reply: [...COMPLETION, ...USAGE, ...NUMBERS],
    codes: [
      'invalid_api_key',
      'invalid_token',
      'insufficient_scope',
      'insufficient_credits',
      'bad_request',
      'user_not_found',
      'model_not_found',
      'content_filtered',
      'rate_limit_exceeded',
      'provider_rate_limited',
      'pricing_error',
      'upstream_error',
      'provider_misconfigured',
      'provider_unavailable',
      'provider_timeout',
    ],
  },
  'POST /v1/users/{external_user_id}/chat/completions': {
    status: 200,
    request: ['model', 'messages', 'stream'],
    reply: [...COMPLETION, ...USAGE, ...NUMBERS],
    codes: ['user_not_found', 'insufficient_credits'],
  },
  'POST /v1/messages': { status: 200, request: ['model', 'messages', 'stream'], reply: NUMBERS },
  'POST /v1/webhooks': {
    status: 201,
    request: ['client_id', 'url', 'events', 'low_balance_threshold'],
    reply: [...HOOK, 'secret'],
    codes: ['unauthorized', 'forbidden', 'invalid_request', 'invalid_url'],
  },
  'GET /v1/webhooks': {
    status: 200,
    query: ['client_id'],
    reply: HOOK.map((field) => `data.${field}`),
    codes: ['unauthorized'],
  },
  'GET /v1/webhooks/{id}': { status: 200, reply: HOOK, codes: ['unauthorized', 'not_found'] },
  'PATCH /v1/webhooks/{id}': {
    status: 200,
    request: ['url', 'events', 'low_balance_threshold', 'active'],
    reply: HOOK,
    codes: ['unauthorized', 'not_found', 'invalid_request', 'invalid_url'],
  },
  'DELETE /v1/webhooks/{id}': {
    status: 200,
    reply: ['success'],
    codes: ['unauthorized', 'not_found'],
  },
  'GET /v1/webhooks/{id}/deliveries': {
    status: 200,
    query: ['limit'],
    reply: [...DELIVERY, ...DELIVERY_TIMES].map((field) => `deliveries.${field}`),
    codes: ['unauthorized', 'not_found'],
  },
  'POST /developers/connect/onboard': {
    status: 201,
    reply: ['onboarding_url', 'stripe_account_id'],
    codes: ['unauthorized', 'already_connected', 'stripe_error'],
  },
  'POST /developers/connect/onboard/refresh': {
    status: 200,
    reply: ['onboarding_url'],
    codes: ['unauthorized', 'not_found', 'stripe_error'],
  },
  'GET /developers/connect/status': {
    status: 200,
    reply: [...STATUS, ...STATUS_MORE, 'disabled_reason'],
    codes: ['unauthorized'],
  },
  'POST /developers/connect/dashboard-link': {
    status: 200,
    reply: ['dashboard_url'],
    codes: ['unauthorized', 'onboarding_incomplete', 'not_found', 'stripe_error'],
  },
  'GET /developers/earnings': {
    status: 200,
    reply: [
      ...SUMMARY.map((field) => `summary.${field}_credits`),
      ...AMOUNTS.map((field) => `recent_payouts.${field}_credits`),
      ...PAYOUT.map((field) => `recent_payouts.${field}`),
    ],
    codes: ['unauthorized'],
  },
  'GET /v1/balance': { status: 200, codes: ['invalid_api_key', 'insufficient_scope'] },
  'GET /v1/models': { status: 200 },
  'POST /v1/funding/credit': { status: 200, codes: ['bad_request', 'insufficient_credits'] },
  'GET /health': { status: 200 },
}

/** Every code and its status. */
export const CODES: Readonly<Record<string, number>> = {
  invalid_api_key: 401,
  invalid_token: 401,
  unauthorized: 401,
  invalid_credentials: 401,
  invalid_email: 400,
  weak_password: 400,
  email_exists: 409,
  insufficient_scope: 403,
  forbidden: 403,
  insufficient_credits: 402,
  rate_limit: 429,
  rate_limit_exceeded: 429,
  rate_limited: 429,
  provider_rate_limited: 429,
  bad_request: 400,
  invalid_request: 400,
  invalid_url: 400,
  not_found: 404,
  user_not_found: 404,
  model_not_found: 404,
  invalid_client: 401,
  invalid_grant: 400,
  invalid_scope: 400,
  unauthorized_client: 400,
  onboarding_incomplete: 400,
  already_connected: 409,
  content_filtered: 400,
  pricing_error: 500,
  upstream_error: 502,
  stripe_error: 502,
  provider_misconfigured: 503,
  provider_unavailable: 503,
  provider_timeout: 504,
  gateway_timeout: 504,
}

/** Every event and the fields of its data. */
export const EVENTS: Readonly<Record<string, readonly string[]>> = {
  'user.connected': ['user_id', 'connected_at', 'email'],
  'user.disconnected': ['user_id', 'disconnected_at', 'email'],
  'balance.updated': ['user_id', 'new_balance', 'amount_spent', 'model', 'endpoint'],
  'balance.low': ['user_id', 'current_balance', 'threshold'],
  'usage.completed': [
    'user_id',
    'model',
    'prompt_tokens',
    'completion_tokens',
    'total_tokens',
    'credits_used',
  ],
}

export const HEADERS = [
  'X-API-Key',
  'X-External-User-ID',
  'X-Svc-User',
  'Idempotency-Key',
  'Retry-After',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Svc-Signature',
  'X-Svc-Event',
  'Content-Type',
  'User-Agent',
] as const
