// The programs of examples/, started as somebody would start them, and used as their users would.

import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { consentAt, createListeningApp, visitOverHttp } from '../support/listening-app.ts'
import { createOAuthApp, type OAuthApp } from '../support/oauth.ts'
import { launch, ROOT, type Settings } from '../support/service.ts'

const HOUR_MS = 3_600_000

const service = await createListeningApp()
const developer = await service.register()
const app = await createOAuthApp(service, developer, {
  redirect_uris: ['http://127.0.0.1:3000/callback'],
  markup_percent: 20,
})

function start(example: string, settings: Settings = {}, ...rest: string[]) {
  const file = path.join(ROOT, 'examples', example, 'main.ts')
  const { client_id: CLIENT_ID, client_secret: CLIENT_SECRET }: OAuthApp = app
  return launch([process.execPath, file, ...rest], {
    SVC_URL: service.address,
    CLIENT_ID,
    CLIENT_SECRET,
    ...settings,
  })
}

/** What the program prints, once it has printed something that fits. */
async function printed(program: ReturnType<typeof start>, pattern: RegExp): Promise<string> {
  const found = () => pattern.exec(program.stdout())?.[1]
  const isDone = () => found() !== undefined || program.ended() !== undefined
  await eventually(`${pattern.source} is printed`, isDone, 30_000)
  return found() ?? assert.fail(program.output())
}

const call = (token: string, method: 'GET' | 'PATCH' | 'DELETE', url: string, body?: object) =>
  service.request({
    method,
    url,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { payload: JSON.stringify(body) }),
  })

test('web-app: sign in, ask, refresh, reach the cap, be disconnected, come back', async () => {
  const user = await service.register()
  const program = start('web-app')
  const browser = visitOverHttp(await printed(program, /^Open (http\S+)$/m))
  const ask = (question: string) => browser.submit('/ask', { question })
  const signIn = async (fields: Record<string, string> = {}) => {
    const left = await browser.submit('/sign-in', {})
    const back = await consentAt(service, user, String(left.headers.location), fields)
    return await browser.get(`${back.pathname}${back.search}`)
  }

  assert.match((await browser.get('/')).body, /Sign in and pay with your own credits/)
  assert.equal((await ask('Anybody?')).statusCode, 401)
  const denied = await signIn({ decision: 'deny' })
  assert.match(denied.body, /You said no/)
  assert.equal((await signIn()).headers.location, '/')

  const answered = await ask('[[sandbox:echo]] <b>Hello</b> & "goodbye"')
  assert.match(answered.body, /&#60;b&#62;Hello&#60;\/b&#62; &#38; &#34;goodbye&#34;/)
  const [, left = ''] = /You have \$(\d+\.\d+) left/.exec(answered.body) ?? []
  const [newest] = (await call(user.token, 'GET', '/account/transactions')).json().data
  assert.equal(Math.round(Number(left) * 1_000_000), newest.balance_after)

  // An hour later the access token has expired, and nobody notices.
  service.clock.advance(HOUR_MS + 1000)
  const later = await Promise.all([ask('Still there?'), ask('And still?')])
  for (const reply of later) assert.equal(reply.statusCode, 200, reply.body)

  const connection = `/account/connections/${app.client_id}`
  await call(user.token, 'PATCH', connection, { cap_credits: 1 })
  const capped = await ask('More?')
  assert.equal(capped.statusCode, 402)
  assert.match(capped.body, /monthly spending cap.*can raise it/)
  await call(user.token, 'PATCH', connection, { cap_credits: null })
  assert.equal((await ask('More?')).statusCode, 200)

  await call(user.token, 'DELETE', connection)
  const ended = await ask('Even more?')
  assert.equal(ended.statusCode, 401)
  assert.match(ended.body, /connection to Svc has ended.*Sign in/s)

  assert.equal((await signIn()).statusCode, 303)
  assert.equal((await ask('Back again?')).statusCode, 200)
  await browser.submit('/disconnect', {})
  assert.deepEqual((await call(user.token, 'GET', '/account/connections')).json().data, [])
  assert.equal(program.stderr(), '')
  await program.stop()
})

test('web-app: an answer that this browser did not ask for is not taken', async () => {
  const user = await service.register()
  const program = start('web-app')
  const origin = await printed(program, /^Open (http\S+)$/m)
  const [mallory, alice] = [visitOverHttp(origin), visitOverHttp(origin)]
  const left = await mallory.submit('/sign-in', {})
  const back = await consentAt(service, user, String(left.headers.location))
  assert.equal((await alice.get(`${back.pathname}${back.search}`)).statusCode, 400)
  await alice.submit('/sign-in', {})
  assert.equal((await alice.get(`${back.pathname}${back.search}`)).statusCode, 400)
  assert.match((await alice.get('/')).body, /Sign in/)
  await program.stop()
})

test('cli: prints the address, waits for the answer on a port of its own, streams and says the cost', async () => {
  const user = await service.register()
  const program = start('cli', {}, '[[sandbox:echo]]', 'One two three.')
  const back = await consentAt(service, user, await printed(program, /^(http\S+)$/m))
  const page = visitOverHttp(back.origin)
  assert.equal((await page.get('/favicon.ico')).statusCode, 404)
  assert.match((await page.get(`${back.pathname}${back.search}`)).body, /You can close this page/)
  const { code } = await program.end()
  assert.equal(code, 0, program.output())
  const [, cost, left] =
    /^One two three\.\n\nThat cost (\d+) credits; (\d+) are left\.$/m.exec(program.stdout()) ?? []
  assert.equal(Number(cost) + Number(left), 1_000_000, program.stdout())
  const { data } = (await call(user.token, 'GET', '/account/connections')).json()
  assert.deepEqual(data, [], 'the grant ends with the program')
})

test('hosted: a user is linked once under the app’s own id, and pays from then on', async () => {
  const user = await service.register()
  const { key } = await service.createKey(developer.bearer)
  const program = start('hosted', { API_KEY: key })
  const browser = visitOverHttp(new URL(await printed(program, /^Open (http\S+)$/m)).origin)
  assert.equal((await browser.submit('/ask', {})).statusCode, 404)
  const left = await browser.get('/link')
  const back = await consentAt(service, user, String(left.headers.location))
  assert.match((await browser.get(`${back.pathname}${back.search}`)).body, /^Linked/)
  const reply = await browser.submit('/ask', {})
  assert.equal(JSON.parse(reply.body).svc.billing_mode, 'user', reply.body)
  const { data } = (await call(user.token, 'GET', '/account/connections')).json()
  assert.deepEqual(data[0].external_user_ids, [browser.cookies.get('user')])
  await program.stop()
})
