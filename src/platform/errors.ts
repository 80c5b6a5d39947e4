// THE error table: every code the service can answer with, its status and its words.
// docs/errors.md, /docs/errors and the OpenAPI responses are made from it.

type ErrorEntry = {
  readonly status: number
  /** Safe to send to anyone. */
  readonly message: string
  /** What the caller can do about it. */
  readonly hint?: string
  /** A paragraph for the documentation page. */
  readonly explanation: string
}

export const ERRORS = {
  bad_request: {
    status: 400,
    message: 'The request is not valid.',
    explanation:
      'The body, a header, a parameter or the method failed validation. The message names the field. The same code comes with 405 (wrong method, see `Allow`), 413 (body too large), 414 (address too long), 415 (wrong content type) and 431 (headers too large); and with 409 for an `Idempotency-Key` whose first request is still running (see `Retry-After`) or whose result is not kept.',
  },
  invalid_request: {
    status: 400,
    message: 'The request is not valid.',
    explanation:
      'A specific parameter is missing or malformed: for example `response_type`, `code_challenge` or `redirect_uri` in OAuth, `client_id`, `url` or `events` of a webhook, or a mail link that was used before or is too old.',
  },
  invalid_email: {
    status: 400,
    message: 'The email address is not valid.',
    hint: 'Send one address such as name@example.com, without spaces or control characters.',
    explanation:
      'The address given at registration has no `@`, or holds characters no address can have.',
  },
  weak_password: {
    status: 400,
    message: 'The password is too short.',
    hint: 'Use at least 8 characters.',
    explanation:
      'Passwords have at least 8 characters. Where `PASSWORD_POLICY` is `common`, those that are guessed first, and one’s own address, are refused too; the message says which it was. There are no other rules about what they contain.',
  },
  invalid_url: {
    status: 400,
    message: 'The URL is not allowed.',
    hint: 'Use https://, or http:// for localhost only.',
    explanation:
      'A webhook address must use HTTPS and be publicly reachable; plain HTTP is for localhost only.',
  },
  invalid_grant: {
    status: 400,
    message: 'The code, refresh token or verifier is not valid.',
    explanation:
      'The authorization code, refresh token or PKCE verifier sent to /oauth/token did not verify: used before, expired, or issued to another client.',
  },
  invalid_dpop_proof: {
    status: 400,
    message: 'The DPoP proof is not valid.',
    hint: 'Sign a new one for each request: ES256, htm POST, htu the token endpoint, iat now, a jti of its own.',
    explanation:
      'The `DPoP` header sent to /oauth/token is no proof of a key (RFC 9449), was made for another address or at another time, or was used before. The grant is not ended: send the request again with a new proof.',
  },
  invalid_scope: {
    status: 400,
    message: 'The scope is not allowed.',
    explanation: "A requested scope does not exist or is not in the client's `allowed_scopes`.",
  },
  unauthorized_client: {
    status: 400,
    message: 'The client may not do this.',
    explanation: 'The OAuth client is not permitted the requested grant or response type.',
  },
  authorization_pending: {
    status: 400,
    message: 'The user has not decided yet.',
    hint: 'Poll again after `interval` seconds.',
    explanation:
      'Of /oauth/token with a device code only (RFC 8628): the user has neither allowed nor denied it so far.',
  },
  slow_down: {
    status: 400,
    message: 'The user has not decided yet, and this was asked too soon.',
    hint: 'Add 5 seconds to the time between two polls, and keep to it.',
    explanation:
      'Of /oauth/token with a device code only (RFC 8628): as `authorization_pending`, and each such answer makes the time to wait 5 seconds longer.',
  },
  expired_token: {
    status: 400,
    message: 'The device code has expired.',
    hint: 'Ask for a new one at /oauth/device_authorization.',
    explanation:
      'Of /oauth/token with a device code only (RFC 8628): nobody allowed it within ten minutes.',
  },
  access_denied: {
    status: 400,
    message: 'The user denied the request.',
    explanation:
      'Of /oauth/token with a device code only (RFC 8628): the user said no, or took it back before the tokens were given. An app that sends users to /oauth/authorize gets this word as `error` at its own address.',
  },
  onboarding_incomplete: {
    status: 400,
    message: 'Payout onboarding is not finished.',
    hint: 'Finish onboarding: POST /developers/connect/onboard/refresh gives a new link.',
    explanation:
      'The payout dashboard opens only after onboarding with the payment processor is complete.',
  },
  content_filtered: {
    status: 400,
    message: "The provider's safety filter refused the prompt or the answer.",
    explanation:
      'The model provider refused to process or to return the content. Change the prompt.',
  },
  invalid_api_key: {
    status: 401,
    message: 'The credential is missing or not valid.',
    hint: 'Send a valid credential as `Authorization: Bearer …`; API keys may also be sent as `X-API-Key`.',
    explanation:
      'The bearer token is missing, malformed, revoked, expired, of another kind than the endpoint takes, or belongs to nobody. Endpoints that manage an account take a session token (`sess_…`), not an API key.',
  },
  invalid_token: {
    status: 401,
    message: 'The token is not valid.',
    explanation:
      'An OAuth access or refresh token is expired, revoked, or was issued to another client.',
  },
  unauthorized: {
    status: 401,
    message: 'A valid session is needed.',
    hint: 'Log in with POST /auth/login.',
    explanation:
      'Webhook management takes a session token; payout endpoints take the `svc_session` cookie. API keys are refused there.',
  },
  invalid_credentials: {
    status: 401,
    message: 'The email or password is wrong.',
    explanation:
      'Login failed, or the current password given to change it is wrong. We do not say which part.',
  },
  second_factor_required: {
    status: 401,
    message: 'The password is right; a second factor is needed.',
    hint: 'Send `challenge_id` and one of `factors` to POST /auth/login/second-factor.',
    explanation:
      'The account has a second factor. Beside the usual fields, `error` has `challenge_id`, `factors` (`passkey`, `totp`, `recovery_code`), `expires_at` and, where there is a passkey, `passkey_options`. The challenge lasts 5 minutes and 5 wrong answers.',
  },
  invalid_client: {
    status: 401,
    message: 'The client credentials are not valid.',
    explanation: 'The credentials sent to /oauth/token match no registered, unrevoked client.',
  },
  insufficient_credits: {
    status: 402,
    message: 'The wallet cannot cover this request.',
    hint: 'Add credits, or ask for less output.',
    explanation:
      "The wallet that would be charged does not hold enough credits, or a spend limit leaves too little: the key's, or the user's cap for the app. The message says which. Nothing was charged and no provider was called.",
  },
  forbidden: {
    status: 403,
    message: 'This is not allowed.',
    explanation:
      'The request is understood but refused: an OAuth client of another developer, a write made with a cookie from another site, a key that its owner limited to other endpoints or addresses, or an account or app that the operator has suspended; the message then has the reason.',
  },
  step_up_required: {
    status: 403,
    message: 'This needs a fresh proof that it is you.',
    hint: 'Send your password, a code or a passkey to POST /auth/step-up, then try again within 15 minutes.',
    explanation:
      'What could cost the owner of an account dearly needs a proof of the last 15 minutes: signing in is one, POST /auth/step-up another. `STEP_UP` says for which accounts.',
  },
  insufficient_scope: {
    status: 403,
    message: 'The token lacks the scope this needs.',
    explanation: '`credits.read` is needed for /v1/balance, `credits.spend` for paid calls.',
  },
  not_found: {
    status: 404,
    message: 'Not found.',
    explanation: 'No such address, or the resource does not exist, or it belongs to somebody else.',
  },
  user_not_found: {
    status: 404,
    message: 'No such user.',
    explanation: 'The credential or external user id leads to no user who is linked.',
  },
  model_not_found: {
    status: 404,
    message: 'No such model.',
    hint: 'GET /v1/models lists the models.',
    explanation:
      'The model name is not in the catalog, nor is it another name of a model there. Names are exact; the hint names the nearest.',
  },
  email_exists: {
    status: 409,
    message: 'An account with this email exists.',
    hint: 'Log in with POST /auth/login, or reset the password with POST /auth/forgot-password.',
    explanation: 'Addresses are compared without regard to case.',
  },
  already_connected: {
    status: 409,
    message: 'A payout account exists already.',
    hint: 'POST /developers/connect/onboard/refresh gives a new onboarding link.',
    explanation: 'A developer has one payout account.',
  },
  rate_limit_exceeded: {
    status: 429,
    message: 'Too many requests.',
    hint: 'Wait as long as `Retry-After` says. `X-RateLimit-*` shows the limit on every reply.',
    explanation:
      'The limit of this credential, or of this address when there is no valid credential, is used up.',
  },
  rate_limited: {
    status: 429,
    message: 'Too many attempts.',
    hint: 'Wait as long as `Retry-After` says.',
    explanation: 'Verification mail and password changes have limits of their own for each user.',
  },
  rate_limit: {
    status: 429,
    message: "The provider's rate limit was hit.",
    hint: 'Wait as long as `Retry-After` says, or use another model.',
    explanation: 'A synonym of `provider_rate_limited`, kept for clients that match on it.',
  },
  provider_rate_limited: {
    status: 429,
    message: "The provider's rate limit was hit.",
    hint: 'Wait as long as `Retry-After` says, or use another model.',
    explanation: 'The model provider limited the call. Nothing was charged.',
  },
  pricing_error: {
    status: 500,
    message: 'The price of this call cannot be computed.',
    explanation: 'The model has no price or the amount is out of range. Nothing was charged.',
  },
  internal_error: {
    status: 500,
    message: 'Something went wrong on our side.',
    hint: 'Try again; if it stays, report the request id.',
    explanation:
      'A defect of the service. The reply says nothing more on purpose; the request id finds it in the log.',
  },
  upstream_error: {
    status: 502,
    message: 'The provider answered with an error.',
    explanation: 'The provider failed in a way that has no code of its own.',
  },
  stripe_error: {
    status: 502,
    message: 'The payment processor could not be reached.',
    hint: 'Try again; the operation is safe to repeat.',
    explanation: 'A call to the payment processor failed. Repeating it is safe.',
  },
  service_unavailable: {
    status: 503,
    message: 'The service is busy or its database cannot be reached.',
    hint: 'Try again as `Retry-After` says; nothing was changed.',
    explanation:
      'The database cannot be reached or a queue is full. The request had no effect, unless the message says that the connection was lost on the way.',
  },
  provider_misconfigured: {
    status: 503,
    message: 'This model is not available right now.',
    explanation:
      "The operator's access to the provider is missing, invalid or not sufficient, or the provider has shut the model down and nothing serves its name: the message says which.",
  },
  provider_unavailable: {
    status: 503,
    message: 'The provider is not available right now.',
    explanation: 'The provider failed, reset the connection or is overloaded. Nothing was charged.',
  },
  provider_timeout: {
    status: 504,
    message: 'The provider did not answer in time.',
    explanation: 'The gateway gave up waiting for the provider.',
  },
  gateway_timeout: {
    status: 504,
    message: 'The provider did not answer in time.',
    explanation: 'A synonym of `provider_timeout`, kept for clients that match on it.',
  },
} as const satisfies Record<string, ErrorEntry>

export type ErrorCode = keyof typeof ERRORS

export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[]

export function errorEntry(code: ErrorCode): ErrorEntry {
  return ERRORS[code]
}

/** Of a code from outside, as from an old record. */
export function findErrorEntry(code: string): ErrorEntry | undefined {
  const known = ERROR_CODES.find((candidate) => candidate === code)
  return known && ERRORS[known]
}

export type ApiErrorOptions = {
  /** Replaces the table's words; sent to the caller. */
  message?: string
  hint?: string
  /** The field at fault, by its path in the caller's body. */
  param?: string
  /** What the model provider called it, for clients that match on its codes. */
  provider_code?: string
  /** For the log only. */
  detail?: string
  cause?: unknown
  /** Where the transport knows better than the table: 405, 413, 414, 415, 431. */
  status?: number
  headers?: Record<string, string>
  /** What Anthropic's clients match on, in the place where they look for it. */
  details?: Readonly<Record<string, unknown>>
  /** Fields of `error` that go with this code only, in our own envelope. */
  fields?: Readonly<Record<string, unknown>>
}

/** The one way to refuse a request. */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly hint: string | undefined
  readonly param: string | undefined
  readonly provider_code: string | undefined
  readonly detail: string | undefined
  readonly headers: Record<string, string>
  readonly details: Readonly<Record<string, unknown>> | undefined
  readonly fields: Readonly<Record<string, unknown>> | undefined

  constructor(code: ErrorCode, options: ApiErrorOptions = {}) {
    const entry = errorEntry(code)
    super(options.message ?? entry.message, { cause: options.cause })
    this.name = 'ApiError'
    this.code = code
    this.status = options.status ?? entry.status
    this.hint = options.hint ?? entry.hint
    this.param = options.param
    this.provider_code = options.provider_code
    this.detail = options.detail
    this.headers = { ...options.headers }
    this.details = options.details
    this.fields = options.fields
  }
}
