// Fault: whoever once let an app see the balance was offered "no cap" when the app asked to spend. A cap is proposed
// until the user has chosen once.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../support/app.ts'
import {
  allow,
  authorizeUrl,
  connect,
  createOAuthApp,
  makePkce,
  type Person,
  signIn,
  type Visitor,
} from '../support/oauth.ts'

const service = await createApp()
const app = await createOAuthApp(service, await service.register())

const wish = (scope: string) =>
  authorizeUrl(app, { scope, code_challenge: makePkce().code_challenge })

/** What is chosen on the page that asks to spend, before anybody touches it. */
async function proposed(visitor: Visitor): Promise<{ cap: string; usd: string }> {
  const { body } = await visitor.get(wish('credits.read credits.spend'))
  const [, cap = ''] = /name="cap" value="(\w+)" checked/.exec(body) ?? []
  const [, usd = ''] = /name="cap_usd"[^>]*? value="([^"]*)"/.exec(body) ?? []
  return { cap, usd }
}

async function readerOf(): Promise<{ user: Person; visitor: Visitor }> {
  const user = await service.register()
  const visitor = await signIn(service, user)
  await connect(service, { app, user, visitor, parameters: { scope: 'credits.read' } })
  return { user, visitor }
}

const setCap = (user: Person, cap_credits: number | null) =>
  service.request({
    method: 'PATCH',
    url: `/account/connections/${app.client_id}`,
    headers: { ...user.bearer, 'content-type': 'application/json' },
    payload: JSON.stringify({ cap_credits }),
  })

test('O36: after a consent that showed no cap, $10 a month is proposed', async () => {
  const { visitor } = await readerOf()
  assert.deepEqual(await proposed(visitor), { cap: 'monthly', usd: '10.00' })
})

test('what the user chose at consent is proposed the next time, also no cap', async () => {
  const { visitor } = await readerOf()
  await allow(visitor, wish('credits.spend'), { cap: 'none', cap_usd: '10.00', cap_shown: '10.00' })
  assert.equal((await proposed(visitor)).cap, 'none')
  await allow(visitor, wish('credits.spend'), { cap: 'monthly', cap_usd: '3' })
  assert.deepEqual(await proposed(visitor), { cap: 'monthly', usd: '3.00' })
  // A page without the question is no choice, and takes none back.
  await allow(visitor, wish('credits.read'))
  assert.deepEqual(await proposed(visitor), { cap: 'monthly', usd: '3.00' })
})

test('a cap that the user set or took away among the connected apps is a choice', async () => {
  const { user, visitor } = await readerOf()
  assert.equal((await setCap(user, null)).statusCode, 200)
  assert.equal((await proposed(visitor)).cap, 'none')
  await setCap(user, 2_500_000)
  assert.deepEqual(await proposed(visitor), { cap: 'monthly', usd: '2.50' })
})
