import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../../test/support/app.ts'
import { sql } from '../../test/support/database.ts'
import { connect, connectHosted, createOAuthApp, obtainCode } from '../../test/support/oauth.ts'
import { oauthJobs } from './jobs.ts'

const DAY_MS = 24 * 3600 * 1000

const service = await createApp()
const developer = await service.register()
const app = await createOAuthApp(service, developer)

async function runJobs(): Promise<void> {
  for (const job of oauthJobs(service.parts)) await job.run(new AbortController().signal)
}

async function count(table: string): Promise<number> {
  const [row] = await sql(service.database_url, `select count(*)::int as rows from ${table}`)
  return Number(row?.['rows'])
}

test('a grant that nobody refreshes for 30 days ends, and the app is told; a hosted one does not', async () => {
  const [idle, hosted] = [await service.register(), await service.register()]
  await connect(service, { app, user: idle })
  await connectHosted(service, { app, user: hosted, external_user_id: 'h-1' })
  service.clock.advance(29 * DAY_MS)
  await runJobs()
  assert.equal(await count('oauth_grant where ended_at is null'), 2)

  service.clock.advance(2 * DAY_MS)
  await runJobs()
  const events = await sql(
    service.database_url,
    `select wallet_id from outbox where kind = 'user.disconnected'`,
  )
  assert.deepEqual(events, [{ wallet_id: idle.user_id }])
  const { key } = await service.createKey((await again()).bearer)
  const reply = await service.request({
    url: '/v1/balance',
    headers: { 'x-api-key': key, 'x-svc-user': 'h-1' },
  })
  assert.equal(reply.statusCode, 200)
})

test('codes, tokens and grants that nothing leads to any more are deleted a day later', async () => {
  const user = await service.register()
  await obtainCode(service, { app, user })
  service.clock.advance(2 * DAY_MS)
  await runJobs()
  assert.equal(await count('oauth_code'), 0)
  assert.equal(await count('oauth_access_token'), 0)
  assert.equal(await count('oauth_grant where activated_at is null or ended_at is not null'), 0)
  assert.equal(await count('hosted_link'), 1)
})

/** The developer's session is older than a day by then. */
async function again(): Promise<{ bearer: Record<string, string> }> {
  const reply = await service.post('/auth/login', {
    email: developer.email,
    password: 'correct horse battery',
  })
  return { bearer: { authorization: `Bearer ${reply.json().session_token}` } }
}
