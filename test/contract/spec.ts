// Every statement of the specification with the tests that show it, and the names it uses. docs/spec-coverage.md is
// written from this, and coverage.test.ts holds it to the tests, the OpenAPI document and the tables of the code.

import { AUTHENTICATION } from './spec/authentication.ts'
import { ENDPOINTS_CHAPTER } from './spec/endpoints.ts'
import { ERRORS_CHAPTER } from './spec/errors.ts'
import { EVENTS_CHAPTER } from './spec/events.ts'
import { LIMITS, VERSIONING } from './spec/limits.ts'
import { OVERVIEW } from './spec/overview.ts'
import { RESOURCES } from './spec/resources.ts'
import { STATES } from './spec/states.ts'

const CHAPTERS = [
  OVERVIEW,
  RESOURCES,
  STATES,
  ENDPOINTS_CHAPTER,
  AUTHENTICATION,
  EVENTS_CHAPTER,
  ERRORS_CHAPTER,
  LIMITS,
  VERSIONING,
]

export type Statement = {
  id: string
  section: string
  what: string
  tests: { file: string; name: string }[]
}

export const STATEMENTS: readonly Statement[] = CHAPTERS.flatMap(({ sections }, chapter) =>
  sections.flatMap(({ title, rows }, section) =>
    rows.map(([what, ...proofs], row) => ({
      id: `${chapter + 1}.${section + 1}.${row + 1}`,
      section: title,
      what,
      tests: proofs.map(([file, name]) => ({ file, name })),
    })),
  ),
)

/** docs/spec-coverage.md. */
export function describeCoverage(): string {
  const chapters = CHAPTERS.map(({ title, sections }, chapter) => {
    const tables = sections.map((section, index) => {
      const number = `${chapter + 1}.${index + 1}`
      const rows = STATEMENTS.filter(({ id }) => id.startsWith(`${number}.`)).map(describeRow)
      const head = '| | What is said | What shows it |\n|---|---|---|\n'
      return `### ${number} ${section.title}\n\n${head}${rows.join('')}`
    })
    return `## ${chapter + 1} ${title}\n\n${tables.join('\n')}`
  })
  return `${INTRODUCTION}\n${chapters.join('\n')}`
}

function describeRow({ id, what, tests }: Statement): string {
  const shown = tests.map(({ file, name }) => `\`${file}\` “${name}”`)
  return `| ${id} | ${what} | ${shown.join('<br>')} |\n`
}

const INTRODUCTION = `# What the specification says, and what shows it

${STATEMENTS.length} statements, in the order of the specification and in short words, each with the tests that fail without it. \`…\` stands
for what a test fills in, \`›\` between a group and its test. Generated from \`test/contract/spec.ts\` by \`npm run generate\`;
\`test/contract/coverage.test.ts\` fails when a statement has no test, or a test named here is not there.

Two codes of the specification are second names of others, \`rate_limit\` of \`provider_rate_limited\` and \`gateway_timeout\` of
\`provider_timeout\`: they are in the table of errors, with their status, and no call is answered with them.
`

/** Method and path, as the OpenAPI document writes them. */
export const ENDPOINTS = [
  'POST /auth/register',
  'POST /auth/login',
  'GET /auth/me',
  'POST /auth/logout',
  'POST /auth/send-verification',
  'POST /auth/change-password',
  'POST /developers/keys',
  'GET /developers/keys',
  'DELETE /developers/keys/{id}',
  'POST /developers/apps',
  'GET /developers/apps',
  'DELETE /developers/apps/{id}',
  'PATCH /developers/apps/{id}',
  'GET /oauth/authorize',
  'POST /oauth/token',
  'GET /oauth/userinfo',
  'POST /oauth/revoke',
  'POST /v1/chat/completions',
  'POST /v1/users/{external_user_id}/chat/completions',
  'POST /v1/messages',
  'POST /v1/webhooks',
  'GET /v1/webhooks',
  'GET /v1/webhooks/{id}',
  'PATCH /v1/webhooks/{id}',
  'DELETE /v1/webhooks/{id}',
  'GET /v1/webhooks/{id}/deliveries',
  'POST /developers/connect/onboard',
  'POST /developers/connect/onboard/refresh',
  'GET /developers/connect/status',
  'POST /developers/connect/dashboard-link',
  'GET /developers/earnings',
  'GET /v1/balance',
  'GET /v1/models',
  'POST /v1/funding/credit',
  'GET /health',
] as const

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

export const EVENTS = [
  'user.connected',
  'user.disconnected',
  'balance.updated',
  'balance.low',
  'usage.completed',
] as const

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
