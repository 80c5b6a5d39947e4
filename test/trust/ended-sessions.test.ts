// Whoever resets a password ends what was made with the sessions before. A request that is under way at that moment must
// not bring something new past it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lockAccount } from '../../src/accounts/proof-store.ts'
import { closeSessions } from '../../src/accounts/sessions.ts'
import { createApp, type TestApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { authorizeUrl, createOAuthApp, csrfOf, makePkce, signIn } from '../support/oauth.ts'

const service: TestApp = await createApp()
const { parts } = service

/** Ends all sessions of an account, with a request in the middle of it that has been let in before. */
async function endAround<Reply>(account_id: string, request: () => Promise<Reply>): Promise<Reply> {
  let reply: Promise<Reply> | undefined
  await parts.db.transaction(async (tx) => {
    await lockAccount(tx, account_id)
    await closeSessions(parts.feed, tx, { account_id, except_id: null })
    reply = request()
    const done = reply.then(() => 'done')
    await eventually('the request waits for the lock, or did not', async () => {
      const waiting = await sql(
        service.database_url,
        `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
      )
      return waiting.length > 0 || (await Promise.race([done, Promise.resolve('waits')])) === 'done'
    })
  })
  if (!reply) throw new Error('there was no request')
  return await reply
}

test('no app is registered with a session that ended meanwhile', async () => {
  const person = await service.register()
  const app = { name: 'Late', redirect_uris: ['https://app.example/callback'] }
  const reply = await endAround(person.user_id, () =>
    service.post('/developers/apps', app, person.bearer),
  )
  assert.equal(reply.statusCode, 401, reply.body)
})

test('no app gets a code with a session that ended meanwhile', async () => {
  const user = await service.register()
  const app = await createOAuthApp(service, await service.register())
  const visitor = await signIn(service, user)
  const url = authorizeUrl(app, { code_challenge: makePkce().code_challenge })
  const csrf = csrfOf((await visitor.get(url)).body)
  const fields = { csrf, decision: 'allow', cap: 'monthly', cap_usd: '10' }
  const reply = await endAround(user.user_id, () => visitor.submit(url, fields))
  assert.equal(reply.statusCode, 401, reply.body)
  const grants = await sql(
    service.database_url,
    `select 1 from oauth_grant g join app_connection c on c.id = g.connection_id where c.account_id = $1`,
    [user.user_id],
  )
  assert.deepEqual(grants, [])
})
