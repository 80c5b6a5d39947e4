import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../support/app.ts'
import { LIVE_SETTINGS } from '../support/live-settings.ts'
import { makeFolder, runToEnd, SERVER } from '../support/service.ts'

const PUBLIC_URL = 'https://svc.example.com'

test('a public sandbox with a real key is ready, and says in /ready what is wrong, without the key', async () => {
  const settings = { PUBLIC_URL, OPENAI_API_KEY: 'sk-hunter2', OPENAI_BASE_URL: '' }
  const service = await createApp({ settings })
  const reply = await service.request({ url: '/ready' })
  assert.equal(reply.statusCode, 200)
  assert.match(reply.json().warnings[0], /^SVC_MODE is sandbox.+OPENAI_API_KEY/)
  assert.doesNotMatch(reply.body, /hunter2/)
  const quiet = await createApp({ database_url: service.database_url, settings: { PUBLIC_URL } })
  assert.deepEqual((await quiet.request({ url: '/ready' })).json(), { ready: true })
})

test('the program does not start in live mode with what is not safe, and says so in one line', async () => {
  for (const [wrong, line] of [
    [{ PUBLIC_URL: '' }, /^svc: PUBLIC_URL="http:\/\/localhost:\d+" is not allowed: .+\n$/],
    [{ SMTP_URL: '' }, /^svc: SMTP_URL is not set: .+\n$/],
    [{ METRICS_TOKEN: 'hunter2' }, /^svc: METRICS_TOKEN=\(hidden\) is not allowed: .+\n$/],
  ] as const) {
    const settings = { DATA_DIR: makeFolder(), ...LIVE_SETTINGS, ...wrong }
    const { code, stderr } = await runToEnd([process.execPath, SERVER], settings)
    assert.equal(code, 1)
    assert.match(stderr, line)
  }
})
