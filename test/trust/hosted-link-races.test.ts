// Two processes on one database exchange codes for one external id at the same moment.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../support/database.ts'
import { createOAuthApp, obtainCode, postToken, signIn } from '../support/oauth.ts'
import { startTwo } from '../support/remote.ts'

const ROUNDS = 10

const { left, right, database_url } = await startTwo()
const developer = await left.register()
const [app, other_app] = [
  await createOAuthApp(left, developer),
  await createOAuthApp(left, developer),
]
const people = [await left.register(), await left.register()] as const
const visitors = [await signIn(left, people[0]), await signIn(left, people[1])] as const

/** Both consent to the same external id; both codes are exchanged at once, one by each process. */
async function race(
  external_user_id: string,
  fields: Record<string, string>,
  apps = [app, app] as const,
) {
  const parameters = { storage_mode: 'hosted', external_user_id }
  const codes = []
  for (const index of [0, 1] as const) {
    const [user, visitor] = [people[index], visitors[index]]
    codes.push(await obtainCode(left, { app: apps[index], user, visitor, parameters }))
  }
  return await Promise.all(
    codes.map(({ code, code_verifier }, index) =>
      postToken(index === 0 ? left : right, apps[index] ?? app, {
        grant_type: 'authorization_code',
        code,
        code_verifier,
        ...fields,
      }),
    ),
  )
}

/** Whose the links of that name are, and the live grants behind it. */
async function holders(external_user_id: string): Promise<{ links: string[]; grants: string[] }> {
  const links = await sql<{ account_id: string }>(
    database_url,
    `select c.account_id from hosted_link l join oauth_grant g on g.id = l.grant_id
     join app_connection c on c.id = g.connection_id where l.external_user_id = $1`,
    [external_user_id],
  )
  const grants = await sql<{ account_id: string }>(
    database_url,
    `select c.account_id from oauth_grant g join app_connection c on c.id = g.connection_id
     where g.external_user_id = $1 and g.activated_at is not null and g.ended_at is null`,
    [external_user_id],
  )
  return {
    links: links.map((row) => row.account_id),
    grants: grants.map((row) => row.account_id),
  }
}

for (const [through, apps] of [
  ['one app', [app, app] as const],
  ['two apps of one developer', [app, other_app] as const],
] as const) {
  test(`O35: of two exchanges at once that confirm nothing, one gets the name and the other is refused (${through})`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const name = `${through} ${round}`
      const replies = await race(name, {}, apps)
      const won = replies.filter((reply) => reply.statusCode === 200)
      const lost = replies.filter((reply) => reply.statusCode === 400)
      assert.deepEqual([won.length, lost.length], [1, 1])
      const winner = people[replies[0]?.statusCode === 200 ? 0 : 1].user_id
      assert.deepEqual(await holders(name), { links: [winner], grants: [winner] })
    }
  })
}

test('O35: of two exchanges at once that confirm the name the later one has it, and only that', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const external_user_id = `confirmed ${round}`
    const replies = await race(external_user_id, { external_user_id })
    assert.deepEqual(
      replies.map((reply) => reply.statusCode),
      [200, 200],
    )
    const { links, grants } = await holders(external_user_id)
    assert.equal(links.length, 1)
    assert.deepEqual(grants, links)
  }
})
