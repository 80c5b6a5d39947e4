// Sign-in on another device (RFC 8628), as a program would use it: asking, polling, the tokens. Its page: device-page.test.ts.

import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { ResponseBodyError } from 'oauth4webapi'
import * as oauth4webapi from '../../examples/clients/oauth4webapi-device.ts'
import { digestUserCode } from '../../src/oauth/device/codes.ts'
import { endOAuthOfAccount } from '../../src/oauth/ending.ts'
import { oauthJobs } from '../../src/oauth/jobs.ts'
import { atEnd } from '../support/cleanup.ts'
import { sql } from '../support/database.ts'
import {
  CAP,
  type Codes,
  decide,
  enter,
  NATIVE,
  openDeviceGrant,
  textOf,
} from '../support/device-grant.ts'
import { followPage } from '../support/documented-commands.ts'
import { eventually } from '../support/eventually.ts'
import {
  createOAuthApp,
  deviceProofOf,
  makePkce,
  type Service,
  type TokenReply,
} from '../support/oauth.ts'
import { launch, ROOT } from '../support/service.ts'

const MINUTE_MS = 60_000

const { service, developer, app, from, visit, begin, beginCodes, poll, pollFor } =
  await openDeviceGrant()

async function statusOf(access_token: string, at: Service = service): Promise<number> {
  const headers = { authorization: `Bearer ${access_token}` }
  return (await at.request({ url: '/oauth/userinfo', headers })).statusCode
}

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
