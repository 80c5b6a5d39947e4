// Step-up: what could cost the owner dearly needs a proof of the last 15 minutes, over the API and on the pages.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp, PASSWORD, type TestApp } from '../support/app.ts'
import { addPasskey, addTotp, codeOf } from '../support/factors.ts'
import {
  authorizeUrl,
  createOAuthApp,
  csrfOf,
  makePkce,
  type Person,
  Visitor,
} from '../support/oauth.ts'

const MINUTE_MS = 60_000
const live = await createApp({ settings: { STEP_UP: 'always' } })
const sandbox = await createApp()

const UNLIMITED = { name: 'server', billing_mode: 'developer' }
const LIMITED = { ...UNLIMITED, spend_limit_credits: 1000, spend_limit_period: 'day' }

async function makeKey(service: TestApp, { bearer }: Pick<Person, 'bearer'>, body = UNLIMITED) {
  return await service.post('/developers/keys', body, bearer)
}

function refusalOf(reply: { statusCode: number; json: <T>() => T }) {
  return [reply.statusCode, reply.json<{ error: { code: string } }>().error.code]
}

const REFUSED = [403, 'step_up_required']

test('a proof lasts 15 minutes, and the password, a code and a passkey each make a new one', async () => {
  const person = await live.register()
  const { secret } = await addTotp(live, person)
  const { authenticator } = await addPasskey(live, person)
  live.clock.advance(15 * MINUTE_MS)
  assert.equal((await makeKey(live, person)).statusCode, 201, 'at 15 minutes')
  live.clock.advance(1)
  assert.deepEqual(refusalOf(await makeKey(live, person)), REFUSED)
  assert.equal((await makeKey(live, person, LIMITED)).statusCode, 201, 'a limited key needs none')

  const options = async () => {
    const reply = await live.post('/auth/step-up/options', {}, person.bearer)
    return reply.json<{ proofs: string[]; passkey_options: { challenge: string } }>()
  }
  assert.deepEqual((await options()).proofs, ['password', 'totp', 'passkey'])
  const proofs = [
    () => ({ password: PASSWORD }),
    () => ({ totp: codeOf(secret, live.clock.now()) }),
    async () => ({ passkey: authenticator.assert((await options()).passkey_options) }),
  ]
  for (const proof of proofs) {
    const stepped = await live.post('/auth/step-up', await proof(), person.bearer)
    assert.equal(stepped.statusCode, 200, stepped.body)
    assert.equal(
      stepped.json<{ proved_until: string }>().proved_until,
      new Date(live.clock.now().getTime() + 15 * MINUTE_MS).toISOString(),
    )
    assert.equal((await makeKey(live, person)).statusCode, 201)
    live.clock.advance(15 * MINUTE_MS + 1)
    assert.deepEqual(refusalOf(await makeKey(live, person)), REFUSED)
  }
})

test('a proof that is wrong, used before, unverified, another’s or none proves nothing', async () => {
  const [person, other] = [await live.register(), await live.register()]
  const { secret, recovery_codes } = await addTotp(live, person)
  const { authenticator } = await addPasskey(live, person)
  const { authenticator: foreign } = await addPasskey(live, other)
  live.clock.advance(16 * MINUTE_MS)
  const stepUp = async (proof: object) => await live.post('/auth/step-up', proof, person.bearer)
  const options = async () => {
    const reply = await live.post('/auth/step-up/options', {}, person.bearer)
    return reply.json<{ passkey_options: { challenge: string; rpId: string } }>().passkey_options
  }
  assert.equal((await stepUp({ password: 'wrong password' })).statusCode, 401)
  assert.equal((await stepUp({ totp: '000000' })).statusCode, 401)
  assert.equal((await stepUp({ passkey: foreign.assert(await options()) })).statusCode, 401)
  const unverified = authenticator.assert(await options(), { user_verified: false })
  assert.equal((await stepUp({ passkey: unverified })).statusCode, 401)
  const elsewhere = authenticator.assert(await options(), { origin: 'https://evil.example' })
  assert.equal((await stepUp({ passkey: elsewhere })).statusCode, 401)
  const old = authenticator.assert(await options())
  await options()
  assert.equal((await stepUp({ passkey: old })).statusCode, 401, 'an older question')
  for (const proof of [
    {},
    { password: PASSWORD, totp: '1' },
    { recovery_code: recovery_codes?.[0] },
  ]) {
    assert.equal((await stepUp(proof)).statusCode, 400)
  }
  assert.deepEqual(refusalOf(await makeKey(live, person)), REFUSED)

  const totp = codeOf(secret, live.clock.now())
  assert.equal((await stepUp({ totp })).statusCode, 200)
  assert.equal((await stepUp({ totp })).statusCode, 401)
  const passkey = authenticator.assert(await options())
  assert.equal((await stepUp({ passkey })).statusCode, 200)
  assert.equal((await stepUp({ passkey })).statusCode, 401)
})

test('passwords shown to step-up count together with changes of the password', async () => {
  const tight = await createApp({ settings: { PASSWORD_LIMIT_PER_15_MINUTES: '5' } })
  const { bearer } = await tight.register()
  const statuses: number[] = []
  for (let index = 0; index < 4; index++) {
    statuses.push((await tight.post('/auth/step-up', { password: 'wrong one' }, bearer)).statusCode)
  }
  const change = { current_password: 'wrong one', new_password: 'another good one' }
  statuses.push((await tight.post('/auth/change-password', change, bearer)).statusCode)
  statuses.push((await tight.post('/auth/step-up', { password: PASSWORD }, bearer)).statusCode)
  assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429])
  await tight.close()
})

test('in sandbox mode a day-old session is asked for nothing until it has a second factor', async () => {
  const person = await sandbox.register()
  sandbox.clock.advance(23 * 60 * MINUTE_MS)
  assert.equal((await makeKey(sandbox, person)).statusCode, 201)
  // Factors are not of the specification: adding one needs a proof in every mode.
  const early = await sandbox.post('/account/factors/totp', {}, person.bearer)
  assert.deepEqual(refusalOf(early), REFUSED)
  await sandbox.post('/auth/step-up', { password: PASSWORD }, person.bearer)
  const { factor } = await addTotp(sandbox, person)
  assert.equal((await makeKey(sandbox, person)).statusCode, 201)
  sandbox.clock.advance(15 * MINUTE_MS + 1)
  assert.deepEqual(refusalOf(await makeKey(sandbox, person)), REFUSED)
  const remove = {
    method: 'DELETE',
    url: `/account/factors/${factor.id}`,
    headers: person.bearer,
  } as const
  assert.deepEqual(refusalOf(await sandbox.request(remove)), REFUSED)
  const codes = await sandbox.post('/account/factors/recovery-codes', {}, person.bearer)
  assert.deepEqual(refusalOf(codes), REFUSED)
  await sandbox.post('/auth/step-up', { password: PASSWORD }, person.bearer)
  assert.equal((await sandbox.request(remove)).statusCode, 200)
})

test('a factor that another process adds is known to sessions at once where it was added, and soon elsewhere', async () => {
  const other = await createApp({ database_url: sandbox.database_url })
  const person = await sandbox.register()
  assert.equal((await other.request({ url: '/auth/me', headers: person.bearer })).statusCode, 200)
  await addTotp(sandbox, person)
  // Its clock is its own.
  other.clock.advance(sandbox.clock.now().getTime() - other.clock.now().getTime() + 60 * MINUTE_MS)
  let reply = await makeKey(other, person)
  for (let tries = 0; tries < 50 && reply.statusCode === 201; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    reply = await makeKey(other, person)
  }
  assert.deepEqual(refusalOf(reply), REFUSED)
  await other.close()
})

test('payout links, and no cap for a connected app, need a proof', async () => {
  const person = await live.register()
  const cookie = { cookie: `svc_session=${person.token}` }
  live.clock.advance(16 * MINUTE_MS)
  for (const url of ['onboard', 'onboard/refresh', 'dashboard-link']) {
    const reply = await live.post(`/developers/connect/${url}`, {}, cookie)
    assert.deepEqual(refusalOf(reply), REFUSED, url)
  }
  const fresh_link = await live.request({ url: '/developers/connect/refresh', headers: cookie })
  assert.equal(fresh_link.headers.location, '/oauth/step-up?for=payouts')
  const uncap = await live.request({
    method: 'PATCH',
    url: '/account/connections/svc_client_none',
    headers: { ...person.bearer, 'content-type': 'application/json' },
    payload: JSON.stringify({ cap_credits: null }),
  })
  assert.deepEqual(refusalOf(uncap), REFUSED)
  await live.post('/auth/step-up', { password: PASSWORD }, person.bearer)
  assert.equal((await live.post('/developers/connect/onboard', {}, cookie)).statusCode, 201)
})

test('consent without a cap leads to the step-up page and back; with a cap it does not', async () => {
  const [developer, user] = [await live.register(), await live.register()]
  const app = await createOAuthApp(live, developer)
  const url = authorizeUrl(app, { code_challenge: makePkce().code_challenge })
  const visitor = new Visitor(live)
  await visitor.login(user.email)
  live.clock.advance(16 * MINUTE_MS)
  const capped = await visitor.fill(url, { decision: 'allow', cap: 'monthly', cap_usd: '5' })
  assert.match(String(capped.headers.location), /^https:\/\/app\.example\/callback\?.*code=/)

  const asked = await visitor.fill(url, { decision: 'allow', cap: 'none' })
  assert.equal(asked.statusCode, 303)
  const address = String(asked.headers.location)
  assert.match(address, /^\/oauth\/step-up\?client_id=/)
  const page = await visitor.get(address)
  assert.match(page.body, /Is it you\?/)
  const wrong = await visitor.submit(address, { csrf: csrfOf(page.body), password: 'no' })
  assert.equal(wrong.statusCode, 401)
  const forged = await visitor.submit(address, { csrf: 'x', password: PASSWORD })
  assert.equal(forged.statusCode, 403)
  const back = await visitor.submit(address, { csrf: csrfOf(wrong.body), password: PASSWORD })
  assert.match(String(back.headers.location), /^\/oauth\/authorize\?client_id=/)
  const given = await visitor.fill(url, { decision: 'allow', cap: 'none' })
  assert.match(String(given.headers.location), /^https:\/\/app\.example\/callback\?.*code=/)
})

test('consent that leaves the cap out leads to the step-up page where there is none', async () => {
  const [developer, user] = [await live.register(), await live.register()]
  const app = await createOAuthApp(live, developer)
  const url = authorizeUrl(app, { code_challenge: makePkce().code_challenge })
  const visitor = new Visitor(live)
  await visitor.login(user.email)
  live.clock.advance(16 * MINUTE_MS)
  const silent = await visitor.fill(url, { decision: 'allow' })
  assert.match(String(silent.headers.location), /^\/oauth\/step-up\?client_id=/)
  await visitor.fill(url, { decision: 'allow', cap: 'monthly', cap_usd: '5' })
  const capped = await visitor.fill(url, { decision: 'allow' })
  assert.match(String(capped.headers.location), /^https:\/\/app\.example\/callback\?.*code=/)
})

test('step-up leads to fixed addresses only', async () => {
  const user = await live.register()
  const visitor = new Visitor(live)
  await visitor.login(user.email)
  for (const [query, expected] of [
    ['?for=security', '/oauth/security'],
    ['?for=https://evil.example', '/oauth/connections'],
    ['', '/oauth/connections'],
  ]) {
    const reply = await visitor.fill(`/oauth/step-up${query}`, { password: PASSWORD })
    assert.equal(reply.headers.location, expected)
  }
  const stranger = await new Visitor(live).get('/oauth/step-up?for=security')
  assert.match(String(stranger.headers.location), /^\/oauth\/login/)
})

test('the pages ask for the second step without script, and keep the way to the app', async () => {
  const [developer, user] = [await live.register(), await live.register()]
  const { secret, recovery_codes } = await addTotp(live, user)
  live.clock.advance(31_000)
  const app = await createOAuthApp(live, developer)
  const query = authorizeUrl(app, { code_challenge: makePkce().code_challenge }).split('?')[1]
  const visitor = new Visitor(live)
  const asked = await visitor.login(user.email, `?${query}`)
  assert.equal(asked.statusCode, 303)
  const address = String(asked.headers.location)
  assert.match(address, /^\/oauth\/second-factor\?client_id=/)
  assert.ok(!visitor.cookies.has('svc_session'), 'nobody is signed in yet')
  assert.match(
    String(asked.headers['set-cookie']),
    /svc_challenge=[^;]+; Path=\/oauth; Max-Age=300; HttpOnly; SameSite=Lax/,
  )
  const page = await visitor.get(address)
  assert.match(String(page.headers['content-security-policy']), /; script-src 'self'$/)
  const wrong = await visitor.submit(address, { csrf: csrfOf(page.body), totp: '000000' })
  assert.equal(wrong.statusCode, 401)
  assert.match(wrong.body, /The code is wrong/)
  const forged = await visitor.submit(address, { csrf: 'x', totp: '000000' })
  assert.equal(forged.statusCode, 403)
  const totp = codeOf(secret, live.clock.now())
  const entered = await visitor.submit(address, { csrf: csrfOf(wrong.body), totp })
  assert.match(String(entered.headers.location), /^\/oauth\/authorize\?client_id=/)
  assert.ok(visitor.cookies.has('svc_session') && !visitor.cookies.has('svc_challenge'))

  const second = new Visitor(live)
  await second.login(user.email)
  const recovered = await second.fill('/oauth/second-factor', {
    recovery_code: recovery_codes?.[0] ?? '',
  })
  assert.equal(recovered.headers.location, '/oauth/connections')
  const nobody = await new Visitor(live).get('/oauth/second-factor')
  assert.equal(nobody.headers.location, '/oauth/login')
})

test('the security page adds and removes an app without script, and other pages allow none', async () => {
  const user = await live.register()
  const visitor = new Visitor(live)
  await visitor.login(user.email)
  const page = await visitor.get('/oauth/security')
  assert.match(page.body, /your password only/)
  assert.doesNotMatch(String(page.headers['content-security-policy']), /script-src/)
  const csrf = csrfOf(page.body)
  const begun = await visitor.submit('/oauth/security/totp', { csrf })
  const secret = (/class="secret">([^<]+)</.exec(begun.body)?.[1] ?? '').replaceAll(' ', '')
  const wrong = await visitor.submit('/oauth/security/totp/confirm', { csrf, code: '000000' })
  assert.equal(wrong.statusCode, 400)
  const code = codeOf(secret, live.clock.now())
  const added = await visitor.submit('/oauth/security/totp/confirm', { csrf, code })
  assert.equal([...added.body.matchAll(/<li>[0-9a-z]{6}(-[0-9a-z]{6}){3}<\/li>/g)].length, 10)
  const after = await visitor.get('/oauth/security')
  assert.match(after.body, /your password and a second factor/)
  const codes = await visitor.submit('/oauth/security/codes', { csrf })
  assert.match(codes.body, /Recovery codes/)
  const id = /name="id" value="([^"]+)"/.exec(after.body)?.[1] ?? ''
  const forged = await visitor.submit('/oauth/security/remove', { csrf: 'x', id })
  assert.equal(forged.statusCode, 403)

  live.clock.advance(16 * MINUTE_MS)
  const stale = await visitor.get('/oauth/security')
  const asked = await visitor.submit('/oauth/security/remove', { csrf: csrfOf(stale.body), id })
  assert.equal(asked.headers.location, '/oauth/step-up?for=security')
  await visitor.fill('/oauth/step-up?for=security', { password: PASSWORD })
  const now = await visitor.get('/oauth/security')
  const gone = await visitor.submit('/oauth/security/remove', { csrf: csrfOf(now.body), id })
  assert.equal(gone.headers.location, '/oauth/security?done=removed')
})
