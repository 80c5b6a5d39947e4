// The OpenAPI document, made from the schemas that validate and serialise. Errors are added from each
// route's declared policy, so the document cannot promise other codes than the table has.

import swagger from '@fastify/swagger'
import { type ErrorCode, errorEntry } from '../platform/errors.ts'
import type { Dialect, Documents, RoutePolicy } from './access.ts'
import { ERROR_SCHEMAS } from './error-schemas.ts'
import type {
  Content,
  OpenApiDocument,
  Parameter,
  PathItem,
  SchemaEntry,
} from './reference/document.ts'
import type { App } from './server.ts'

export type DeclaredRoute = {
  method: string
  url: string
  policy: RoutePolicy
  has_body: boolean
  /** Not part of the API: pages. */
  hidden: boolean
}

type Operation = {
  security?: Record<string, string[]>[]
  parameters?: readonly Parameter[]
  requestBody?: { required: true; content: Content }
  responses?: Record<string, Record<string, unknown>>
}

type Document = OpenApiDocument & {
  paths: Record<string, Record<string, Operation>>
  components?: Record<string, Record<string, unknown>>
}

const LIMIT_HEADERS = {
  'X-Request-Id': {
    description: 'Name this when you report a problem.',
    schema: { type: 'string' },
  },
  'X-RateLimit-Limit': { description: 'Requests allowed a minute.', schema: { type: 'integer' } },
  'X-RateLimit-Remaining': {
    description: 'Requests left in this window.',
    schema: { type: 'integer' },
  },
  'X-RateLimit-Reset': {
    description: 'Unix seconds when the window ends.',
    schema: { type: 'integer' },
  },
}

const ERROR_SCHEMA_OF: Readonly<Record<Dialect, keyof typeof ERROR_SCHEMAS>> = {
  openai: 'Error',
  anthropic: 'MessagesError',
  oauth: 'OAuthError',
}

const SECURITY: Record<RoutePolicy['access'], Record<string, string[]>[]> = {
  public: [],
  session: [{ session_token: [] }, { session_cookie: [] }],
  operator: [{ session_token: [] }, { session_cookie: [] }],
  key: [{ api_key: [] }, { api_key_header: [] }],
  token: [{ access_token: [] }],
  caller: [{ api_key: [] }, { api_key_header: [] }, { access_token: [] }],
  anyone_known: [
    { api_key: [] },
    { api_key_header: [] },
    { access_token: [] },
    { session_token: [] },
    { session_cookie: [] },
  ],
}

/** Where an access token may be what is wrong. */
const TOKEN_ACCESS: readonly RoutePolicy['access'][] = ['token', 'caller', 'anyone_known']

const KEY_ACCESS: readonly RoutePolicy['access'][] = ['key', 'caller', 'anyone_known']

const SESSION_ACCESS: readonly RoutePolicy['access'][] = ['session', 'operator']

/** Must come before the first route. Returns the list that fills up as routes are added. */
export async function collectRoutes(app: App, public_url: string): Promise<DeclaredRoute[]> {
  const routes: DeclaredRoute[] = []
  app.addHook('onRoute', (route) => {
    const { access } = route.config ?? {}
    if (access === undefined)
      throw new Error(`${String(route.method)} ${route.url} declares no access`)
    if (route.config?.method_fallback) return
    for (const method of [route.method].flat()) {
      routes.push({
        method,
        url: route.url,
        policy: { ...route.config, access },
        has_body: route.schema?.body !== undefined,
        hidden: route.schema?.hide === true,
      })
    }
  })
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Svc API', version: '1', description: INTRODUCTION },
      servers: [{ url: public_url }],
      tags: TAGS.map(([name, description]) => ({ name, description })),
    },
  })
  return routes
}

/** The finished document. Call once every route is there. `webhooks` is what the service sends by itself. */
export function buildDocument(
  app: App,
  routes: readonly DeclaredRoute[],
  webhooks: Record<string, PathItem>,
): OpenApiDocument {
  const document = app.swagger() as unknown as Document
  document.components = {
    ...document.components,
    schemas: { ...document.components?.['schemas'], ...ERROR_SCHEMAS },
    securitySchemes: SECURITY_SCHEMES,
  }
  for (const route of routes) {
    const path = route.url.replaceAll(/:(\w+)/g, '{$1}')
    const operation = document.paths[path]?.[route.method.toLowerCase()]
    if (operation) describePolicy(operation, route)
  }
  return { ...document, webhooks }
}

function describePolicy(operation: Operation, route: DeclaredRoute): void {
  const { access, cookie_only, dialect = 'openai', documents } = route.policy
  operation.security = cookie_only ? [{ session_cookie: [] }] : SECURITY[access]
  operation.responses ??= {}
  if (documents) describeHandler(operation, documents)
  if (operation.parameters) operation.parameters = operation.parameters.map(withoutNeed)
  for (const media of Object.values(operation.requestBody?.content ?? {})) leaveDefaultsOut(media)
  for (const response of Object.values(operation.responses)) {
    response['headers'] = { ...(response['headers'] as object | undefined), ...LIMIT_HEADERS }
  }
  const schema = { $ref: `#/components/schemas/${ERROR_SCHEMA_OF[dialect]}` }
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of errorCodesOf(route)) {
    const { status } = errorEntry(code)
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  for (const [status, codes] of byStatus) {
    operation.responses[String(status)] = {
      description: codes.map((code) => `\`${code}\`: ${errorEntry(code).message}`).join(' '),
      content: { 'application/json': { schema } },
      'x-error-codes': codes,
    }
  }
}

/** TypeBox calls a field with a default required, because a handler always finds it; a caller may leave it out. */
function withoutNeed(parameter: Parameter): Parameter {
  const { schema } = parameter
  const has_default = typeof schema === 'object' && schema.default !== undefined
  return has_default ? { ...parameter, required: false } : parameter
}

function leaveDefaultsOut(media: { schema?: SchemaEntry }): void {
  const { schema } = media
  if (typeof schema !== 'object' || !schema.required) return
  const needed = (name: string) => {
    const field = schema.properties?.[name]
    return typeof field !== 'object' || field.default === undefined
  }
  media.schema = { ...schema, required: schema.required.filter(needed) }
}

/** What stands in the document already comes first, and content of the same type gives way. */
function describeHandler(operation: Operation, documents: Documents): void {
  const { parameters = [], body, reply, reply_headers } = documents
  if (parameters.length > 0) operation.parameters = [...(operation.parameters ?? []), ...parameters]
  if (body) operation.requestBody = { required: true, content: body }
  const success = operation.responses?.['200']
  if (!success) return
  if (reply) success['content'] = { ...(success['content'] as Content | undefined), ...reply }
  if (reply_headers) success['headers'] = reply_headers
}

export function errorCodesOf(route: DeclaredRoute): ErrorCode[] {
  const { access, denied, invalid, unlimited, scope, errors = [] } = route.policy
  const codes: ErrorCode[] = [...errors]
  if (route.has_body) codes.push('bad_request')
  if (invalid !== undefined) codes.push(invalid)
  if (TOKEN_ACCESS.includes(access)) codes.push('invalid_token')
  if (scope !== undefined) codes.push('insufficient_scope')
  if (access === 'operator') codes.push('not_found')
  else if (access !== 'public' && access !== 'token') codes.push(denied ?? 'invalid_api_key')
  if (SESSION_ACCESS.includes(access) && route.method !== 'GET') codes.push('forbidden')
  // A key may be limited to other endpoints and addresses; a token is for the pages of its app.
  if (KEY_ACCESS.includes(access) || TOKEN_ACCESS.includes(access)) codes.push('forbidden')
  if (!unlimited) codes.push('rate_limit_exceeded')
  codes.push('service_unavailable', 'internal_error')
  return [...new Set(codes)]
}

const SECURITY_SCHEMES = {
  session_token: {
    type: 'http',
    scheme: 'bearer',
    description: 'A session token (`sess_…`) from /auth/register or /auth/login. Lasts 24 hours.',
  },
  session_cookie: {
    type: 'apiKey',
    in: 'cookie',
    name: 'svc_session',
    description: 'The same session as a cookie, for pages of this service.',
  },
  api_key: { type: 'http', scheme: 'bearer', description: 'An API key (`sk-svc-…`).' },
  access_token: {
    type: 'http',
    scheme: 'bearer',
    description: 'An OAuth access token (`svc_token_…`): the end user pays.',
  },
  api_key_header: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'An API key.' },
}

const TAGS: [string, string][] = [
  ['Chat', 'Every model through one key, in OpenAI’s format or Anthropic’s.'],
  ['Audio', 'Speech, sounds and transcripts, in the shapes of OpenAI’s audio API.'],
  ['Playground', 'The same calls with a session, for the pages of this service.'],
  ['Models', 'What can be called, and what it costs.'],
  ['Accounts', 'Registration, sessions, mail proofs and passwords.'],
  ['API keys', 'Credentials of your servers.'],
  ['Apps', 'Apps that your users connect to their own credits: OAuth clients.'],
  ['OAuth', 'For OAuth libraries. Users are sent to `/oauth/authorize`.'],
  ['Connected apps', 'What a user lets apps spend.'],
  ['Webhooks', 'Being told of what happens, by signed requests to an address of yours.'],
  ['Events', 'What webhooks are sent.'],
  ['Wallet', 'Credits: what is there and what moved.'],
  ['Top-ups', 'Buying credits, by hand or by themselves.'],
  ['Payouts', 'Being paid what your apps earn. These take the session cookie only.'],
  ['Operations', 'For those who run the service.'],
  [
    'Operators',
    'For accounts that `svc operator add` has named; to everybody else these addresses do not exist. Every write needs a proof of the last 15 minutes (`POST /auth/step-up`) and a `reason`, and is a row of `GET /operator/audit`.',
  ],
]

const INTRODUCTION = `One API in front of several AI providers. Every call is charged to the credit: 1,000,000 credits are $1.00, always whole numbers, never below zero.

### First steps

1. Register: \`POST /auth/register\`. The reply holds a session token.
2. Make an API key with it: \`POST /developers/keys\`. The key is shown once.
3. Call with the key as \`Authorization: Bearer sk-svc-…\` or \`X-API-Key: sk-svc-…\`.

### Errors

Every error has a \`code\` to match on, a message, often a \`hint\`, and a \`docs_url\` that leads to [its explanation](/docs/errors).

### Limits

Each reply carries \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\`. Beyond the limit the answer is 429 with \`Retry-After\`.`
