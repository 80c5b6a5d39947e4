import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../../test/support/app.ts'

const service = await createApp({
  app: {
    addRoutes: (app) => {
      const config = { access: 'public', accepts_form: true } as const
      app.post('/form', { config }, (request) => ({ body: request.body }))
    },
  },
})

const send = (payload: string) =>
  service.request({
    method: 'POST',
    url: '/form',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload,
  })

test('a field that comes once is text, one that comes again is a list in the order it came', async () => {
  const reply = await send('a=1&b=2&a=3&c=&a=4&__proto__=x')
  assert.equal(reply.body, '{"body":{"a":["1","3","4"],"b":"2","c":"","__proto__":"x"}}')
})

test('a form of any shape within the limit is read in no time; a longer one is 413', async () => {
  const fields = Array.from({ length: 3_000 }, (_, i) => `${i.toString(36)}=`).join('&')
  const started = process.cpuUsage()
  assert.equal((await send(fields.slice(0, 16_000))).statusCode, 200)
  const { user } = process.cpuUsage(started)
  assert.ok(user < 250_000, `${user} µs`)
  const reply = await send('a='.padEnd(16_385, 'x'))
  assert.deepEqual([reply.statusCode, reply.json().error.code], [413, 'bad_request'])
})
