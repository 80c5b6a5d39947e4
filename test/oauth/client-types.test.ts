// The kinds of apps: what may be registered for each, and what never changes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../support/app.ts'
import { CALLBACK } from '../support/oauth.ts'

const service = await createApp()
const developer = await service.register()

type Shown = { id: string; client_secret?: string; client_type: string; origins: string[] }

function register(body: object) {
  const wanted = { name: 'Poem Machine', redirect_uris: [CALLBACK], ...body }
  return service.post('/developers/apps', wanted, developer.bearer)
}

async function registered(body: object): Promise<Shown> {
  const reply = await register(body)
  assert.equal(reply.statusCode, 201, reply.body)
  return reply.json<Shown>()
}

function change(id: string, body: object) {
  return service.request({
    method: 'PATCH',
    url: `/developers/apps/${id}`,
    headers: developer.bearer,
    payload: body,
  })
}

test('an app without a server has no secret, and none can be made for it', async () => {
  for (const client_type of ['browser', 'native']) {
    const app = await registered({ client_type })
    assert.equal('client_secret' in app, false)
    assert.equal(app.client_type, client_type)
    const rotated = await service.post(
      `/developers/apps/${app.id}/rotate-secret`,
      {},
      developer.bearer,
    )
    assert.deepEqual([rotated.statusCode, rotated.json().error.code], [400, 'bad_request'])
  }
  const server = await registered({})
  assert.equal(server.client_type, 'web_server')
  assert.match(server.client_secret ?? '', /^svc_secret_/)
})

test('the kind of an app never changes, whichever it is', async () => {
  const kinds = ['web_server', 'browser', 'native']
  for (const client_type of kinds) {
    const { id } = await registered({ client_type })
    for (const other of kinds.filter((kind) => kind !== client_type)) {
      const reply = await change(id, { client_type: other })
      assert.deepEqual([reply.statusCode, reply.json().error.param], [400, 'client_type'])
    }
    const same = await change(id, { client_type, name: 'Same kind' })
    assert.deepEqual([same.statusCode, same.json().client_type], [200, client_type])
  }
  assert.equal((await register({ client_type: 'desktop' })).statusCode, 400)
})

test('origins are kept as browsers send them, and what no browser sends is refused', async () => {
  const origins = [
    'https://app.example',
    'https://app.example:8443',
    'http://localhost:5173',
    'http://[::1]:5173',
    'capacitor://localhost',
    'tauri://localhost',
  ]
  const app = await registered({ client_type: 'browser', origins: [...origins, origins[0]] })
  assert.deepEqual(app.origins, origins)
  const changed = await change(app.id, { origins: ['ionic://localhost'] })
  assert.deepEqual(changed.json().origins, ['ionic://localhost'])
  for (const origin of [
    'null',
    '*',
    '',
    'https://*.app.example',
    'https://app.example/',
    'https://app.example/path',
    'https://app.example:443',
    'https://APP.example',
    'https://user@app.example',
    'https://127.1',
    'http://app.example',
    'http://localhost.app.example',
    'http://localhost:99999',
    'file://host',
    'javascript://x',
    'data:text/html,x',
    'capacitor:localhost',
    'app.example',
    `https://${'a'.repeat(300)}.example`,
  ]) {
    const reply = await register({ client_type: 'browser', origins: [origin] })
    assert.deepEqual([reply.statusCode, reply.json().error.param], [400, 'origins'], origin)
  }
  const many = Array.from({ length: 11 }, (_, i) => `https://a${i}.example`)
  assert.equal((await register({ origins: many })).statusCode, 400)
})

test('only a native app lets its users sign in on another device', async () => {
  const native = await registered({ client_type: 'native', device_grant: true })
  assert.equal((await change(native.id, { device_grant: false })).json().device_grant, false)
  for (const client_type of ['web_server', 'browser']) {
    assert.equal((await register({ client_type, device_grant: true })).statusCode, 400)
    const { id } = await registered({ client_type })
    const reply = await change(id, { device_grant: true })
    assert.deepEqual([reply.statusCode, reply.json().error.param], [400, 'device_grant'])
  }
})
