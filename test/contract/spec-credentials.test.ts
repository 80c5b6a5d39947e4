// Keys and OAuth clients over HTTP, as the specification describes their records.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../support/app.ts'
import { authorizeUrl, createOAuthApp, makePkce, type OAuthApp, signIn } from '../support/oauth.ts'

const service = await createApp()
const developer = await service.register()
const { bearer } = developer

const ask = (method: 'GET' | 'PATCH' | 'DELETE', url: string, body?: object) =>
  service.request({
    method,
    url,
    headers: { ...bearer, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { payload: JSON.stringify(body) }),
  })

test('while a key is being replaced the old one and the new one are both valid', async () => {
  const [old, next] = [await service.createKey(bearer), await service.createKey(bearer)]
  const use = async (key: string) =>
    (await service.request({ url: '/v1/balance', headers: { 'x-api-key': key } })).statusCode
  assert.deepEqual([await use(old.key), await use(next.key)], [200, 200])
  assert.equal((await ask('DELETE', `/developers/keys/${old.id}`)).statusCode, 200)
  assert.deepEqual([await use(old.key), await use(next.key)], [401, 200])
})

test('a new app is answered with its fields and its secret, which is never shown again', async () => {
  const redirect_uris = ['https://app.example/callback', 'http://localhost:3000/cb']
  const wanted = { name: 'Poem Machine', redirect_uris }
  const reply = await service.post('/developers/apps', wanted, bearer)
  assert.equal(reply.statusCode, 201)
  const { client_secret, ...app } = reply.json<OAuthApp & { created_at: string }>()
  assert.match(client_secret, /^svc_secret_\S{20,}$/)
  assert.match(app.client_id, /^svc_client_\S+$/)
  assert.match(app.id, /^[0-9a-f-]{36}$/)
  assert.equal(new Date(app.created_at).toISOString(), app.created_at)
  assert.deepEqual([app.name, app.redirect_uris], [wanted.name, redirect_uris])
  const list = (await ask('GET', '/developers/apps')).json<{ data: OAuthApp[] }>()
  assert.deepEqual(
    list.data.find(({ id }) => id === app.id),
    app,
  )
  assert.deepEqual((await ask('GET', `/developers/apps/${app.id}`)).json(), {
    ...app,
    connected_users: 0,
  })
})

test('allowed_scopes can be changed, from the two that there are, and hold at once', async () => {
  const app = await createOAuthApp(service, developer)
  const url = `/developers/apps/${app.id}`
  const changed = await ask('PATCH', url, { allowed_scopes: ['credits.read'] })
  assert.equal(changed.statusCode, 200)
  assert.deepEqual(changed.json<{ allowed_scopes: string[] }>().allowed_scopes, ['credits.read'])
  assert.equal((await ask('PATCH', url, { allowed_scopes: ['credits.mint'] })).statusCode, 400)
  const visitor = await signIn(service, developer)
  const { code_challenge } = makePkce()
  const asked = await visitor.get(authorizeUrl(app, { code_challenge, scope: 'credits.spend' }))
  assert.match(String(asked.headers.location), /error=invalid_scope/)
})

test('an app that is deleted is gone, and nobody else can read, change or delete it', async () => {
  const app = await createOAuthApp(service, developer)
  const url = `/developers/apps/${app.id}`
  const stranger = await service.register()
  for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
    const reply = await service.request({
      method,
      url,
      headers: { ...stranger.bearer, 'content-type': 'application/json' },
      ...(method === 'PATCH' && { payload: '{"name":"mine"}' }),
      ...(method === 'DELETE' && { headers: stranger.bearer }),
    })
    assert.deepEqual([reply.statusCode, reply.json().error.code], [404, 'not_found'], method)
  }
  assert.deepEqual((await ask('DELETE', url)).json(), { success: true })
  assert.equal((await ask('GET', url)).statusCode, 404)
})

test('redirect addresses: https, or this machine with any port; no wildcards', async () => {
  const create = async (uri: string) =>
    (await service.post('/developers/apps', { name: 'x', redirect_uris: [uri] }, bearer)).statusCode
  for (const uri of ['https://a.example/cb', 'http://localhost:1234/cb', 'http://127.0.0.1:9/cb']) {
    assert.equal(await create(uri), 201, uri)
  }
  for (const uri of ['http://a.example/cb', 'https://*.a.example/cb', 'https://a.example/*']) {
    assert.equal(await create(uri), 400, uri)
  }
})

test('apps are managed with a session only: keys and tokens are refused', async () => {
  const { key } = await service.createKey(bearer)
  for (const authorization of [`Bearer ${key}`, 'Bearer svc_token_x', undefined]) {
    const headers = authorization === undefined ? {} : { authorization }
    for (const method of ['GET', 'POST'] as const) {
      const reply = await service.request({ method, url: '/developers/apps', headers })
      assert.equal(reply.statusCode, 401, `${method} ${authorization}`)
    }
  }
})
