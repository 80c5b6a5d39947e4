// The examples of the reference are what people copy: sent as they stand, none is refused as malformed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isOpenApiDocument } from '../../src/http/reference/document.ts'
import { schemaExample } from '../../src/http/reference/example.ts'
import { setOperator } from '../../src/operators/accounts.ts'
import { createApp } from '../support/app.ts'

/** Need a token that only a mail holds, a second factor, and a user who is linked. */
const NOT_TRIED = new Set([
  'verify',
  'reset_password',
  'confirm_email_change',
  'not_me',
  'login_second_factor',
  'step_up',
  'confirm_totp',
  'add_passkey',
  'user_chat_completion',
  'user_messages',
  'user_response',
  'user_speech',
  'user_sound_effects',
])

test('every example body passes the validation of its own endpoint', async () => {
  const service = await createApp()
  const document: unknown = (await service.request({ url: '/openapi.json' })).json()
  assert.ok(isOpenApiDocument(document))
  let tried = 0
  for (const [path, methods] of Object.entries(document.paths ?? {})) {
    const operation = methods.post
    const schema = operation?.requestBody?.content?.['application/json']?.schema
    if (!operation || !schema || NOT_TRIED.has(operation.operationId ?? '')) continue
    tried++
    const { bearer, email, token } = await service.register()
    await setOperator(service.parts, email, { who: 'test', is_operator: true })
    const { key } = await service.createKey(bearer)
    const security = Object.keys(operation.security?.[0] ?? {})[0]
    const credentials: Record<string, Record<string, string>> = {
      api_key: { 'x-api-key': key },
      session_cookie: { cookie: `svc_session=${token}` },
    }
    const credential = security === undefined ? {} : (credentials[security] ?? bearer)
    const body = schemaExample(document, schema, { optional: 'illustrated' })
    const reply = await service.post(path, body, { ...credential, 'idempotency-key': 'example' })
    const refused = reply.statusCode >= 500 || [400, 401, 403].includes(reply.statusCode)
    assert.ok(!refused, `${path}: ${JSON.stringify(body)} got ${reply.statusCode} ${reply.body}`)
  }
  assert.ok(tried >= 5)
})
