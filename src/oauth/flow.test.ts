import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../../test/support/app.ts'
import { sql } from '../../test/support/database.ts'
import {
  allow,
  authorizeUrl,
  CALLBACK,
  connect,
  connectHosted,
  createOAuthApp,
  makePkce,
  obtainCode,
  postForm,
  postToken,
  Visitor,
} from '../../test/support/oauth.ts'

const service = await createApp({ settings: { PUBLIC_URL: 'https://svc.example' } })
const developer = await service.register()
const user = await service.register()
const app = await createOAuthApp(service, developer, { markup_percent: 20 })

const chat = (headers: Record<string, string>, url = '/v1/chat/completions') =>
  service.post(
    url,
    { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello.' }] },
    headers,
  )
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

test('a stranger signs up, allows the app, and pays with their own credits; the developer earns the markup', async () => {
  const visitor = new Visitor(service)
  const { code_verifier, code_challenge } = makePkce()
  const url = authorizeUrl(app, { code_challenge, scope: 'credits.spend credits.read' })

  const first = await visitor.get(url)
  assert.equal(first.statusCode, 302)
  const login = String(first.headers.location)
  assert.match(login, /^\/oauth\/login\?/)
  const entered = await visitor.fill(login.replace('/oauth/login', '/oauth/register'), {
    email: 'new@example.com',
    password: 'long enough',
  })
  assert.equal(entered.statusCode, 303)

  const answer = await allow(visitor, String(entered.headers.location))
  assert.equal(answer.get('state'), 'state-1')
  assert.equal(answer.get('iss'), 'https://svc.example')
  const reply = await postToken(service, app, {
    grant_type: 'authorization_code',
    code: answer.get('code') ?? '',
    code_verifier,
    redirect_uri: CALLBACK,
  })
  assert.equal(reply.statusCode, 200)
  assert.equal(reply.headers['cache-control'], 'no-store')
  const tokens = reply.json()
  assert.match(tokens.access_token, /^svc_token_/)
  assert.match(tokens.refresh_token, /^svc_refresh_/)
  assert.deepEqual(
    [tokens.token_type, tokens.expires_in, tokens.scope],
    ['Bearer', 3600, 'credits.read credits.spend'],
  )

  const paid = (await chat(bearer(tokens.access_token))).json()
  assert.equal(paid.svc.billing_mode, 'user')
  assert.equal(paid.svc.balance_before, 1_000_000)
  assert.equal(paid.svc.balance_before - paid.svc.credits_used, paid.svc.balance_after)
  const info = await service.request({
    url: '/oauth/userinfo',
    headers: bearer(tokens.access_token),
  })
  assert.equal(info.json().email, 'new@example.com')
  assert.equal(info.json().sub, info.json().id)
  assert.equal(info.json().balance, paid.svc.balance_after)

  const [earned] = await sql(
    service.database_url,
    `select e.amount::int as amount, u.cost_credits::int as cost, u.credits_used::int as used, u.client_id
     from developer_earning e join usage_event u on u.id = e.id where e.developer_id = $1`,
    [developer.user_id],
  )
  assert.equal(earned?.['used'], paid.svc.credits_used)
  assert.equal(earned?.['amount'], Math.floor((Number(earned?.['cost']) * 2000) / 10_000))
  assert.equal(earned?.['client_id'], app.client_id)
})

test('a developer who uses their own app pays the plain price, and earns nothing', async () => {
  const { access_token } = await connect(service, { app, user: developer })
  await chat(bearer(access_token))
  const rows = await sql(
    service.database_url,
    'select markup_credits::int as markup from usage_event where wallet_id = $1',
    [developer.user_id],
  )
  assert.deepEqual(rows, [{ markup: 0 }])
})

test('hosted: the developer’s key and their name for the user are enough, after the exchange', async () => {
  const { key } = await service.createKey(developer.bearer)
  const named = { 'x-api-key': key, 'x-svc-user': 'zoë-7' }
  const hosted = { storage_mode: 'hosted', external_user_id: 'zoë-7' }
  const { code, code_verifier } = await obtainCode(service, { app, user, parameters: hosted })
  const utf8 = Buffer.from('zoë-7').toString('latin1')
  assert.equal((await chat({ ...named, 'x-svc-user': utf8 })).statusCode, 404)

  const reply = await postToken(service, app, {
    grant_type: 'authorization_code',
    code,
    code_verifier,
  })
  assert.deepEqual(
    [reply.json().storage_mode, reply.json().external_user_id, reply.json().refresh_token],
    ['hosted', 'zoë-7', undefined],
  )
  assert.equal((await chat({ ...named, 'x-svc-user': utf8 })).json().svc.billing_mode, 'user')
  const { key: user_key } = await service.createKey(developer.bearer, { billing_mode: 'user' })
  for (const path of ['chat/completions', 'messages']) {
    const url = `/v1/users/${encodeURIComponent('zoë-7')}/${path}`
    const body = {
      model: 'gpt-4o-mini',
      max_tokens: 20,
      messages: [{ role: 'user', content: 'Hi.' }],
    }
    const answer = await service.post(url, body, { 'x-api-key': user_key })
    assert.equal(answer.json().svc?.billing_mode, 'user', answer.body)
  }
})

test('a user key and the user’s token together bill that user; a developer key with a token is refused', async () => {
  const { access_token } = await connect(service, { app, user })
  const { key: user_key } = await service.createKey(developer.bearer, { billing_mode: 'user' })
  const { key } = await service.createKey(developer.bearer)
  const both = (of: string) => ({ 'x-api-key': of, ...bearer(access_token) })
  assert.equal((await chat(both(user_key))).json().svc.billing_mode, 'user')
  assert.equal((await chat(both(key))).statusCode, 400)
  const stranger = await service.register()
  const { key: foreign } = await service.createKey(stranger.bearer, { billing_mode: 'user' })
  const refused = await chat(both(foreign))
  assert.deepEqual([refused.statusCode, refused.json().error.code], [401, 'invalid_token'])
})

test('a refresh gives the next pair, and revoking a refresh token ends everything of its grant', async () => {
  const first = await connect(service, { app, user })
  const reply = await postToken(service, app, {
    grant_type: 'refresh_token',
    refresh_token: first.refresh_token,
    scope: 'credits.read',
  })
  const second = reply.json()
  assert.equal(second.scope, 'credits.read')
  assert.notEqual(second.refresh_token, first.refresh_token)
  assert.equal((await chat(bearer(first.access_token))).statusCode, 200)
  assert.equal((await chat(bearer(second.access_token))).json().error.code, 'insufficient_scope')

  const revoked = await postForm(service, '/oauth/revoke', {
    token: second.refresh_token,
    client_id: app.client_id,
    client_secret: app.client_secret,
  })
  assert.deepEqual([revoked.statusCode, revoked.json()], [200, {}])
  for (const token of [first.access_token, second.access_token]) {
    assert.equal((await chat(bearer(token))).json().error.code, 'invalid_token')
  }
})

test('the user sees what each app spent, caps it, and ends it', async () => {
  const person = await service.register()
  const { access_token } = await connect(service, {
    app,
    user: person,
    fields: { cap: 'monthly', cap_usd: '2.50' },
  })
  const paid = (await chat(bearer(access_token))).json().svc
  const list = () => service.request({ url: '/account/connections', headers: person.bearer })
  const [connection] = (await list()).json().data
  assert.equal(connection.spent_credits, paid.credits_used)
  assert.equal(connection.cap_credits, 2_500_000)
  assert.equal(connection.markup_percent, 20)

  const url = `/account/connections/${app.client_id}`
  const change = (cap_credits: number | null) =>
    service.request({
      method: 'PATCH',
      url,
      headers: { ...person.bearer, 'content-type': 'application/json' },
      payload: JSON.stringify({ cap_credits }),
    })
  assert.equal((await change(paid.credits_used)).statusCode, 200)
  const refused = await chat(bearer(access_token))
  assert.deepEqual([refused.statusCode, refused.json().error.code], [402, 'insufficient_credits'])
  assert.match(refused.json().error.hint, /cap/)
  assert.equal((await change(null)).statusCode, 200)
  assert.equal((await chat(bearer(access_token))).statusCode, 200)

  await service.request({ method: 'DELETE', url, headers: person.bearer })
  assert.equal((await chat(bearer(access_token))).json().error.code, 'invalid_token')
  assert.deepEqual((await list()).json().data, [])
  const events = await sql(
    service.database_url,
    'select kind, payload from outbox where wallet_id = $1 and kind::text like $2 order by id',
    [person.user_id, 'user.%'],
  )
  assert.deepEqual(
    events.map((event) => event['kind']),
    ['user.connected', 'user.disconnected'],
  )
})

test('an external id that moves to another user tells of the one who left and the one who came', async () => {
  const [before, after] = [await service.register(), await service.register()]
  await connectHosted(service, { app, user: before, external_user_id: 'seat-1' })
  await connectHosted(service, { app, user: after, external_user_id: 'seat-1' })
  const events = await sql(
    service.database_url,
    'select kind, wallet_id from outbox where wallet_id = any ($1) and kind::text like $2 order by id',
    [[before.user_id, after.user_id], 'user.%'],
  )
  assert.deepEqual(
    events.map((event) => [event['kind'], event['wallet_id']]),
    [
      ['user.connected', before.user_id],
      ['user.disconnected', before.user_id],
      ['user.connected', after.user_id],
    ],
  )
})

test('a markup that is raised holds for nobody who has not seen it; a lower one holds at once', async () => {
  const raised = await createOAuthApp(service, developer, { markup_percent: 10 })
  const person = await service.register()
  const { access_token } = await connect(service, { app: raised, user: person })
  const setMarkup = (markup_percent: number) =>
    service.request({
      method: 'PATCH',
      url: `/developers/apps/${raised.id}`,
      headers: { ...developer.bearer, 'content-type': 'application/json' },
      payload: JSON.stringify({ markup_percent }),
    })
  const shareOfNextCall = async () => {
    service.clock.advance(1000)
    await chat(bearer(access_token))
    const [row] = await sql(
      service.database_url,
      `select cost_credits::int as cost, markup_credits::int as markup from usage_event
       where wallet_id = $1 order by id desc limit 1`,
      [person.user_id],
    )
    const cost = Number(row?.['cost'])
    return [0, 5, 10, 100].find(
      (share) => Number(row?.['markup']) === Math.floor((cost * share) / 100),
    )
  }
  assert.equal(await shareOfNextCall(), 10)
  await setMarkup(100)
  assert.equal(await shareOfNextCall(), 10)
  await setMarkup(5)
  assert.equal(await shareOfNextCall(), 5)
  await setMarkup(100)
  // A page that asks for no spending shows no price, so nothing is agreed to by it.
  await connect(service, { app: raised, user: person, parameters: { scope: 'credits.read' } })
  assert.equal(await shareOfNextCall(), 10)
  await connect(service, { app: raised, user: person })
  assert.equal(await shareOfNextCall(), 100)
})
