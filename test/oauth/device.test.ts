// Sign-in on another device (RFC 8628), as a program, its user and whoever wants the user's credits would use it.

import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import axe from 'axe-core'
import { ResponseBodyError } from 'oauth4webapi'
import type { Page } from 'playwright-core'
import * as oauth4webapi from '../../examples/clients/oauth4webapi-device.ts'
import {
  digestUserCode,
  mintUserCode,
  readUserCode,
  showUserCode,
  USER_CODE_LENGTH,
  USER_CODE_LETTERS,
} from '../../src/oauth/device/codes.ts'
import { endOAuthOfAccount } from '../../src/oauth/ending.ts'
import { oauthJobs } from '../../src/oauth/jobs.ts'
import { suspendApp } from '../../src/oauth/suspension.ts'
import { PASSWORD } from '../support/app.ts'
import { openBrowser, SCREENS } from '../support/browser.ts'
import { atEnd } from '../support/cleanup.ts'
import { sql } from '../support/database.ts'
import { followPage } from '../support/documented-commands.ts'
import { eventually } from '../support/eventually.ts'
import { createListeningApp } from '../support/listening-app.ts'
import {
  createOAuthApp,
  csrfOf,
  deviceProofOf,
  makePkce,
  type OAuthApp,
  type Person,
  postForm,
  type Service,
  type TokenReply,
  Visitor,
} from '../support/oauth.ts'
import { auditPage } from '../support/page-audit.ts'
import { launch, ROOT } from '../support/service.ts'
import { skipWithout } from '../support/system-parts.ts'

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code'
const NATIVE = {
  name: 'Poem CLI',
  client_type: 'native',
  device_grant: true,
  redirect_uris: ['http://127.0.0.1/callback'],
}
const CAP = { cap: 'monthly', cap_usd: '5.00', cap_shown: '5.00' }
const MINUTE_MS = 60_000

const service = await createListeningApp()
const developer = await service.register('maker@poems.example')
const app = await createOAuthApp(service, developer, NATIVE)
let addresses = 0

type Codes = {
  device_code: string
  user_code: string
  verification_uri: string
  verification_uri_complete: string
  expires_in: number
  interval: number
}

/** Each from an address of its own: wrong codes are counted by address. */
function from(remoteAddress = `10.1.${addresses >> 8}.${addresses++ & 255}`): Service {
  return { request: (given) => service.request({ ...given, remoteAddress }) }
}

async function begin(
  fields: Record<string, string> = {},
  options: { client?: OAuthApp; at?: Service; agent?: string } = {},
) {
  const { client = app, at = service, agent = 'poem-cli/1.2' } = options
  const { client_id } = client
  const headers = { 'user-agent': agent }
  return await postForm(at, '/oauth/device_authorization', { client_id, ...fields }, headers)
}

async function beginCodes(fields: Record<string, string> = {}): Promise<Codes> {
  const reply = await begin(fields, { at: from() })
  assert.equal(reply.statusCode, 200, reply.body)
  return reply.json<Codes>()
}

async function poll(
  device_code: string,
  fields: Record<string, string> = {},
  at = service as Service,
) {
  const { client_id } = app
  return await postForm(at, '/oauth/token', {
    grant_type: GRANT_TYPE,
    client_id,
    device_code,
    ...fields,
  })
}

async function pollFor(device_code: string): Promise<string> {
  const reply = await poll(device_code)
  return reply.statusCode === 200 ? 'tokens' : reply.json<{ error: string }>().error
}

/** A browser in which somebody is signed in, without the work of checking a password. */
function visit(user: Person, at = from()): Visitor {
  const visitor = new Visitor(at)
  visitor.cookies.set('svc_session', user.token)
  return visitor
}

async function enter(visitor: Visitor, user_code: string) {
  return await visitor.fill('/device', { user_code })
}

/** Types the code and answers the page that comes of it. */
async function decide(
  visitor: Visitor,
  user_code: string,
  fields: Record<string, string> = { decision: 'allow', ...CAP },
) {
  const page = await enter(visitor, user_code)
  assert.equal(page.statusCode, 200, page.body)
  return await visitor.submit('/device/decision', {
    ...deviceProofOf(page.body),
    user_code,
    ...fields,
  })
}

async function statusOf(access_token: string, at: Service = service): Promise<number> {
  const headers = { authorization: `Bearer ${access_token}` }
  return (await at.request({ url: '/oauth/userinfo', headers })).statusCode
}

const textOf = (page: string) =>
  page
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()

test('the example is a program: shows a code, waits, streams, says cost and balance, and needs no code next time', async () => {
  const user = await service.register()
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'svc-device-')), 'tokens.json')
  const start = (...words: string[]) => {
    // The program's proofs have the time of this machine.
    service.clock.advance(Date.now() - service.clock.now().getTime())
    return launch([process.execPath, path.join(ROOT, 'examples/device-cli/main.ts'), ...words], {
      SVC_URL: service.address,
      CLIENT_ID: app.client_id,
      TOKEN_FILE: file,
    })
  }
  const visitor = visit(user)
  const program = start('[[sandbox:echo]]', 'One two three.')
  const shown = () => /Open (\S+) on any device and type (\S+)/.exec(program.stdout())
  await eventually(
    'a code is shown',
    () => shown() !== null || program.ended() !== undefined,
    30_000,
  )
  assert.equal(shown()?.[1], `${service.address}/device`, program.output())
  // Before the first poll, five seconds after the code.
  assert.equal((await decide(visitor, shown()?.[2] ?? '')).statusCode, 200)
  assert.equal((await program.end()).code, 0, program.output())
  const [, cost, left] =
    /^One two three\.\n\nThat cost (\d+) credits; (\d+) are left\.$/m.exec(program.stdout()) ?? []
  assert.equal(Number(cost) + Number(left), 1_000_000, program.stdout())
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const first = readFileSync(file, 'utf8')

  const again = start('[[sandbox:echo]]', 'Four five.')
  assert.equal((await again.end()).code, 0, again.output())
  assert.match(again.stdout(), /^Four five\./)
  assert.notEqual(readFileSync(file, 'utf8'), first, 'a refresh token is good once')
  const [grant] = await sql<{ dpop_jkt: string | null }>(
    service.database_url,
    `select g.dpop_jkt from oauth_grant g join app_connection c on c.id = g.connection_id
     where c.account_id = $1`,
    [user.user_id],
  )
  assert.match(grant?.dpop_jkt ?? '', /^[\w-]{43}$/, 'the copied file alone is of no use elsewhere')
})

test('the example keeps its refresh token when the gateway is busy', async () => {
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'svc-device-')), 'tokens.json')
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const kept = JSON.stringify({ refresh_token: 'svc_refresh_', key })
  writeFileSync(file, kept)
  const busy = createServer((_request, reply) => {
    const fault = { error: 'rate_limit_exceeded', error_description: 'Too many requests.' }
    reply.writeHead(429, { 'content-type': 'application/json' }).end(JSON.stringify(fault))
  })
  busy.listen(0, '127.0.0.1')
  await once(busy, 'listening')
  atEnd(() => void busy.close())
  const { port } = busy.address() as AddressInfo
  const program = launch([process.execPath, path.join(ROOT, 'examples/device-cli/main.ts')], {
    SVC_URL: `http://127.0.0.1:${port}`,
    CLIENT_ID: app.client_id,
    TOKEN_FILE: file,
  })
  assert.equal((await program.end()).code, 1)
  assert.match(program.output(), /Too many requests\./)
  assert.equal(readFileSync(file, 'utf8'), kept)
})

test('docs/device-apps.md: every command runs, from the registration to a call that the user pays', async () => {
  const visitor = visit(await service.register())
  const replies = await followPage({
    file: 'docs/device-apps.md',
    addresses: { 'http://localhost:8080': service.address },
    readFields: async (line) => {
      const fields = JSON.parse(line) as Record<string, unknown>
      if (typeof fields['user_code'] === 'string') await decide(visitor, fields['user_code'])
      return fields
    },
  })
  const { svc } = JSON.parse(replies.at(-1)?.at(-1) ?? '') as { svc: { billing_mode: string } }
  assert.equal(svc.billing_mode, 'user')
})

test('oauth4webapi is led by the metadata through asking, waiting and the tokens', async () => {
  const user = await service.register()
  const client = { issuer: service.address, client_id: app.client_id }
  const device = await oauth4webapi.begin(client)
  assert.match(device.user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
  assert.deepEqual(
    [device.verification_uri, device.verification_uri_complete, device.expires_in, device.interval],
    [
      `${service.address}/device`,
      `${service.address}/device?user_code=${device.user_code}`,
      600,
      5,
    ],
  )
  const pollAgain = () => oauth4webapi.poll(client, device.device_code)
  const isFault = (error: string) => (thrown: unknown) =>
    thrown instanceof ResponseBodyError && thrown.error === error
  await assert.rejects(pollAgain(), isFault('authorization_pending'))
  await assert.rejects(pollAgain(), isFault('slow_down'))
  await decide(visit(user), device.user_code)
  const { access_token } = await pollAgain()
  const headers = { authorization: `Bearer ${access_token}` }
  const info = await service.request({ url: '/oauth/userinfo', headers })
  assert.equal(info.json<{ sub: string }>().sub, user.user_id)
  await assert.rejects(pollAgain(), isFault('invalid_grant'))
})

test('P7: a device that polls every second is told to slow down, five seconds more each time, and that is kept', async () => {
  const { device_code } = await beginCodes()
  const heard: string[] = []
  for (const wait_s of [0, 1, 1, 14, 19.6]) {
    service.clock.advance(wait_s * 1000)
    heard.push(await pollFor(device_code))
  }
  const [first, ...early] = ['authorization_pending', 'slow_down', 'slow_down', 'slow_down']
  assert.deepEqual(heard, [first, ...early, 'authorization_pending'], 'half a second is forgiven')
})

test('P7: a million guesses at a code hit nothing: five in ten minutes are looked at, of 25,600,000,000', async () => {
  const [guesser, other, owner] = [
    await service.register(),
    await service.register(),
    await service.register(),
  ]
  const { user_code, device_code } = await beginCodes()
  const wrong = () => showUserCode(mintUserCode())
  const home = from()
  const visitor = visit(guesser, home)
  for (let guess = 0; guess < 5; guess++) {
    const reply = await enter(visitor, wrong())
    assert.equal(reply.statusCode, 400)
    assert.match(textOf(reply.body), /No device waits with this code/)
  }
  // Neither the account from elsewhere nor another account from there gets a sixth, were it the right one.
  assert.equal((await enter(visitor, user_code)).statusCode, 429)
  const elsewhere = visit(guesser)
  const refused = await enter(elsewhere, user_code)
  assert.equal(refused.statusCode, 429)
  assert.match(textOf(refused.body), /Too many attempts\. Wait \d+ seconds/)
  for (let attempt = 0; attempt < 6; attempt++) {
    assert.equal((await enter(visit(other, home), user_code)).statusCode, 429)
  }
  assert.equal((await enter(visit(other), user_code)).statusCode, 200, 'the other may go elsewhere')
  // Nobody else is kept from it.
  assert.equal((await decide(visit(owner), user_code)).statusCode, 200)
  assert.equal(await pollFor(device_code), 'tokens')

  const { limits } = service.parts
  const open = new Set(Array.from({ length: 20 }, mintUserCode))
  let [looked_at, hits] = [0, 0]
  for (let guess = 0; guess < 1_000_000; guess++) {
    if (!limits.takeInMemory('user_code', 'a patient guesser').allowed) continue
    looked_at++
    if (open.has(mintUserCode())) hits++
  }
  assert.deepEqual([looked_at, hits], [5, 0])
  // Had the guesser a new account and address for each five: a million at twenty open codes.
  const codes = USER_CODE_LETTERS.length ** USER_CODE_LENGTH
  assert.equal(codes, 25_600_000_000)
  assert.ok((1_000_000 * open.size) / codes < 0.001)
})

test('P7: the tokens are given once; the code then is worth nothing, and the tokens live on', async () => {
  const user = await service.register()
  const { device_code, user_code } = await beginCodes()
  await decide(visit(user), user_code)
  const given = await poll(device_code)
  assert.equal(given.statusCode, 200, given.body)
  assert.equal(given.headers['cache-control'], 'no-store')
  const tokens = given.json<TokenReply>()
  assert.deepEqual(
    [tokens.token_type, tokens.expires_in, tokens.scope],
    ['Bearer', 3600, 'credits.read credits.spend'],
  )
  for (let again = 0; again < 3; again++) assert.equal(await pollFor(device_code), 'invalid_grant')
  assert.equal(await statusOf(tokens.access_token), 200)
  assert.match(service.log_lines.join(''), /device_code_reused/)
  const events = await sql<{ kind: string }>(
    service.database_url,
    'select kind::text from outbox where wallet_id = $1 and kind::text like $2',
    [user.user_id, 'user.%'],
  )
  assert.deepEqual(events, [{ kind: 'user.connected' }])
  const reply = await service.request({ url: '/account/events', headers: user.bearer })
  const { data } = reply.json<{ data: { kind: string; details: object }[] }>()
  const consents = data.filter(({ kind }) => kind === 'consent_given')
  assert.equal(consents.length, 1)
  assert.partialDeepStrictEqual(consents[0]?.details, {
    app_name: 'Poem CLI',
    cap_credits: 5_000_000,
  })
})

test('P7: of two people who allow one code at once one is connected, and a second yes changes nothing', async () => {
  for (let round = 0; round < 3; round++) {
    const people = [await service.register(), await service.register()]
    const { device_code, user_code } = await beginCodes()
    const answers = await Promise.all(
      people.map(async (person) => {
        const visitor = visit(person)
        const page = await enter(visitor, user_code)
        const form = { ...deviceProofOf(page.body), user_code, decision: 'allow', ...CAP }
        return { visitor, form, page }
      }),
    ).then((pages) =>
      Promise.all(pages.map(({ visitor, form }) => visitor.submit('/device/decision', form))),
    )
    assert.deepEqual(
      answers.map((answer) => answer.statusCode).sort((a, b) => a - b),
      [200, 400],
    )
    assert.equal(await pollFor(device_code), 'tokens')
    const connected = await sql(
      service.database_url,
      'select 1 from app_connection where account_id = any ($1) and connected_at is not null',
      [people.map((person) => person.user_id)],
    )
    assert.equal(connected.length, 1)
  }
})

test('P7: a no is told to the device and stays a no', async () => {
  const user = await service.register()
  const { device_code, user_code } = await beginCodes()
  const visitor = visit(user)
  const page = await enter(visitor, user_code)
  const form = { ...deviceProofOf(page.body), user_code }
  const denied = await visitor.submit('/device/decision', { ...form, decision: 'deny' })
  assert.match(textOf(denied.body), /Poem CLI gets no access to your account/)
  const late = await visitor.submit('/device/decision', { ...form, decision: 'allow', ...CAP })
  assert.equal(late.statusCode, 400)
  assert.deepEqual(
    [await pollFor(device_code), await pollFor(device_code)],
    ['access_denied', 'access_denied'],
  )
})

test('a yes that was taken back, or not fetched within two minutes, gives nothing', async () => {
  const user = await service.register()
  const [back, late] = [await beginCodes(), await beginCodes()]
  const visitor = visit(user)
  await decide(visitor, back.user_code)
  const ending = { account_id: user.user_id, apps: 'kept' } as const
  await service.parts.db.transaction((tx) => endOAuthOfAccount(service.parts, tx, ending))
  assert.equal(await pollFor(back.device_code), 'access_denied')
  await decide(visitor, late.user_code)
  service.clock.advance(2 * MINUTE_MS)
  assert.equal(await pollFor(late.device_code), 'expired_token')
})

test('only native apps that were registered for it may ask, and for no more than they may have', async () => {
  const faultOf = async (...given: Parameters<typeof begin>) =>
    (await begin(...given)).json<{ error: string }>().error
  const plain = await createOAuthApp(service, developer, { ...NATIVE, device_grant: false })
  const browser = await createOAuthApp(service, developer, {
    client_type: 'browser',
    redirect_uris: ['https://poems.example/callback'],
  })
  for (const client of [plain, browser]) {
    assert.equal(await faultOf({}, { client }), 'unauthorized_client')
  }
  const server = await createOAuthApp(service, developer)
  const { client_secret } = server
  assert.equal(await faultOf({ client_secret }, { client: server }), 'unauthorized_client')
  assert.equal(await faultOf({}, { client: server }), 'invalid_client')
  assert.equal(await faultOf({ client_id: 'svc_client_nobody' }), 'invalid_client')
  assert.equal(await faultOf({ scope: 'credits.read root' }), 'invalid_scope')
  assert.equal(await faultOf({ code_challenge: 'short' }), 'invalid_request')
  assert.equal((await poll('svc_device_')).json().error, 'invalid_grant')
  const { device_code } = await beginCodes()
  const foreign = await createOAuthApp(service, developer, NATIVE)
  const { client_id } = foreign
  assert.equal((await poll(device_code, { client_id })).json().error, 'invalid_grant')
  assert.equal(
    (await poll(device_code, { client_id: plain.client_id })).json().error,
    'unauthorized_client',
  )
})

test('an app has at most twenty open codes from one address, and goes on when one is decided or elsewhere', async () => {
  const client = await createOAuthApp(service, developer, NATIVE)
  const at = from()
  const replies = await Promise.all(Array.from({ length: 21 }, () => begin({}, { client, at })))
  const refused = replies.filter((reply) => reply.statusCode === 429)
  assert.equal(refused.length, 1)
  assert.equal(refused[0]?.json().code, 'rate_limit_exceeded')
  assert.equal(refused[0]?.headers['retry-after'], '600')
  assert.equal((await begin({}, { client, at: from() })).statusCode, 200)
  const [one] = replies.filter((reply) => reply.statusCode === 200)
  const user = await service.register()
  await decide(visit(user), one?.json<Codes>().user_code ?? '', { decision: 'deny' })
  assert.equal((await begin({}, { client, at })).statusCode, 200)
})

test('a request with a challenge needs its verifier at every poll, and one without needs none', async () => {
  const user = await service.register()
  const { code_verifier, code_challenge } = makePkce()
  const { device_code, user_code } = await beginCodes({ code_challenge })
  const stolen = [{}, { code_verifier: makePkce().code_verifier }, { code_verifier: 'short' }]
  for (const fields of stolen) {
    assert.equal((await poll(device_code, fields)).json().error, 'invalid_grant')
  }
  await decide(visit(user), user_code)
  for (const fields of stolen) {
    assert.equal((await poll(device_code, fields)).json().error, 'invalid_grant')
  }
  assert.equal((await poll(device_code, { code_verifier })).statusCode, 200)
  const other = await beginCodes()
  const reply = await poll(other.device_code, { code_verifier })
  assert.equal(reply.json().error, 'invalid_grant')
})

test('the address with a code only fills it in; who is not signed in does that first and comes back', async () => {
  const user = await service.register()
  const { user_code, verification_uri_complete, device_code } = await beginCodes()
  const visitor = new Visitor(from())
  const { pathname, search } = new URL(verification_uri_complete)
  const sent = await visitor.get(pathname + search)
  const login = new URL(String(sent.headers.location), service.address)
  assert.equal(login.pathname, '/oauth/login')
  const entered = await visitor.login(user.email, login.search)
  assert.equal(entered.headers.location, pathname + search)
  const page = await visitor.get(pathname + search)
  assert.ok(page.body.includes(`value="${user_code}"`))
  assert.doesNotMatch(page.body, /Poem CLI/)
  assert.equal(await pollFor(device_code), 'authorization_pending')
  for (const way of [
    '/device/../oauth/security',
    '/devices',
    '/device//evil.example',
    '//evil.example',
  ]) {
    const query = `?${new URLSearchParams({ return_to: way }).toString()}`
    const back = await new Visitor(from()).login(user.email, query)
    const { origin, pathname } = new URL(String(back.headers.location), service.address)
    assert.deepEqual([origin, pathname], [service.address, '/oauth/authorize'], way)
  }
})

test('the page says who asks, from where, when and on which terms, and escapes all of it', async () => {
  const user = await service.register()
  const client = await createOAuthApp(service, developer, {
    ...NATIVE,
    name: 'Poem <b>CLI</b>',
    markup_percent: 20,
  })
  const at = from('203.0.113.7')
  const asked = await begin({}, { client, at, agent: '<i>Svc security</i> "team"' })
  service.clock.advance(2 * MINUTE_MS)
  const visitor = visit(user)
  const { user_code } = asked.json<Codes>()
  const page = await enter(visitor, ` ${user_code.replace('-', ' ').toLowerCase()} `)
  assert.doesNotMatch(page.body, /<b>CLI|<i>|Svc security/)
  const text = textOf(page.body)
  for (const words of [
    user_code,
    'Poem &lt;b&gt;CLI&lt;/b&gt;',
    'Only continue if you started this on a device in front of you. Nobody from Svc or the app will ever send you a code.',
    '203.0.113.7',
    'not the address you have now',
    'unknown device',
    '2 min ago',
    'maker@poems.example',
    user.email,
    'The price of each call plus 20%',
  ]) {
    assert.ok(text.includes(words), `${words} is missing in: ${text}`)
  }
  assert.match(page.body, /name="cap_usd"[^>]* value="5\.00"/)
  assert.doesNotMatch(page.body, /value="none"/)
  assert.doesNotMatch(page.body, /<script/)
  const policy = String(page.headers['content-security-policy'])
  assert.match(policy, /default-src 'none'.*frame-ancestors 'none'.*form-action 'self'/)
  assert.equal(page.headers['cache-control'], 'no-store')

  const form = { ...deviceProofOf(page.body), user_code, decision: 'allow' }
  for (const cap of [
    {},
    { cap: 'none', cap_usd: '5.00', cap_shown: '5.00' },
    { ...CAP, cap_usd: 'much' },
  ]) {
    const refused = await visitor.submit('/device/decision', { ...form, ...cap })
    assert.equal(refused.statusCode, 400, JSON.stringify(cap))
  }
  await service.request({
    method: 'PATCH',
    url: `/developers/apps/${client.id}`,
    headers: { ...developer.bearer, 'content-type': 'application/json' },
    payload: JSON.stringify({ markup_percent: 100 }),
  })
  const changed = await visitor.submit('/device/decision', { ...form, ...CAP })
  assert.equal(changed.statusCode, 403, 'the price is another than the one that was shown')
  assert.equal((await decide(visitor, user_code)).statusCode, 200)
})

test('neither form is taken from another site, another person or another request', async () => {
  const [user, mallory] = [await service.register(), await service.register()]
  const [one, two] = [await beginCodes(), await beginCodes()]
  const [visitor, other] = [visit(user), visit(mallory)]
  const page = await enter(visitor, one.user_code)
  const form = { ...deviceProofOf(page.body), user_code: one.user_code, decision: 'allow', ...CAP }
  const cross = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
  const refusals = [
    await visitor.submit('/device/decision', form, cross),
    await visitor.submit(
      '/device',
      { csrf: csrfOf((await visitor.get('/device')).body), user_code: one.user_code },
      cross,
    ),
    await visitor.submit('/device', { user_code: one.user_code }),
    await visitor.submit('/device/decision', { ...form, csrf: '' }),
    await visitor.submit('/device/decision', { ...form, terms: '' }),
    await visitor.submit('/device/decision', { ...form, user_code: two.user_code }),
    await other.submit('/device/decision', form),
  ]
  assert.deepEqual(
    refusals.map((reply) => reply.statusCode),
    refusals.map(() => 403),
  )
  const nobody = await new Visitor(from()).submit('/device/decision', form)
  assert.equal(nobody.statusCode, 303)
  assert.equal(await pollFor(one.device_code), 'authorization_pending')
})

test('a form of another page uses up no guess, whichever code it has', async () => {
  const user = await service.register()
  const { user_code } = await beginCodes()
  const visitor = visit(user)
  const near = { 'sec-fetch-site': 'same-site', origin: 'https://other.poems.example' }
  for (let guess = 0; guess < 6; guess++) {
    const form = { user_code: showUserCode(mintUserCode()), decision: 'allow', ...CAP }
    const forged = { ...form, csrf: 'x', terms: 'device' }
    for (const headers of [near, {}]) {
      const reply = await visitor.submit('/device/decision', forged, headers)
      assert.equal(reply.statusCode, 403)
    }
  }
  assert.equal((await decide(visitor, user_code)).statusCode, 200)
})

test('through a suspended or deleted app nothing begins and nothing is allowed', async () => {
  const user = await service.register()
  const client = await createOAuthApp(service, developer, NATIVE)
  const { device_code, user_code } = (await begin({}, { client })).json<Codes>()
  const { client_id } = client
  await service.parts.db.transaction((tx) =>
    suspendApp(service.parts, tx, { client_id, reason: 'phishing' }),
  )
  const visitor = visit(user)
  const page = await enter(visitor, user_code)
  assert.equal(page.statusCode, 403)
  assert.match(textOf(page.body), /suspended: phishing/)
  assert.equal((await begin({}, { client })).json().error, 'unauthorized_client')
  assert.equal((await poll(device_code, { client_id })).json().error, 'unauthorized_client')
  await service.request({
    method: 'DELETE',
    url: `/developers/apps/${client.id}`,
    headers: developer.bearer,
  })
  assert.match(textOf((await enter(visitor, user_code)).body), /No device waits with this code/)
})

test('a typed code is read in any case, with any spaces and hyphens, and nothing else is one', () => {
  for (const typed of ['BCDF-GHJK', 'bcdfghjk', ' bcdf ghjk ', 'BCDF–GHJK', 'b-c-d-f g.h_j k']) {
    assert.equal(readUserCode(typed), 'BCDFGHJK', typed)
  }
  for (const typed of ['', 'BCDF', 'BCDFGHJKL', 'ACDF-GHJK', 'BCDF-GH1K', 'ＢCDFGHJK']) {
    assert.equal(readUserCode(typed), undefined, typed)
  }
})

test('no code is in a log line or in the database', async () => {
  const user = await service.register()
  const { device_code, user_code } = await beginCodes()
  await decide(visit(user), user_code)
  await poll(device_code)
  await poll(device_code)
  service.parts.log.warn(
    { url: `/device?user_code=${user_code}`, user_code: 'bcdfghjk', device_code },
    'seen',
  )
  const lines = service.log_lines.join('')
  assert.match(lines, /seen/)
  for (const secret of [device_code, user_code, 'bcdfghjk'])
    assert.ok(!lines.includes(secret), secret)
  const rows = await sql<{ row: string }>(
    service.database_url,
    'select r::text as row from device_request r',
  )
  const bare = user_code.replace('-', '')
  const dump = JSON.stringify(rows)
  assert.ok(dump.includes(digestUserCode(bare).toString('hex')), 'its digest is')
  for (const secret of [device_code, user_code, bare]) assert.ok(!dump.includes(secret), secret)
})

const skip = skipWithout('chromium')

/** What axe finds in the page as it is, on a phone and a desk, by day and by night. */
async function auditLooks(page: Page, what: string): Promise<void> {
  const faults: string[] = []
  for (const [screen, size] of Object.entries(SCREENS)) {
    await page.setViewportSize(size)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      const found = await page.evaluate<string[]>(`(async () => {
        ${axe.source};
        const { violations } = await axe.run('html', { resultTypes: ['violations'] });
        const wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
        return [...violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ' ' + html)), ...(wide ? ['too wide'] : [])]
      })()`)
      faults.push(...found.map((fault) => `${what}, ${screen}, ${colorScheme}: ${fault}`))
      await takePicture(page, `${what}-${screen}-${colorScheme}`)
    }
  }
  assert.deepEqual([...faults, ...(await auditPage(page))], [])
}

async function takePicture(page: Page, name: string): Promise<void> {
  const folder = process.env['PICTURES']
  if (folder !== undefined)
    await page.screenshot({ path: path.join(folder, `${name}.png`), fullPage: true })
}

test('in a browser without script somebody signs in, types the code, allows it, and each page can be used by all', {
  skip,
}, async () => {
  const user = await service.register()
  const client = await createOAuthApp(service, developer, { ...NATIVE, markup_percent: 20 })
  const asked = (await begin({}, { client, at: from('203.0.113.7') })).json<Codes>()
  service.clock.advance(MINUTE_MS)
  const browser = await openBrowser()
  const context = await browser.newContext({ baseURL: service.address, bypassCSP: false })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  await page.goto(asked.verification_uri)
  await page.fill('input[name=email] >> nth=0', user.email)
  await page.fill('input[name=password]', PASSWORD)
  await page.press('input[name=password]', 'Enter')
  await page.waitForURL('**/device')
  await auditLooks(page, 'device-code')
  await page.fill('input[name=user_code]', asked.user_code.toLowerCase())
  await page.press('input[name=user_code]', 'Enter')
  await page.getByRole('heading', { name: 'Let Poem CLI use your credits?' }).waitFor()
  await auditLooks(page, 'device-consent')
  await page.fill('input[name=cap_usd]', '2.50')
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.getByRole('heading', { name: 'Your device is connected' }).waitFor()
  await takePicture(page, 'device-connected')
  assert.deepEqual(complaints, [])
  const { client_id } = client
  assert.equal((await poll(asked.device_code, { client_id })).statusCode, 200)
  const reply = await service.request({ url: '/account/connections', headers: user.bearer })
  assert.equal(reply.json().data[0].cap_credits, 2_500_000)
  await context.close()
})

test('P7: what nobody allowed in ten minutes is over for the device and the user, and its row goes', async () => {
  const user = await service.register()
  const { device_code, user_code } = await beginCodes()
  const visitor = visit(user)
  service.clock.advance(MINUTE_MS)
  const page = await enter(visitor, user_code)
  service.clock.advance(9 * MINUTE_MS)
  assert.equal(await pollFor(device_code), 'expired_token')
  const form = { ...deviceProofOf(page.body), user_code, decision: 'allow', ...CAP }
  assert.equal((await visitor.submit('/device/decision', form)).statusCode, 400)
  assert.match(textOf((await enter(visitor, user_code)).body), /No device waits with this code/)
  assert.equal(await pollFor(device_code), 'expired_token')
  service.clock.advance(61 * MINUTE_MS)
  for (const job of oauthJobs(service.parts)) {
    if (job.name === 'oauth.delete_expired') await job.run(new AbortController().signal)
  }
  assert.equal(await pollFor(device_code), 'invalid_grant')
  assert.deepEqual(await sql(service.database_url, 'select 1 from device_request'), [])
})
