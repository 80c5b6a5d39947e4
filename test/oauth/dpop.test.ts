// P3: a refresh token that is bound to a key is worth nothing without it, whichever of two processes is asked, and
// whoever tries without it changes nothing for the owner.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../support/database.ts'
import { ProofKey } from '../support/dpop.ts'
import {
  connect,
  createPublicApp,
  obtainCode,
  type PublicApp,
  postToken,
  signIn,
  type TokenReply,
} from '../support/oauth.ts'
import { startTwo } from '../support/remote.ts'

const ISSUER = 'https://svc.example'
const ROUNDS = 3

const { left, right, database_url } = await startTwo({ PUBLIC_URL: ISSUER })
const developer = await left.register()
const user = await left.register()
const visitor = await signIn(left, user)
const app = await createPublicApp(left, developer, { client_type: 'browser' })

const makeKey = () => new ProofKey(ISSUER, () => new Date())
const seconds = (ago: number) => Math.floor(Date.now() / 1000) - ago

async function bind(key: ProofKey, of: PublicApp = app): Promise<TokenReply> {
  return await connect(left, { app: of, user, visitor, headers: key.prove() })
}

function refresh(side: typeof left, refresh_token: string, headers: Record<string, string> = {}) {
  return postToken(side, app, { grant_type: 'refresh_token', refresh_token }, headers)
}

test('P3: a stolen refresh token is worth nothing without the key, and its owner goes on', async () => {
  const key = makeKey()
  const thief = makeKey()
  const { refresh_token, token_type } = await bind(key)
  assert.equal(token_type, 'Bearer')
  const used = key.prove()
  const next = await refresh(left, refresh_token, used)
  assert.equal(next.statusCode, 200, next.body)
  const { refresh_token: second } = next.json<TokenReply>()
  const attempts: [string, Record<string, string>, string][] = [
    ['no proof', {}, 'invalid_grant'],
    ['another key', thief.prove(), 'invalid_grant'],
    ['a proof that was used', used, 'invalid_dpop_proof'],
    ['another address', key.prove({ htu: `${ISSUER}/oauth/revoke` }), 'invalid_dpop_proof'],
    ['another host', key.prove({ htu: 'https://evil.example/oauth/token' }), 'invalid_dpop_proof'],
    ['another method', key.prove({ htm: 'GET' }), 'invalid_dpop_proof'],
    ['too old', key.prove({ iat: seconds(62) }), 'invalid_dpop_proof'],
    ['of the future', key.prove({ iat: seconds(-90) }), 'invalid_dpop_proof'],
    ['without a time', key.prove({ iat: undefined }), 'invalid_dpop_proof'],
    ['a time that is text', key.prove({ iat: String(seconds(0)) }), 'invalid_dpop_proof'],
    ['without an id', key.prove({ jti: undefined }), 'invalid_dpop_proof'],
    ['an endless id', key.prove({ jti: 'a'.repeat(257) }), 'invalid_dpop_proof'],
    ['another type', key.prove({}, { typ: 'JWT' }), 'invalid_dpop_proof'],
    ['no algorithm', key.prove({}, { alg: 'none' }), 'invalid_dpop_proof'],
    ['another algorithm', key.prove({}, { alg: 'HS256' }), 'invalid_dpop_proof'],
    ['rules nobody knows', key.prove({}, { crit: ['exp'] }), 'invalid_dpop_proof'],
    ['a private key', key.prove({}, { jwk: thief.privateJwk }), 'invalid_dpop_proof'],
    ['no key', key.prove({}, { jwk: null }), 'invalid_dpop_proof'],
    ['no point of the curve', key.prove({}, { jwk: farPoint() }), 'invalid_dpop_proof'],
    ['a signature of another', forge(key, thief), 'invalid_dpop_proof'],
    ['two proofs', { dpop: `${key.prove().dpop}, ${key.prove().dpop}` }, 'invalid_dpop_proof'],
    ['no proof at all', { dpop: 'x' }, 'invalid_dpop_proof'],
    ['an endless one', { dpop: 'a'.repeat(8000) }, 'invalid_dpop_proof'],
  ]
  for (const [what, headers, error] of attempts) {
    for (const side of [left, right]) {
      const reply = await refresh(side, second, headers)
      assert.deepEqual([reply.statusCode, reply.json().error], [400, error], what)
    }
  }
  const after = await refresh(right, second, key.prove())
  assert.equal(after.statusCode, 200, 'the family is alive')
})

test('P3: an old refresh token without the key ends nothing; with the key it ends the family', async () => {
  const key = makeKey()
  const first = await bind(key)
  const second = (await refresh(left, first.refresh_token, key.prove())).json<TokenReply>()
    .refresh_token
  const third = (await refresh(right, second, key.prove())).json<TokenReply>().refresh_token
  for (const headers of [{}, makeKey().prove()]) {
    const reply = await refresh(left, first.refresh_token, headers)
    assert.deepEqual([reply.statusCode, reply.json().error], [400, 'invalid_grant'])
  }
  const alive = await refresh(left, third, key.prove())
  assert.equal(alive.statusCode, 200, 'who has only the token cannot sign the user out')
  assert.equal((await refresh(left, first.refresh_token, key.prove())).statusCode, 400)
  const { refresh_token } = alive.json<TokenReply>()
  assert.equal((await refresh(left, refresh_token, key.prove())).statusCode, 400, 'reuse ends it')
})

test('P3: 20 refreshes at once on two processes give one successor, and a repeat needs the key', async () => {
  const key = makeKey()
  let { refresh_token } = await bind(key)
  for (let round = 0; round < ROUNDS; round++) {
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        refresh(i % 2 === 0 ? left : right, refresh_token, key.prove()),
      ),
    )
    const successors = replies.map((reply) => {
      assert.equal(reply.statusCode, 200, reply.body)
      return reply.json<TokenReply>().refresh_token
    })
    assert.equal(new Set(successors).size, 1)
    assert.equal((await refresh(left, refresh_token)).json().error, 'invalid_grant')
    const again = await refresh(right, refresh_token, key.prove())
    assert.equal(again.json<TokenReply>().refresh_token, successors[0], 'nor does a thief end it')
    refresh_token = successors[0] ?? ''
  }
})

test('one proof sent to two processes at once is good at one of them', async () => {
  const key = makeKey()
  const { refresh_token } = await bind(key)
  const proof = key.prove()
  const replies = await Promise.all(
    Array.from({ length: 8 }, (_, i) => refresh(i % 2 === 0 ? left : right, refresh_token, proof)),
  )
  const refused = replies.filter((reply) => reply.statusCode !== 200)
  assert.equal(refused.length, 7)
  for (const reply of refused) assert.equal(reply.json().error, 'invalid_dpop_proof')
})

test('strangers fill no table: a proof is kept only with a code or a token of its key', async () => {
  const before = await countProofs()
  const { refresh_token } = await bind(makeKey())
  for (let i = 0; i < 5; i++) await refresh(left, refresh_token, makeKey().prove())
  const fields = { grant_type: 'authorization_code', code: `svc_code_${'a'.repeat(43)}` }
  for (let i = 0; i < 5; i++) await postToken(left, app, fields, makeKey().prove())
  assert.equal(await countProofs(), before + 1)
})

test('a wrong proof with a code does not use the code up', async () => {
  const key = makeKey()
  const { code, code_verifier } = await obtainCode(left, { app, user, visitor })
  const fields = { grant_type: 'authorization_code', code, code_verifier }
  const wrong = await postToken(left, app, fields, key.prove({ iat: seconds(100) }))
  assert.equal(wrong.json().error, 'invalid_dpop_proof')
  assert.equal((await postToken(right, app, fields, key.prove())).statusCode, 200)
})

/** The proof of one key, signed by another. */
function forge(key: ProofKey, other: ProofKey): { dpop: string } {
  const [head, body] = key.prove().dpop.split('.')
  return { dpop: `${head}.${body}.${other.prove().dpop.split('.')[2]}` }
}

function farPoint() {
  const coordinate = Buffer.alloc(32, 1).toString('base64url')
  return { kty: 'EC', crv: 'P-256', x: coordinate, y: coordinate }
}

async function countProofs(): Promise<number> {
  const rows = await sql<{ count: number }>(
    database_url,
    'select count(*)::int as count from dpop_proof',
  )
  return rows[0]?.count ?? -1
}
