// A hosted link that nobody uses ends by itself. Uses are noted in batches, never by a write for each call.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { oauthJobs } from '../../src/oauth/jobs.ts'
import { linkUsesJob } from '../../src/oauth/link-uses.ts'
import { createApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { connectHosted, createOAuthApp, type Person } from '../support/oauth.ts'

const DAY_MS = 24 * 3600 * 1000
const IDLE_DAYS = 30

const service = await createApp({ settings: { HOSTED_GRANT_IDLE_DAYS: String(IDLE_DAYS) } })
const developer = await service.register()
const app = await createOAuthApp(service, developer)
const { key } = await service.createKey(developer.bearer)

const use = (external_user_id: string) =>
  service.request({
    url: '/v1/balance',
    headers: { 'x-api-key': key, 'x-svc-user': external_user_id },
  })

async function runJobs(): Promise<void> {
  const { parts } = service
  const jobs = [linkUsesJob(parts), ...oauthJobs(parts)]
  for (const job of jobs) await job.run(new AbortController().signal)
}

async function eventsOf(person: Person): Promise<string[]> {
  const rows = await sql<{ kind: string }>(
    service.database_url,
    `select kind from outbox where wallet_id = $1 and kind::text like 'user.%' order by id`,
    [person.user_id],
  )
  return rows.map((row) => row.kind)
}

/** How often the rows of grants were written, as PostgreSQL counts. */
async function versionOf(external_user_id: string): Promise<string> {
  const [row] = await sql<{ xmin: string }>(
    service.database_url,
    'select xmin::text from oauth_grant where external_user_id = $1',
    [external_user_id],
  )
  return row?.xmin ?? ''
}

test('a link ends after the days of the setting without a use, and its app is told; one in use goes on', async () => {
  const [idle, busy] = [await service.register(), await service.register()]
  await connectHosted(service, { app, user: idle, external_user_id: 'idle' })
  await connectHosted(service, { app, user: busy, external_user_id: 'busy' })
  service.clock.advance(20 * DAY_MS)
  assert.equal((await use('busy')).statusCode, 200)
  await runJobs()
  assert.deepEqual(await eventsOf(idle), ['user.connected'], 'not before its time')
  service.clock.advance(12 * DAY_MS)
  await runJobs()
  const gone = await use('idle')
  assert.deepEqual([gone.statusCode, gone.json().error.code], [404, 'user_not_found'])
  assert.deepEqual(await eventsOf(idle), ['user.connected', 'user.disconnected'])
  assert.equal((await use('busy')).statusCode, 200)
  assert.deepEqual(await eventsOf(busy), ['user.connected'])
})

test('many calls on one day are at most one write, and the next day is one more', async () => {
  const user = await service.register()
  await connectHosted(service, { app, user, external_user_id: 'often' })
  service.clock.advance(DAY_MS)
  await use('often')
  await runJobs()
  const once = await versionOf('often')
  for (let call = 0; call < 20; call++) {
    await use('often')
    if (call % 5 === 0) await runJobs()
  }
  assert.equal(await versionOf('often'), once)
  service.clock.advance(DAY_MS)
  await use('often')
  await runJobs()
  assert.notEqual(await versionOf('often'), once)
})

test('a use just before the job runs keeps the link', async () => {
  const user = await service.register()
  await connectHosted(service, { app, user, external_user_id: 'late' })
  service.clock.advance((IDLE_DAYS + 2) * DAY_MS)
  await use('late')
  await linkUsesJob(service.parts).run(new AbortController().signal)
  await runJobs()
  assert.equal((await use('late')).statusCode, 200)
})
