// /oauth/token and /oauth/revoke as a hostile client sees them: how it says who it is, and how often it may guess.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../support/app.ts'
import {
  connect,
  createOAuthApp,
  type OAuthApp,
  obtainCode,
  postForm,
  postToken,
} from '../support/oauth.ts'

const service = await createApp()
const developer = await service.register()
const user = await service.register()
const app = await createOAuthApp(service, developer)

const FORM = 'application/x-www-form-urlencoded'
const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
})
const raw = (payload: string, headers: Record<string, string> = {}, url = '/oauth/token') =>
  service.request({ method: 'POST', url, headers: { 'content-type': FORM, ...headers }, payload })

test('O22: only a form is read; JSON, other types and what is too large are refused', async () => {
  const { code, code_verifier } = await obtainCode(service, { app, user })
  const { client_id, client_secret } = app
  const fields = { grant_type: 'authorization_code', code, code_verifier, client_id, client_secret }
  const json = await raw(JSON.stringify(fields), { 'content-type': 'application/json' })
  assert.deepEqual([json.statusCode, json.json().error], [400, 'invalid_request'])
  const text = await raw(new URLSearchParams(fields).toString(), { 'content-type': 'text/plain' })
  assert.deepEqual([text.statusCode, text.json().error], [415, 'invalid_request'])
  const large = await raw(`${new URLSearchParams(fields).toString()}&x=${'x'.repeat(20_000)}`)
  assert.deepEqual([large.statusCode, large.json().error], [413, 'invalid_request'])
  const query = await raw('', {}, `/oauth/token?${new URLSearchParams(fields).toString()}`)
  assert.equal(query.statusCode, 400)
  // None of that used the code.
  assert.equal((await postForm(service, '/oauth/token', fields)).statusCode, 200)
})

test('O22: an app says who it is in one way, and as itself', async () => {
  const refresh_token = `svc_refresh_${'A'.repeat(43)}`
  const fields = { grant_type: 'refresh_token', refresh_token }
  const { client_id, client_secret } = app
  const own = basic(client_id, client_secret)
  const send = (more: Record<string, string>, headers: Record<string, string> = {}) =>
    postForm(service, '/oauth/token', { ...fields, ...more }, headers)

  for (const reply of [
    await send({ client_id, client_secret }, own),
    await send({ client_secret }, own),
    await send({ client_id: 'svc_client_other' }, own),
  ]) {
    assert.deepEqual([reply.statusCode, reply.json().error], [400, 'invalid_request'])
  }
  for (const authorization of [
    'Basic',
    'Basic !!!!',
    `Basic ${Buffer.from('no colon').toString('base64')}`,
    `Basic ${Buffer.from('%zz:x').toString('base64')}`,
    `Basic ${Buffer.from(`${client_id}:`).toString('base64')}`,
    `Bearer ${client_secret}`,
    basic(client_id, `${client_secret}x`).authorization,
    basic('nobody', client_secret).authorization,
  ]) {
    const reply = await send({}, { authorization })
    assert.deepEqual([reply.statusCode, reply.json().error], [401, 'invalid_client'], authorization)
    assert.match(String(reply.headers['www-authenticate']), /^Basic /)
  }
  for (const more of [{}, { client_id }, { client_id, client_secret: 'x' }, { client_secret }]) {
    const reply = await send(more)
    assert.deepEqual([reply.statusCode, reply.json().error], [401, 'invalid_client'])
    assert.equal(reply.headers['www-authenticate'], undefined)
  }
  const known = await send({ client_id }, own)
  assert.deepEqual([known.statusCode, known.json().error], [400, 'invalid_grant'])
})

test('O22: a parameter that comes twice, is too long or is missing is invalid_request', async () => {
  const { client_id, client_secret } = app
  const own = new URLSearchParams({ client_id, client_secret }).toString()
  for (const body of [
    own,
    `${own}&grant_type=`,
    `${own}&grant_type=password&username=a&password=b`,
    `${own}&grant_type=client_credentials`,
    `${own}&grant_type=refresh_token`,
    `${own}&grant_type=authorization_code`,
    `${own}&grant_type=refresh_token&grant_type=refresh_token&refresh_token=x`,
    `${own}&grant_type=refresh_token&refresh_token=x&refresh_token=y`,
    `${own}&${own}&grant_type=refresh_token&refresh_token=x`,
    `${own}&grant_type=refresh_token&refresh_token=${'x'.repeat(300)}`,
    `${own}&grant_type=refresh_token&refresh_token=%00`,
  ]) {
    const reply = await raw(body)
    assert.deepEqual([reply.statusCode, reply.json().error], [400, 'invalid_request'], body)
    assert.equal(reply.headers['cache-control'], 'no-store')
    assert.equal(reply.headers['access-control-allow-origin'], undefined)
  }
})

test('O23: guessing the secret of an app ends after ten tries from one address, for that address', async () => {
  const guessed = await createOAuthApp(service, developer)
  const guess = (client_secret: string, remoteAddress: string, headers = {}) =>
    service.request({
      method: 'POST',
      url: '/oauth/token',
      remoteAddress,
      headers: { 'content-type': FORM, ...headers },
      payload: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: 'x',
        client_id: guessed.client_id,
        client_secret,
      }).toString(),
    })
  const statuses: number[] = []
  for (let i = 0; i < 30; i++) {
    const forged = { 'x-forwarded-for': `198.51.100.${i}` }
    statuses.push((await guess(`svc_secret_${i}`, '203.0.113.5', forged)).statusCode)
  }
  assert.deepEqual(statuses, [...Array(10).fill(401), ...Array(20).fill(429)])
  const refused = await guess('svc_secret_31', '203.0.113.5')
  assert.deepEqual([refused.statusCode, refused.json().error], [429, 'rate_limit_exceeded'])
  assert.ok(Number(refused.headers['retry-after']) >= 1)
  // The app itself is not locked out by somebody else's guesses, not even from the same address.
  for (const remoteAddress of ['203.0.113.5', '203.0.113.6']) {
    const own = await guess(guessed.client_secret, remoteAddress)
    assert.deepEqual([own.statusCode, own.json().error], [400, 'invalid_grant'])
  }
})

test('O23: all that fails before an app is known counts for its address, whatever it is', async () => {
  const strict = await createApp({ settings: { RATE_LIMIT_PER_MINUTE: '20' } })
  const junk: [string, Record<string, string>][] = [
    ['grant_type=refresh_token&client_id=ID&client_secret=x', {}],
    ['', {}],
    ['grant_type=nonsense', {}],
    ['grant_type=refresh_token', { authorization: 'Basic !!!!' }],
    ['grant_type=refresh_token&client_secret=x', basic('a', 'b')],
    ['{}', { 'content-type': 'application/json' }],
  ]
  for (const url of ['/oauth/token', '/oauth/revoke']) {
    const remoteAddress = url === '/oauth/token' ? '203.0.113.7' : '203.0.113.8'
    const statuses: number[] = []
    for (let i = 0; i < 40; i++) {
      const [body = '', headers] = junk[i % junk.length] ?? []
      const reply = await strict.request({
        method: 'POST',
        url,
        remoteAddress,
        headers: { 'content-type': FORM, ...headers },
        payload: body.replace('ID', `svc_client_${i}`),
      })
      statuses.push(reply.statusCode)
    }
    assert.ok(
      statuses.slice(0, 20).every((status) => status < 429),
      statuses.join(' '),
    )
    assert.deepEqual(statuses.slice(20), Array(20).fill(429), statuses.join(' '))
  }
})

test('an app that knows its secret has an allowance of its own, and a bound', async () => {
  const strict = await createApp({
    settings: { RATE_LIMIT_PER_MINUTE: '1000', TOKEN_LIMIT_PER_MINUTE: '5' },
  })
  const one = await createOAuthApp(strict, await strict.register())
  const two = await createOAuthApp(strict, await strict.register())
  const ask = async (by: OAuthApp) =>
    (await postToken(strict, by, { grant_type: 'refresh_token', refresh_token: 'x' })).statusCode
  for (let i = 0; i < 5; i++) assert.equal(await ask(one), 400)
  assert.equal(await ask(one), 429)
  assert.equal(await ask(two), 400)
})

test('a secret that was replaced, and one of a deleted app, are wrong at once', async () => {
  const own = await createOAuthApp(service, developer)
  const ask = (client_secret: string) =>
    postToken(
      service,
      { ...own, client_secret },
      { grant_type: 'refresh_token', refresh_token: 'x' },
    )
  const { access_token } = await connect(service, { app: own, user })
  const rotate = `/developers/apps/${own.id}/rotate-secret`
  const rotated = await service.post(rotate, {}, developer.bearer)
  const { client_secret } = rotated.json<OAuthApp>()
  assert.equal((await ask(own.client_secret)).json().error, 'invalid_client')
  assert.equal((await ask(client_secret)).json().error, 'invalid_grant')
  const headers = { authorization: `Bearer ${access_token}` }
  assert.equal((await service.request({ url: '/oauth/userinfo', headers })).statusCode, 200)
  const url = `/developers/apps/${own.id}`
  await service.request({ method: 'DELETE', url, headers: developer.bearer })
  assert.equal((await ask(client_secret)).json().error, 'invalid_client')
})
