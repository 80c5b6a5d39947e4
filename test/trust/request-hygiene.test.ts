// What a request may look like before anything is done with it: how deep its JSON, how many credentials, and how many
// made-up ones before the database is left alone.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { JSON_DEPTH_MAX } from '../../src/http/json-depth.ts'
import { mintApiKey, mintSecret } from '../../src/platform/tokens.ts'
import { createApp, PASSWORD, type TestApp } from '../support/app.ts'
import { createOAuthApp } from '../support/oauth.ts'

const FORM = 'application/x-www-form-urlencoded'

/** How often the statement was sent to the database. */
async function countOf({ parts }: TestApp, statement: string): Promise<number> {
  const { values } = await parts.metrics.db_statements.get()
  const found = values.find(
    ({ metricName, labels }) =>
      metricName?.endsWith('_count') === true && labels.statement === statement,
  )
  return found?.value ?? 0
}

describe('JSON', async () => {
  const service = await createApp()
  const { bearer } = await service.register()
  const { key } = await service.createKey(bearer)
  const send = (url: string, payload: string, headers: Record<string, string> = {}) =>
    service.request({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json', 'x-api-key': key, ...headers },
      payload,
    })
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

  test('that is 100,000 levels deep is a bad request wherever it is sent', async () => {
    const routes = Object.entries(
      (await service.request({ url: '/openapi.json' })).json<{
        paths: Record<string, Record<string, { requestBody?: { content: object } }>>
      }>().paths,
    ).filter(([, { post }]) => post?.requestBody && 'application/json' in post.requestBody.content)
    assert.ok(routes.length > 15, `${routes.length} routes`)
    for (const [path] of routes) {
      const url = path.replaceAll(/\{[^}]+\}/g, 'x')
      for (const auth of [{}, { ...bearer, 'x-api-key': '' }]) {
        const payload = `{"amount":1,"external_user_id":"u","x":${nested(100_000)}}`
        const reply = await send(url, payload, { 'idempotency-key': 'deep', ...auth })
        assert.ok(reply.statusCode >= 400 && reply.statusCode < 500, `${url} ${reply.statusCode}`)
      }
    }
    const funding = await send('/v1/funding/credit', `{"amount":1,"x":${nested(100_000)}}`, {
      'idempotency-key': 'deep',
    })
    assert.deepEqual([funding.statusCode, funding.json().error.code], [400, 'bad_request'])
  })

  test(`is taken up to ${JSON_DEPTH_MAX} levels, so that deep schemas of tools pass`, async () => {
    const ask = (levels: number) => {
      let schema: object = { type: 'string' }
      // Two levels each: the schema and its `properties`.
      for (let i = 0; i < levels; i++) schema = { type: 'object', properties: { a: schema } }
      const tools = [{ type: 'function', function: { name: 'f', parameters: schema } }]
      const messages = [{ role: 'user', content: 'hi' }]
      const body = { model: 'gpt-4o-mini', messages, tools }
      return send('/v1/chat/completions', JSON.stringify(body))
    }
    const deep = await ask(40)
    assert.equal(deep.statusCode, 200, deep.body)
    const refused = await ask(60)
    assert.deepEqual([refused.statusCode, refused.json().error.code], [400, 'bad_request'])
    assert.match(refused.json().error.message, /100 levels/)
  })
})

describe('credentials that contradict each other', async () => {
  const service = await createApp()
  const { bearer } = await service.register()
  const one = (await service.createKey(bearer)).key
  const other = (await service.createKey(bearer)).key
  const ask = async (headers: Record<string, string | string[]>) => {
    const reply = await service.request({ url: '/v1/key', headers })
    return [reply.statusCode, reply.statusCode === 200 ? null : reply.json().error.code]
  }

  test('are a bad request: two Authorization headers, or a bearer beside another X-API-Key', async () => {
    const authorization = `Bearer ${one}`
    assert.deepEqual(await ask({ authorization, 'x-api-key': other }), [400, 'bad_request'])
    assert.deepEqual(await ask({ ...bearer, 'x-api-key': one }), [400, 'bad_request'])
    assert.deepEqual(await ask({ authorization: 'Bearer junk', 'x-api-key': one }), [
      400,
      'bad_request',
    ])
    const tokens = ['svc_token_', 'svc_token_'].map(mintSecret)
    assert.deepEqual(
      await ask({ authorization: `Bearer ${tokens[0]}`, 'x-api-key': tokens[1] ?? '' }),
      [400, 'bad_request'],
    )
    assert.deepEqual(await ask({ authorization: [authorization, authorization] }), [
      400,
      'bad_request',
    ])
    assert.deepEqual(await ask({ 'x-api-key': [one, other] }), [400, 'bad_request'])
  })

  test('are none where both are the same', async () => {
    assert.deepEqual(await ask({ authorization: `Bearer ${one}`, 'x-api-key': one }), [200, null])
  })
})

describe('credentials that somebody makes up', async () => {
  test('cost no query once their address has had its share, and those who were good before go on', async () => {
    const service = await createApp({ settings: { RATE_LIMIT_PER_MINUTE: '10' } })
    const { bearer } = await service.register()
    const { key } = await service.createKey(bearer)
    const ask = async (secret: string) =>
      (await service.request({ url: '/v1/key', headers: { 'x-api-key': secret } })).statusCode
    assert.equal(await ask(key), 200)
    const statuses: number[] = []
    for (let i = 0; i < 30; i++) statuses.push(await ask(mintApiKey()))
    // The registration counted for the address too.
    assert.deepEqual(statuses, [...Array(9).fill(401), ...Array(21).fill(429)])
    assert.equal(await countOf(service, 'keys.find_key_by_digest'), 11)
    service.parts.keys.forgetAll()
    assert.equal(await ask(key), 200)
  })

  test('are not many if it is one that is tried again and again: a new key of the address works at once', async () => {
    const service = await createApp({ settings: { RATE_LIMIT_PER_MINUTE: '20' } })
    const { bearer } = await service.register()
    const { key } = await service.createKey(bearer)
    const ask = async (secret: string) =>
      (await service.request({ url: '/v1/key', headers: { 'x-api-key': secret } })).statusCode
    const dead = mintApiKey()
    for (let i = 0; i < 25; i++) await ask(dead)
    assert.equal(await ask(key), 200)
  })

  test('cost no query as client ids either, and the right secret gets in', async () => {
    const service = await createApp({ settings: { RATE_LIMIT_PER_MINUTE: '10' } })
    const developer = await service.register()
    const app = await createOAuthApp(service, developer)
    const ask = (client_id: string, client_secret: string) =>
      service.request({
        method: 'POST',
        url: '/oauth/token',
        headers: { 'content-type': FORM },
        payload: new URLSearchParams({
          grant_type: 'refresh_token',
          refresh_token: 'x',
          client_id,
          client_secret,
        }).toString(),
      })
    assert.equal((await ask(app.client_id, app.client_secret)).json().error, 'invalid_grant')
    const before = await countOf(service, 'oauth.find_app_by_client_id')
    for (let i = 0; i < 30; i++) await ask(mintSecret('svc_client_'), 'x')
    assert.ok((await countOf(service, 'oauth.find_app_by_client_id')) <= before + 10)
    assert.equal((await ask(mintSecret('svc_client_'), 'x')).statusCode, 429)
    assert.equal((await ask(app.client_id, app.client_secret)).json().error, 'invalid_grant')
    const asked = await countOf(service, 'oauth.find_app_by_client_id')
    for (let i = 0; i < 30; i++) {
      const url = `/oauth/authorize?client_id=${mintSecret('svc_client_')}`
      await service.request({ url, headers: { cookie: `svc_session=${mintSecret('sess_')}` } })
    }
    assert.ok((await countOf(service, 'oauth.find_app_by_client_id')) <= asked + 10)
  })
})

test('/metrics without a token does not answer what came through a proxy', async () => {
  const open = await createApp()
  assert.equal((await open.request({ url: '/metrics' })).statusCode, 200)
  for (const name of [
    'forwarded',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-proto',
    'x-real-ip',
    'via',
  ]) {
    const reply = await open.request({ url: '/metrics', headers: { [name]: '1.1 proxy' } })
    assert.equal(reply.statusCode, 404, name)
  }
  const behind = await createApp({ settings: { TRUST_PROXY: '10.0.0.0/8' } })
  assert.equal((await behind.request({ url: '/metrics' })).statusCode, 404)
  assert.equal(
    (await behind.post('/auth/register', { email: 'a@x.test', password: PASSWORD })).statusCode,
    201,
  )
})
