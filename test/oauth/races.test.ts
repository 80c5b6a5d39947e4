// Two processes on one database, asked for the same thing at the same moment. Each promise here is one that a
// read followed by a write would break.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sql } from '../support/database.ts'
import { ProofKey } from '../support/dpop.ts'
import {
  type AnyApp,
  connect,
  createOAuthApp,
  obtainCode,
  postForm,
  postToken,
  signIn,
  type TokenReply,
} from '../support/oauth.ts'
import { startTwo } from '../support/remote.ts'

const ROUNDS = 20
const ISSUER = 'https://svc.example'

const { left, right, database_url } = await startTwo({ PUBLIC_URL: ISSUER })
const sides = [left, right] as const
const developer = await left.register()
const user = await left.register()
const app = await createOAuthApp(left, developer)
const visitor = await signIn(left, user)

/** Every kind of app, and whether it shows a key, which it proves anew each time it asks. */
const KINDS = [
  { name: 'an app with a server', body: {}, has_key: false, access_s: 3600 },
  {
    name: 'a browser app with a key',
    body: { client_type: 'browser' },
    has_key: true,
    access_s: 600,
  },
  {
    name: 'a native app',
    body: { client_type: 'native', redirect_uris: ['http://127.0.0.1/callback'] },
    has_key: false,
    access_s: 3600,
  },
]

async function statusOf(side: (typeof sides)[number], access_token: string): Promise<number> {
  const headers = { authorization: `Bearer ${access_token}` }
  return (await side.request({ url: '/oauth/userinfo', headers })).statusCode
}

/** How many there are of all tokens of one person. */
async function count(table: string, { user_id }: { user_id: string }): Promise<number> {
  const [row] = await sql<{ count: number }>(
    database_url,
    `select count(*)::int as count
     from ${table} t
     join oauth_grant g on g.id = t.grant_id
     join app_connection c on c.id = g.connection_id
     where c.account_id = $1`,
    [user_id],
  )
  return row?.count ?? -1
}

for (const { name, body, has_key, access_s } of KINDS) {
  describe(`of ${name}`, async () => {
    const own: AnyApp = await createOAuthApp(left, developer, body)
    const owner = await left.register()
    const browser = await signIn(left, owner)
    const walk = { app: own, user: owner, visitor: browser }
    const key = new ProofKey(ISSUER, () => new Date())
    const prove = (): Record<string, string> => (has_key ? key.prove() : {})

    /** The same form, several times at once, in turn to each process. */
    const postAtOnce = (count: number, fields: Record<string, string>) =>
      Promise.all(
        Array.from({ length: count }, (_, index) =>
          postToken(index % 2 === 0 ? left : right, own, fields, prove()),
        ),
      )

    test('O18: a code sent four times at once gives at most one answer, and then nothing', async () => {
      let winners = 0
      for (let round = 0; round < ROUNDS; round++) {
        const { code, code_verifier } = await obtainCode(left, walk)
        const replies = await postAtOnce(4, {
          grant_type: 'authorization_code',
          code,
          code_verifier,
        })
        const won = replies.filter((reply) => reply.statusCode === 200)
        assert.ok(won.length <= 1, `${won.length} of 4 were answered with tokens`)
        winners += won.length
        for (const reply of replies.filter((other) => other.statusCode !== 200)) {
          assert.deepEqual([reply.statusCode, reply.json().error], [400, 'invalid_grant'])
        }
        for (const reply of won) {
          const tokens = reply.json<TokenReply>()
          const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
          assert.equal(await statusOf(left, tokens.access_token), 401)
          assert.equal(await statusOf(right, tokens.access_token), 401)
          assert.equal(
            (await postToken(right, own, refresh, prove())).json().error,
            'invalid_grant',
          )
        }
      }
      assert.equal(winners, ROUNDS, 'the first of each round was served')
      assert.deepEqual(
        [await count('oauth_access_token', owner), await count('oauth_refresh_token', owner)],
        [0, 0],
      )
      const events = await sql<{ kind: string }>(
        database_url,
        'select kind from outbox where wallet_id = $1 and kind::text like $2 order by id',
        [owner.user_id, 'user.%'],
      )
      assert.deepEqual(
        events.map(({ kind }) => kind),
        Array.from({ length: ROUNDS }, () => ['user.connected', 'user.disconnected']).flat(),
        'each round told of one connection and of its end',
      )
    })

    test('O19: a refresh token sent eight times at once gives eight equal answers, and one successor', async () => {
      let { refresh_token } = await connect(left, { ...walk, headers: prove() })
      for (let round = 0; round < ROUNDS; round++) {
        const replies = await postAtOnce(8, { grant_type: 'refresh_token', refresh_token })
        const bodies = replies.map((reply) => {
          assert.equal(reply.statusCode, 200, reply.body)
          const { expires_in, ...tokens } = reply.json<TokenReply>()
          assert.ok(expires_in > access_s - 10 && expires_in <= access_s)
          return JSON.stringify(tokens)
        })
        assert.equal(new Set(bodies).size, 1, 'one distinct successor')
        const next = replies[0]?.json<TokenReply>()
        assert.ok(next)
        assert.notEqual(next.refresh_token, refresh_token)
        for (const side of sides) assert.equal(await statusOf(side, next.access_token), 200)
        refresh_token = next.refresh_token
      }
      assert.equal(await count('oauth_refresh_token', owner), ROUNDS + 1, 'a chain, not a tree')
      assert.equal(await count('oauth_access_token', owner), ROUNDS + 1)
    })

    test('a token that is refreshed and revoked at once is dead at the end, with all that came of it', async () => {
      for (let round = 0; round < 10; round++) {
        const { refresh_token, access_token } = await connect(left, { ...walk, headers: prove() })
        const { client_id, client_secret } = own
        const client = { client_id, ...(client_secret !== undefined && { client_secret }) }
        const [revoked, ...refreshed] = await Promise.all([
          postForm(right, '/oauth/revoke', { token: refresh_token, ...client }),
          ...sides.map((side) =>
            postToken(side, own, { grant_type: 'refresh_token', refresh_token }, prove()),
          ),
        ])
        assert.equal(revoked.statusCode, 200)
        const given = refreshed.flatMap((reply) =>
          reply.statusCode === 200 ? [reply.json<TokenReply>().access_token] : [],
        )
        for (const token of [access_token, ...given])
          assert.equal(await statusOf(right, token), 401)
      }
    })
  })
}

test('one external id that several users claim at once belongs to one of them', async () => {
  const people = await Promise.all(Array.from({ length: 4 }, () => left.register()))
  const hosted = { storage_mode: 'hosted', external_user_id: 'seat' }
  const codes = await Promise.all(
    people.map((one) => obtainCode(left, { app, user: one, parameters: hosted })),
  )
  const replies = await Promise.all(
    codes.map(({ code, code_verifier }, index) =>
      postToken(sides[index % 2] ?? left, app, {
        grant_type: 'authorization_code',
        code,
        code_verifier,
        external_user_id: 'seat',
      }),
    ),
  )
  for (const reply of replies) assert.equal(reply.statusCode, 200, reply.body)
  const tokens = replies.map((reply) => reply.json<TokenReply>().access_token)
  const alive = await Promise.all(tokens.map((token) => statusOf(right, token)))
  assert.equal(alive.filter((status) => status === 200).length, 1, alive.join(' '))
  const connected = await sql(
    database_url,
    'select 1 from app_connection where account_id = any ($1) and connected_at is not null',
    [people.map((one) => one.user_id)],
  )
  assert.equal(connected.length, 1)
})

test('an app that is deleted while it exchanges and refreshes is gone, and nobody sees a fault of ours', async () => {
  for (let round = 0; round < 10; round++) {
    const doomed = await createOAuthApp(left, developer)
    const { refresh_token } = await connect(left, { app: doomed, user, visitor })
    const parameters = { storage_mode: 'hosted', external_user_id: 'doomed' }
    const codes = [
      await obtainCode(left, { app: doomed, user, visitor }),
      await obtainCode(left, { app: doomed, user, visitor, parameters }),
    ]
    const forms = [
      { grant_type: 'refresh_token', refresh_token },
      ...codes.map(({ code, code_verifier }) => ({
        grant_type: 'authorization_code',
        code,
        code_verifier,
      })),
    ]
    const [deleted, ...replies] = await Promise.all([
      left.request({
        method: 'DELETE',
        url: `/developers/apps/${doomed.id}`,
        headers: developer.bearer,
      }),
      ...forms.flatMap((fields) => sides.map((side) => postToken(side, doomed, fields))),
    ])
    const statuses = [deleted, ...replies].map((reply) => reply.statusCode)
    assert.ok(
      statuses.every((status) => status < 500),
      statuses.join(' '),
    )
    assert.equal(deleted.statusCode, 200)
    for (const reply of replies.filter((one) => one.statusCode === 200)) {
      assert.equal(await statusOf(right, reply.json<TokenReply>().access_token), 401)
    }
  }
})

test('a user who disconnects while the app exchanges and refreshes is disconnected or connected, never half', async () => {
  for (let round = 0; round < 10; round++) {
    const first = await connect(left, { app, user, visitor })
    const { code, code_verifier } = await obtainCode(left, { app, user, visitor })
    const replies = await Promise.all([
      right.request({
        method: 'DELETE',
        url: `/account/connections/${app.client_id}`,
        headers: user.bearer,
      }),
      postToken(left, app, { grant_type: 'authorization_code', code, code_verifier }),
      postToken(right, app, { grant_type: 'refresh_token', refresh_token: first.refresh_token }),
    ])
    assert.ok(replies.every((reply) => reply.statusCode < 500))
    const [row] = await sql<{ connected: boolean; live: boolean; tokens: boolean }>(
      database_url,
      `select c.connected_at is not null as connected,
         exists (select 1 from oauth_grant g where g.connection_id = c.id
           and g.activated_at is not null and g.ended_at is null) as live,
         exists (select 1 from oauth_access_token t join oauth_grant g on g.id = t.grant_id
           where g.connection_id = c.id) as tokens
       from app_connection c join app a on a.id = c.app_id
       where a.client_id = $1 and c.account_id = $2`,
      [app.client_id, user.user_id],
    )
    assert.ok(row && row.connected === row.live && row.live === row.tokens, JSON.stringify(row))
  }
})
