import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { ERROR_CODES } from '../../src/platform/errors.ts'
import { createApp } from '../support/app.ts'

type BodySchema = { properties?: Record<string, { default?: unknown }>; required?: string[] }

type Operation = {
  operationId?: string
  summary?: string
  tags?: string[]
  parameters?: { name: string; in: string; required?: boolean; schema: { default?: unknown } }[]
  requestBody?: { content: Record<string, { schema: BodySchema }> }
  responses: Record<string, { content?: Record<string, object>; 'x-error-codes'?: string[] }>
}

const OAUTH_PAGES = [
  '/oauth/login',
  '/oauth/register',
  '/oauth/second-factor',
  '/oauth/step-up',
  '/oauth/connections',
  '/oauth/security',
  '/oauth/sessions',
  '/oauth/events',
  '/device',
]
/** Behind links in mails. */
const MAIL_PAGES = [
  '/auth/verify',
  '/auth/reset-password',
  '/auth/not-me',
  '/account/email/confirm',
  '/account/restore',
]
const OAUTH_FORMS = [
  '/oauth/login',
  '/oauth/register',
  '/oauth/forgot-password',
  '/oauth/logout',
  '/oauth/authorize',
  '/oauth/connections/cap',
  '/oauth/connections/disconnect',
  '/oauth/second-factor',
  '/oauth/step-up',
  '/oauth/security/codes',
  '/oauth/security/passkey',
  '/oauth/security/passkey/add',
  '/oauth/security/remove',
  '/oauth/security/totp',
  '/oauth/security/totp/confirm',
  '/oauth/sessions/end',
  '/oauth/sessions/end-others',
  '/device',
  '/device/decision',
]

const service = await createApp()
const document = (await service.request({ url: '/openapi.json' })).json<{
  openapi: string
  paths: Record<string, Record<string, Operation>>
}>()
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
)

test('the document is valid OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document))
  assert.ok(valid, JSON.stringify(errors))
  assert.match(document.openapi, /^3\.1\./)
})

test('every route that exists is in it, and nothing else', () => {
  const assets = ['/assets/style.css', '/assets/passkey.js']
  const consoles = ['/console', '/console/*', '/console/assets/{name}']
  const pages = [
    '/',
    '/docs',
    '/docs/errors',
    '/openapi.json',
    ...assets,
    ...consoles,
    ...MAIL_PAGES,
  ]
  // Read from the source, not from the application: a route that hides itself is found too.
  const declared = globSync('src/**/*routes.ts').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/app\.(get|post|put|patch|delete)\(\s*'([^']+)'/g)].map(
      ([, method = '', url = '']) => `${method.toUpperCase()} ${url.replaceAll(/:(\w+)/g, '{$1}')}`,
    ),
  )
  // Where the processor's pages send people back to.
  const ways_back = [
    '/account/topups/return',
    '/developers/connect/refresh',
    '/developers/connect/return',
  ]
  // The models whose names hold a slash are documented as /v1/models/{id}.
  const hidden = [...pages, ...ways_back, '/v1/models/*', ...OAUTH_PAGES]
    .map((url) => `GET ${url}`)
    .concat(OAUTH_FORMS.map((url) => `POST ${url}`))
  const documented = operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`)
  assert.deepEqual(declared.sort(), [...documented, ...hidden].sort())
})

test('every operation has a name, a summary, a group and only codes of the table', () => {
  const ids = operations.map(({ operation }) => operation.operationId)
  assert.equal(new Set(ids).size, operations.length)
  for (const { operation } of operations) {
    assert.ok(operation.operationId && operation.summary && operation.tags?.length === 1)
    const codes = Object.values(operation.responses).flatMap(
      (response) => response['x-error-codes'] ?? [],
    )
    assert.deepEqual(
      codes.filter((code) => !ERROR_CODES.some((known) => known === code)),
      [],
    )
  }
})

const AUDIO = ['audio/mpeg', 'audio/ogg', 'audio/pcm', 'audio/wav']

test('every answer has its content types: streams, audio, files and pages too', () => {
  const others: Record<string, string[]> = {}
  for (const { path, method, operation } of operations) {
    for (const [status, { content = {} }] of Object.entries(operation.responses)) {
      const types = Object.keys(content).sort()
      assert.notEqual(types.length, 0, `${method} ${path} ${status} has no body`)
      for (const media of Object.values(content)) assert.ok('schema' in media, path)
      if (types.join() !== 'application/json') others[path] = types
    }
  }
  const chat = ['application/json', 'text/event-stream']
  const speech = [...AUDIO, 'text/event-stream']
  const transcript = [
    'application/json',
    'application/x-subrip',
    'text/event-stream',
    'text/plain',
    'text/vtt',
  ]
  const forUsers = (template: string, types: string[]) => ({
    [`/v1${template}`]: types,
    [`/v1/users/{external_user_id}${template}`]: types,
  })
  assert.deepEqual(others, {
    '/metrics': ['text/plain'],
    '/oauth/authorize': ['text/html'],
    '/v1/webhooks/listen': ['text/event-stream'],
    '/account/transactions': ['application/json', 'text/csv'],
    '/account/usage': ['application/json', 'text/csv'],
    '/account/topups/{id}/receipt': ['text/html'],
    ...forUsers('/chat/completions', chat),
    ...forUsers('/messages', chat),
    ...forUsers('/responses', chat),
    ...forUsers('/audio/speech', speech),
    ...forUsers('/audio/sound-effects', AUDIO),
    ...forUsers('/audio/transcriptions', transcript),
    '/account/playground/chat/completions': chat,
    '/account/playground/audio/speech': speech,
    '/account/playground/audio/sound-effects': AUDIO,
    '/account/playground/audio/transcriptions': transcript,
  })
})

test('every body that is sent has its content type: uploads and forms too', () => {
  const others = operations.flatMap(({ path, operation }) => {
    const types = Object.keys(operation.requestBody?.content ?? {})
    return types.length === 0 || types.join() === 'application/json' ? [] : [[path, ...types]]
  })
  assert.deepEqual(others, [
    ['/oauth/token', 'application/x-www-form-urlencoded'],
    ['/oauth/revoke', 'application/x-www-form-urlencoded'],
    ['/oauth/device_authorization', 'application/x-www-form-urlencoded'],
    ['/v1/audio/transcriptions', 'multipart/form-data'],
    ['/v1/users/{external_user_id}/audio/transcriptions', 'multipart/form-data'],
    ['/account/playground/audio/transcriptions', 'multipart/form-data'],
  ])
})

test('what has a default need not be sent', () => {
  const parameters = operations.flatMap(({ operation }) => operation.parameters ?? [])
  const defaults = parameters.filter(({ schema }) => schema.default !== undefined)
  assert.notEqual(defaults.length, 0)
  for (const { name, required } of defaults) assert.notEqual(required, true, name)
  const bodies = operations.flatMap(({ operation }) =>
    Object.values(operation.requestBody?.content ?? {}).map(({ schema }) => schema),
  )
  for (const { properties = {}, required = [] } of bodies) {
    for (const name of required) assert.equal(properties[name]?.default, undefined, name)
  }
})

test('an error of /v1/messages and of OAuth has the schema of its own envelope', async () => {
  const schemaOf = (path: string) =>
    JSON.stringify(document.paths[path]?.['post']?.responses['401']?.content)
  assert.match(schemaOf('/v1/chat/completions'), /schemas\/Error"/)
  assert.match(schemaOf('/v1/messages'), /schemas\/MessagesError"/)
  assert.match(schemaOf('/oauth/token'), /schemas\/OAuthError"/)
})

test('the reference page has an anchor for every operation and loads nothing from elsewhere', async () => {
  const page = await service.request({ url: '/docs' })
  assert.equal(page.statusCode, 200)
  assert.match(
    String(page.headers['content-security-policy']),
    /default-src 'none'; style-src 'self'/,
  )
  for (const { operation } of operations)
    assert.ok(page.body.includes(`id="${operation.operationId}"`))
  assert.doesNotMatch(page.body, /<script|src="http|@import/)
  assert.match(page.body, /-F [^\n]*file=@meeting\.mp3/, 'an upload is shown as one')
  const style = page.body.match(/href="(\/assets\/style\.css[^"]*)"/)?.[1] ?? ''
  const sheet = await service.request({ url: style })
  assert.match(String(sheet.headers['content-type']), /^text\/css/)
  assert.doesNotMatch(sheet.body, /url\(["']?http|@import/)
})

test('/docs/errors has an element for every code, and docs_url of a reply leads to it', async () => {
  const page = await service.request({ url: '/docs/errors' })
  for (const code of ERROR_CODES) assert.ok(page.body.includes(`id="${code}"`), code)
  const reply = await service.request({ url: '/auth/me' })
  const url = new URL(reply.json().error.docs_url)
  assert.equal(url.origin, 'http://localhost:8080')
  assert.equal(url.pathname + url.hash, '/docs/errors#invalid_api_key')
})
