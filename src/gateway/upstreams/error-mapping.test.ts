import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ErrorCode } from '../../platform/errors.ts'
import { HttpFailure, type HttpFailureKind } from '../../platform/http-call.ts'
import { errorFromAnswer, errorFromEvent, errorFromTransport } from './error-mapping.ts'
import { PROFILES } from './registry.ts'

type ProviderName = keyof typeof PROFILES

const NOW = new Date('2026-11-15T12:00:00Z')

function map(
  provider: ProviderName,
  status: number,
  error: Record<string, unknown> = {},
  headers: Record<string, string> = {},
) {
  return errorFromAnswer(PROFILES[provider].errors, {
    status,
    headers,
    body: JSON.stringify({ error }),
    now: NOW,
  })
}

const QUOTA = 'type.googleapis.com/google.rpc.QuotaFailure'
const TABLE: readonly [ProviderName, number, Record<string, unknown>, ErrorCode][] = [
  ['openai', 429, { code: 'rate_limit_exceeded' }, 'provider_rate_limited'],
  ['openai', 429, { code: 'slow_down' }, 'provider_rate_limited'],
  ['openai', 429, { type: 'insufficient_quota' }, 'provider_misconfigured'],
  ['openai', 429, { code: 'credit_balance_exhausted' }, 'provider_misconfigured'],
  ['openai', 429, { code: 'project_spend_limit_exceeded' }, 'provider_misconfigured'],
  ['openai', 429, { message: 'Request too large for gpt-4o' }, 'bad_request'],
  ['openai', 400, { code: 'context_length_exceeded' }, 'bad_request'],
  ['openai', 400, { code: 'unsupported_value', param: 'stream' }, 'provider_misconfigured'],
  ['openai', 400, { code: 'unsupported_value', param: 'temperature' }, 'bad_request'],
  ['openai', 400, { code: 'content_policy_violation' }, 'content_filtered'],
  ['openai', 400, { code: 'invalid_prompt' }, 'content_filtered'],
  [
    'openai',
    400,
    { message: 'Your request was rejected as a result of our safety system.' },
    'content_filtered',
  ],
  ['openai', 403, { code: 'unsupported_country' }, 'provider_misconfigured'],
  ['openai', 302, {}, 'upstream_error'],
  ['anthropic', 402, { type: 'billing_error' }, 'provider_misconfigured'],
  ['anthropic', 413, { type: 'request_too_large' }, 'bad_request'],
  ['anthropic', 409, { type: 'conflict_error', message: 'busy' }, 'bad_request'],
  ['anthropic', 529, { type: 'overloaded_error' }, 'provider_unavailable'],
  ['anthropic', 504, { type: 'timeout_error' }, 'provider_timeout'],
  ['anthropic', 429, { details: { error_code: 'ramp_limit_exceeded' } }, 'provider_rate_limited'],
  [
    'anthropic',
    429,
    { details: { error_code: 'enforced_spend_limit_reached' } },
    'provider_misconfigured',
  ],
  ['anthropic', 400, { details: { error_code: 'organization_on_hold' } }, 'provider_misconfigured'],
  [
    'anthropic',
    400,
    { message: 'You have reached your specified API usage limits.' },
    'provider_misconfigured',
  ],
  ['google', 400, { status: 'FAILED_PRECONDITION' }, 'provider_misconfigured'],
  ['google', 400, { details: [{ reason: 'API_KEY_INVALID' }] }, 'provider_misconfigured'],
  ['google', 400, { status: 'INVALID_ARGUMENT', message: 'no' }, 'bad_request'],
  ['google', 429, { message: 'Quota exceeded, limit: 0, model: x' }, 'provider_misconfigured'],
  ['google', 429, { message: 'Quota exceeded, limit: 100' }, 'provider_rate_limited'],
  [
    'google',
    429,
    { details: [{ '@type': QUOTA, violations: [{ quotaId: 'RequestsPerDayPerProject' }] }] },
    'provider_misconfigured',
  ],
  ['google', 504, { status: 'DEADLINE_EXCEEDED' }, 'provider_timeout'],
]

test('each failure of a provider has its code', () => {
  for (const [provider, status, error, code] of TABLE) {
    assert.equal(map(provider, status, error).code, code, JSON.stringify([provider, status, error]))
  }
  for (const provider of ['openai', 'anthropic', 'google'] as const) {
    assert.equal(map(provider, 408).code, 'provider_timeout')
    assert.equal(map(provider, 502).code, 'provider_unavailable')
    assert.equal(map(provider, 418).code, 'upstream_error')
    assert.equal(map(provider, 401).code, 'provider_misconfigured')
    assert.equal(map(provider, 404).code, 'provider_misconfigured')
    assert.equal(map(provider, 422, { message: 'x' }).code, 'bad_request')
  }
})

test("a provider's words are passed on, trimmed, only where the request is at fault", () => {
  const quoted = map('openai', 400, { message: `Bad \u0000\n field${'!'.repeat(900)}` })
  assert.match(quoted.message, /^Bad {1,3}field!+…$/)
  assert.equal(quoted.message.length, 500)
  const secret = { message: 'Incorrect API key provided: sk-proj-abcd' }
  for (const status of [401, 402, 403, 404, 429, 500]) {
    assert.doesNotMatch(map('openai', status, secret).message, /sk-/)
  }
  assert.doesNotMatch(map('openai', 401, secret).detail ?? '', /sk-/)
})

test("what clients match on is kept beside our code: the provider's own code and the field", () => {
  const cases: readonly [ProviderName, number, Record<string, unknown>, string?, string?][] = [
    [
      'openai',
      400,
      { code: 'context_length_exceeded', param: 'messages' },
      'context_length_exceeded',
      'messages',
    ],
    [
      'openai',
      400,
      { code: 'unsupported_parameter', param: 'top_k' },
      'unsupported_parameter',
      'top_k',
    ],
    [
      'openai',
      400,
      { type: 'invalid_request_error', code: null, param: null },
      'invalid_request_error',
    ],
    ['openai', 400, { code: 'invalid_prompt' }, 'invalid_prompt'],
    ['openai', 429, { type: 'tokens', code: 'rate_limit_exceeded' }, 'rate_limit_exceeded'],
    ['openai', 503, { code: 'server_is_overloaded' }, 'server_is_overloaded'],
    ['openai', 502, {}],
    [
      'anthropic',
      400,
      { type: 'invalid_request_error', message: 'prompt is too long' },
      'invalid_request_error',
    ],
    ['anthropic', 400, { type: 'x_error', details: { error_code: 'a_code' } }, 'a_code'],
    ['anthropic', 529, { type: 'overloaded_error' }, 'overloaded_error'],
    ['google', 400, { code: 400, status: 'INVALID_ARGUMENT' }, 'INVALID_ARGUMENT'],
    ['google', 503, { code: 503, status: 'UNAVAILABLE' }, 'UNAVAILABLE'],
    ['openai', 400, { code: 'has <words> in it', param: 'x y' }],
    ['openai', 400, { code: 'x'.repeat(101), param: `messages.${'x'.repeat(100)}` }],
  ]
  for (const [provider, status, error, provider_code, param] of cases) {
    const mapped = map(provider, status, error)
    assert.deepEqual(
      [mapped.provider_code, mapped.param],
      [provider_code, param],
      JSON.stringify(error),
    )
  }
})

test('nothing about our own account is told by a code', () => {
  const secrets: readonly [ProviderName, number, Record<string, unknown>][] = [
    ['openai', 401, { code: 'invalid_api_key', param: 'key' }],
    ['openai', 403, { code: 'unsupported_country' }],
    ['openai', 404, { code: 'model_not_found', param: 'model' }],
    ['openai', 429, { code: 'insufficient_quota' }],
    ['openai', 400, { code: 'unsupported_value', param: 'stream' }],
    ['anthropic', 402, { type: 'billing_error' }],
    ['anthropic', 400, { details: { error_code: 'organization_on_hold' } }],
    ['google', 400, { status: 'FAILED_PRECONDITION' }],
    ['google', 429, { status: 'RESOURCE_EXHAUSTED', message: 'limit: 0' }],
  ]
  for (const [provider, status, error] of secrets) {
    const { code, provider_code, param } = map(provider, status, error)
    assert.deepEqual([code, provider_code, param], ['provider_misconfigured', undefined, undefined])
  }
  const hours = map('openai', 429, { code: 'rate_limit_exceeded' }, { 'retry-after': '3601' })
  assert.equal(hours.provider_code, undefined)
})

test('whatever a provider calls a prompt that is too long, the hint is to shorten it', () => {
  const said: readonly [ProviderName, number, Record<string, unknown>][] = [
    ['anthropic', 400, { message: 'prompt is too long: 203456 tokens > 200000 maximum' }],
    [
      'anthropic',
      400,
      { message: 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000' },
    ],
    ['anthropic', 413, { type: 'request_too_large' }],
    ['openai', 400, { code: 'context_length_exceeded' }],
    ['openai', 400, { code: null, message: "This model's maximum context length is 8192 tokens." }],
    ['openai', 400, { message: 'Input tokens exceed the configured limit of 272000 tokens.' }],
    ['openai', 400, { code: 'string_above_max_length' }],
    ['openai', 429, { message: 'Request too large for gpt-4o' }],
    ['google', 400, { message: 'The input token count (2) exceeds the maximum number of tokens' }],
    ['google', 400, { message: 'The input token count exceeds the limit of 1048576.' }],
    ['google', 400, { message: 'Request payload size exceeds the limit: 20971520 bytes.' }],
  ]
  for (const [provider, status, error] of said) {
    const { code, hint } = map(provider, status, error)
    assert.equal(code, 'bad_request')
    assert.match(hint ?? '', /^Shorten/, JSON.stringify(error))
  }
})

test('a body that is no JSON, or a list, is understood by its status', () => {
  const body = '<html>502 Bad gateway</html>'
  const error = errorFromAnswer(PROFILES.openai.errors, {
    status: 502,
    headers: {},
    body,
    now: NOW,
  })
  assert.equal(error.code, 'provider_unavailable')
  assert.doesNotMatch(error.message, /html/)
  const list = JSON.stringify([{ error: { status: 'FAILED_PRECONDITION' } }])
  const google = errorFromAnswer(PROFILES.google.errors, {
    status: 400,
    headers: {},
    body: list,
    now: NOW,
  })
  assert.equal(google.code, 'provider_misconfigured')
})

test('Retry-After comes from the first place that says it, in whole seconds, and never lacks', () => {
  const cases: readonly [Record<string, string>, string | undefined][] = [
    [{}, '2'],
    [{ 'retry-after-ms': '1500', 'retry-after': '9' }, '2'],
    [{ 'retry-after-ms': '3' }, '1'],
    [{ 'retry-after': '0' }, '1'],
    [{ 'retry-after': 'Sun, 15 Nov 2026 12:00:20 GMT' }, '20'],
    [{ 'retry-after': 'soon' }, '2'],
    [{ 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '6m0s' }, '360'],
    [{ 'x-ratelimit-remaining-tokens': '5', 'x-ratelimit-reset-tokens': '6m0s' }, '2'],
    [{ 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '20ms' }, '1'],
    [
      {
        'anthropic-ratelimit-input-tokens-remaining': '0',
        'anthropic-ratelimit-input-tokens-reset': '2026-11-15T12:00:41Z',
      },
      '41',
    ],
  ]
  for (const [headers, expected] of cases) {
    const error = map('openai', 429, { code: 'rate_limit_exceeded' }, headers)
    assert.equal(error.code, 'provider_rate_limited')
    assert.equal(error.headers['retry-after'], expected, JSON.stringify(headers))
  }
  const details = [{ retryDelay: '34.2s' }]
  assert.equal(map('google', 429, { details }).headers['retry-after'], '35')
  const hours = map('openai', 429, {}, { 'retry-after': '3601' })
  assert.equal(hours.code, 'provider_misconfigured')
  assert.deepEqual(hours.headers, {})
  const down = map('openai', 503, {}, { 'retry-after': '3601' })
  assert.equal(down.code, 'provider_unavailable')
  assert.deepEqual(down.headers, {})
})

test('an error inside a stream has the code its status would have had', () => {
  const cases: readonly [ProviderName, Record<string, unknown>, ErrorCode][] = [
    ['anthropic', { type: 'overloaded_error' }, 'provider_unavailable'],
    ['anthropic', { type: 'rate_limit_error' }, 'provider_rate_limited'],
    ['anthropic', { type: 'timeout_error' }, 'provider_timeout'],
    ['openai', { type: 'server_error' }, 'provider_unavailable'],
    ['openai', { code: 'rate_limit_exceeded', type: 'tokens' }, 'provider_rate_limited'],
    ['openai', { code: 'insufficient_quota' }, 'provider_misconfigured'],
    ['google', { code: 503, status: 'UNAVAILABLE' }, 'provider_unavailable'],
    ['google', { code: 400, message: 'no' }, 'bad_request'],
  ]
  for (const [provider, error, code] of cases) {
    assert.equal(errorFromEvent(PROFILES[provider].errors, { error }, NOW).code, code)
  }
})

test('a connection that fails has a code for each way to fail', () => {
  const cases: Readonly<Record<HttpFailureKind, ErrorCode>> = {
    aborted: 'provider_unavailable',
    busy: 'service_unavailable',
    cut: 'provider_unavailable',
    timeout: 'provider_timeout',
    too_large: 'upstream_error',
    unreachable: 'provider_unavailable',
  }
  for (const kind of Object.keys(cases) as HttpFailureKind[]) {
    assert.equal(errorFromTransport('openai', new HttpFailure(kind, 'x')).code, cases[kind])
  }
  const defect = new TypeError('a defect of our own')
  assert.throws(() => errorFromTransport('openai', defect), defect)
})
