// Sign-in on another device on two processes with one database: what a read followed by a write would give twice.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../support/database.ts'
import {
  createOAuthApp,
  deviceProofOf,
  postForm,
  signIn,
  type TokenReply,
} from '../support/oauth.ts'
import { startTwo } from '../support/remote.ts'

const ROUNDS = 4
const POLLS = 8

const { left, right, database_url } = await startTwo()
const sides = [left, right] as const
const { client_id } = await createOAuthApp(left, await left.register(), {
  client_type: 'native',
  device_grant: true,
  redirect_uris: ['http://127.0.0.1/callback'],
})
const users = [await left.register(), await left.register()] as const
const visitors = [await signIn(left, users[0]), await signIn(right, users[1])] as const

test('P7: two processes, two people who allow one code at once, eight polls at once: one set of tokens, and it lives', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const asked = await postForm(left, '/oauth/device_authorization', { client_id })
    const { device_code, user_code } = asked.json<{ device_code: string; user_code: string }>()
    const pages = await Promise.all(visitors.map((one) => one.fill('/device', { user_code })))
    const form = { user_code, decision: 'allow', cap: 'monthly', cap_usd: '5', cap_shown: '5' }
    const poll = () =>
      Array.from({ length: POLLS }, (_, index) =>
        postForm(sides[index % 2] ?? left, '/oauth/token', {
          grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
          client_id,
          device_code,
        }),
      )
    const early = Promise.all(poll())
    const decisions = await Promise.all(
      visitors.map((one, index) =>
        one.submit('/device/decision', { ...form, ...deviceProofOf(pages[index]?.body ?? '') }),
      ),
    )
    assert.deepEqual(
      decisions.map((reply) => reply.statusCode).sort((a, b) => a - b),
      [200, 400],
    )
    const replies = [...(await early), ...(await Promise.all(poll()))]
    assert.ok(replies.every((reply) => reply.statusCode === 200 || reply.statusCode === 400))
    const [winner, ...others] = replies.filter((reply) => reply.statusCode === 200)
    assert.ok(winner && others.length === 0, `${others.length + 1} were given tokens`)
    const { access_token } = winner.json<TokenReply>()
    for (const side of sides) {
      const headers = { authorization: `Bearer ${access_token}` }
      assert.equal((await side.request({ url: '/oauth/userinfo', headers })).statusCode, 200)
    }
  }
  const [row] = await sql<{ grants: number; tokens: number }>(
    database_url,
    `select (select count(*)::int from oauth_grant) as grants,
       (select count(*)::int from oauth_refresh_token) as tokens`,
  )
  assert.deepEqual(row, { grants: ROUNDS, tokens: ROUNDS })
})

test('twenty codes of an app are open from one address, whichever process is asked', async () => {
  await sql(database_url, 'delete from device_request')
  const replies = await Promise.all(
    Array.from({ length: 24 }, (_, index) =>
      postForm(sides[index % 2] ?? left, '/oauth/device_authorization', { client_id }),
    ),
  )
  const opened = replies.filter((reply) => reply.statusCode === 200)
  assert.equal(opened.length, 20)
})
