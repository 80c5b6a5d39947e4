// A whole life of an account with every log line written: no secret is ever in one.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp, PASSWORD, sendQueuedMail } from '../support/app.ts'

test('no log line of a full flow holds a secret, at the most talkative level', async () => {
  const service = await createApp({
    log_level: 'trace',
    app: {
      addRoutes: (app) => {
        app.get('/bug', { config: { access: 'key' } }, (request) => {
          throw new Error(`failed for ${request.headers.authorization}`)
        })
      },
    },
  })
  const { bearer, email, token } = await service.register()
  const { key, id } = await service.createKey(bearer)
  await service.request({ url: '/v1/key', headers: { 'x-api-key': key } })
  await service.request({ url: '/bug', headers: { authorization: `Bearer ${key}` } })
  await service.request({ url: `/auth/verify?token=svc_verify_${'a'.repeat(43)}` })
  await service.post('/auth/login', { email, password: 'a wrong password' })
  await service.post('/auth/send-verification', {}, bearer)
  await service.post('/auth/forgot-password', { email })
  await sendQueuedMail(service)
  await service.post('/auth/reset-password', {
    token: 'svc_reset_abc',
    new_password: 'new password',
  })
  const change = { current_password: PASSWORD, new_password: 'another good one' }
  await service.post('/auth/change-password', change, bearer)
  await service.request({ method: 'DELETE', url: `/developers/keys/${id}`, headers: bearer })
  await service.request({ method: 'POST', url: '/auth/logout', headers: bearer })

  const lines = service.log_lines.join('')
  assert.ok(service.log_lines.length >= 12)
  assert.match(lines, /failed for/)
  for (const secret of [
    key,
    token,
    PASSWORD,
    'a wrong password',
    'another good one',
    'new password',
  ]) {
    assert.ok(!lines.includes(secret), `a log line holds ${secret}`)
  }
  assert.doesNotMatch(lines, /(sk-svc-|sess_|svc_verify_|svc_reset_)[A-Za-z0-9_-]{4}/)
})
