// Calls are served by one process and told by another: it is woken after the commit, and need not wait for its next look.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createDatabase } from '../support/database.ts'
import { startEventReceiver } from '../support/event-receiver.ts'
import { eventually } from '../support/eventually.ts'
import { call, launch, makeFolder, PASSWORD, SERVER, startServer } from '../support/service.ts'

const CALLS = 20

test('an event of one process is sent by another, mostly long before its next look', async (t) => {
  const settings = {
    DATABASE_URL: await createDatabase(),
    SECRETS_KEY: randomBytes(32).toString('base64'),
  }
  const api = await startServer({ ...settings, ROLE: 'api', DATA_DIR: makeFolder() })
  t.after(() => api.kill())
  const worker = launch([process.execPath, SERVER], {
    ...settings,
    ROLE: 'worker',
    WORKER_PORT: '0',
    DATA_DIR: makeFolder(),
  })
  t.after(() => worker.kill())
  await eventually('the worker is ready', () => worker.stdout().includes('"msg":"ready"'), 30_000)
  const receiver = await startEventReceiver()
  const post = async <Body>(path: string, bearer: string | undefined, body: object) =>
    (
      await call(api.url, path, { method: 'POST', body, ...(bearer !== undefined && { bearer }) })
    ).json<Body>()
  const { session_token } = await post<{ session_token: string }>('/auth/register', undefined, {
    email: 'ada@example.com',
    password: PASSWORD,
  })
  const { client_id } = await post<{ client_id: string }>('/developers/apps', session_token, {
    name: 'app',
    redirect_uris: ['https://app.example/callback'],
  })
  await post('/v1/webhooks', session_token, {
    client_id,
    url: receiver.url,
    events: ['usage.completed'],
  })
  const { key } = await post<{ key: string }>('/developers/keys', session_token, {
    name: 'key',
    billing_mode: 'developer',
  })
  const waits: number[] = []
  for (let count = 1; count <= CALLS; count++) {
    await post('/v1/chat/completions', key, {
      model: 'gpt-4o-mini',
      messages: [{ role: 'user', content: 'hello' }],
    })
    const replied = performance.now()
    await receiver.waitFor(count)
    waits.push((receiver.received[count - 1]?.at ?? 0) - replied)
    await sleep(100)
  }
  waits.sort((a, b) => a - b)
  const median = waits[CALLS / 2] ?? Number.POSITIVE_INFINITY
  t.diagnostic(`reply to arrival: p50 ${median.toFixed(1)} ms, most ${waits.at(-1)?.toFixed(1)} ms`)
  // It looks once a second by itself.
  assert.ok(median < 400, `${median} ms`)
})
