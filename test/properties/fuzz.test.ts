// Every route, fuzzed from its own schema: whatever is sent, the answer is never a 5xx, always the envelope,
// and never tells anything of the inside.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InjectOptions } from 'fastify'
import { openSession } from '../../src/accounts/sessions.ts'
import { setOperator } from '../../src/operators/accounts.ts'
import { createApp } from '../support/app.ts'
import { fc } from '../support/same-cases.ts'
import { bodyArbitrary, type JsonSchema, valueArbitrary } from './schema-arbitrary.ts'

const REQUESTS_MIN = 2_400

type Parameter = { name: string; in: string; schema: JsonSchema }
type Operation = {
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: JsonSchema }> }
}

const service = await createApp()
const { bearer, user_id, email } = await service.register()
// So that what only operators may ask is fuzzed too.
await setOperator(service.parts, email, { who: 'test', is_operator: true })
const { key } = await service.createKey(bearer)
const document = (await service.request({ url: '/openapi.json' })).json<{
  paths: Record<string, Record<string, Operation>>
}>()

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
)

let sent = 0

for (const { path, method, operation } of operations) {
  test(`${method.toUpperCase()} ${path} never fails on the inside`, async () => {
    const runs = Math.ceil(REQUESTS_MIN / operations.length)
    await fc.assert(
      fc.asyncProperty(requestArbitrary(path, method, operation), async (request) => {
        await send(request)
      }),
      { numRuns: runs },
    )
  })
}

test('at least 2,000 requests were sent', () => {
  assert.ok(sent >= 2_000, `${sent} requests`)
})

async function send(request: InjectOptions & { credential: string }): Promise<void> {
  sent++
  const { credential, ...options } = request
  const headers = { ...options.headers, ...(await credentialHeaders(credential)) }
  const reply = await service.app.inject({ ...options, headers })
  assert.ok(reply.statusCode < 500, `${reply.statusCode}: ${reply.body}`)
  assert.doesNotMatch(reply.body, /\bat .+\.ts:\d+|select .+ from|syntax error at|\/node_modules\//)
  if (reply.statusCode >= 400 && !String(reply.headers['content-type']).startsWith('text/html')) {
    const body = reply.json()
    // OAuth's own endpoints have the name of the error where the others have all about it.
    const error = typeof body.error === 'string' ? body : body.error
    const { request_id = error.request_id } = body
    assert.ok(error.code && error.message && error.docs_url && request_id)
  }
}

// A session of its own for each request: some routes end the one they are called with.
async function credentialHeaders(kind: string): Promise<Record<string, string>> {
  switch (kind) {
    case 'session': {
      const client = { ip: '127.0.0.1', user_agent: undefined }
      const now = service.clock.now()
      const { session_token } = await openSession(service.parts, service.parts.db, user_id, {
        client,
        now,
      })
      return { authorization: `Bearer ${session_token}` }
    }
    case 'key':
      return { 'x-api-key': key }
    case 'none':
      return {}
    default:
      return { authorization: kind }
  }
}

function requestArbitrary(
  path: string,
  method: string,
  operation: Operation,
): fc.Arbitrary<InjectOptions & { credential: string }> {
  const parameters = operation.parameters ?? []
  const of = (place: string) => parameters.filter((parameter) => parameter.in === place)
  const schema = Object.values(operation.requestBody?.content ?? {})[0]?.schema
  return fc
    .record({
      credential: fc.oneof(
        { weight: 5, arbitrary: fc.constant('session') },
        fc.constant('key'),
        fc.constant('none'),
        fc.string({ unit: 'grapheme-ascii' }).map((text) => `Bearer ${text}`),
      ),
      parts: fc.record(Object.fromEntries(of('path').map(({ name }) => [name, pathPart()]))),
      query: fc.record(
        Object.fromEntries(of('query').map(({ name, schema }) => [name, queryValue(schema)])),
        { requiredKeys: [] },
      ),
      extra: fc.oneof({ weight: 9, arbitrary: fc.constant('') }, fc.webQueryParameters()),
      content_type: fc.oneof(
        { weight: 8, arbitrary: fc.constant('application/json') },
        fc.constantFrom(
          'text/plain',
          'application/x-www-form-urlencoded',
          'multipart/form-data',
          'x',
          '',
        ),
      ),
      accept: fc.constantFrom('application/json', 'text/html', '*/*'),
      payload: schema ? bodyArbitrary(schema) : fc.constantFrom('', '{}', '[]', 'null'),
    })
    .map(({ credential, parts, query, extra, content_type, accept, payload }) => {
      const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => parts[name] ?? '')
      const search = new URLSearchParams(query as Record<string, string>).toString()
      const has_body = method !== 'get' && method !== 'delete'
      return {
        credential,
        method: method.toUpperCase() as 'GET',
        url: `${filled}?${search}&${extra}`,
        headers: {
          accept,
          ...(has_body && content_type !== '' && { 'content-type': content_type }),
        },
        ...(has_body && { payload }),
      }
    })
}

function pathPart(): fc.Arbitrary<string> {
  return fc
    .oneof(fc.uuid(), fc.string(), fc.string({ unit: 'binary' }), fc.constant('a'.repeat(600)))
    .map((text) => encodeURIComponent(text.toWellFormed()) || 'x')
}

function queryValue(schema: JsonSchema): fc.Arbitrary<string> {
  return fc.oneof(
    valueArbitrary(schema).map((value) => String(value)),
    fc.string({ unit: 'binary' }).map((text) => text.toWellFormed()),
    fc.constantFrom('', '-1', '1e9', 'NaN', '\u0000', '99999999999999999999'),
  )
}
