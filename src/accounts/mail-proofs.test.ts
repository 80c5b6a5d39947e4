import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type Answer,
  createApp,
  PASSWORD,
  sendQueuedMail,
  type TestApp,
} from '../../test/support/app.ts'
import { sql } from '../../test/support/database.ts'
import { LIVE_SETTINGS } from '../../test/support/live-settings.ts'
import { linksFor, mailedToken } from '../../test/support/mails.ts'

const HOUR_MS = 60 * 60 * 1000

const open = (service: TestApp, link: URL, accept = 'application/json') =>
  service.request({ url: link.pathname + link.search, headers: { accept } })

describe('verification', async () => {
  const service = await createApp({
    settings: { VERIFICATION_LIMIT_PER_HOUR: '3', PASSWORD_LIMIT_PER_15_MINUTES: '5' },
  })
  const ask = (bearer: Record<string, string>) =>
    service.post('/auth/send-verification', {}, bearer)

  const confirm = (token: string, fields: object, headers: Record<string, string> = {}) =>
    service.post('/auth/verify', { token, ...fields }, headers)
  const code = (reply: Answer) => [reply.statusCode, reply.json().error?.code]

  async function asked() {
    const person = await service.register()
    assert.equal((await ask(person.bearer)).json().already_verified, false)
    const token = await mailedToken(service, person.email)
    return { ...person, token, link: new URL(`http://x/auth/verify?token=${token}`) }
  }
  test('the link is in the answer only where no mail leaves the machine', async () => {
    const person = await service.register()
    const { verify_url } = (await ask(person.bearer)).json<{ verify_url: string }>()
    const link = new URL(verify_url)
    assert.equal(link.origin + link.pathname, `${service.parts.config.PUBLIC_URL}/auth/verify`)
    const token = link.searchParams.get('token') ?? ''
    assert.equal((await confirm(token, { password: PASSWORD })).statusCode, 200)
    assert.deepEqual((await ask(person.bearer)).json(), { success: true, already_verified: true })
    const elsewhere = { PUBLIC_URL: 'https://sandbox.example.com' }
    for (const settings of [{ SMTP_URL: 'smtp://127.0.0.1:9' }, elsewhere, LIVE_SETTINGS]) {
      const other = await createApp({ settings })
      const { bearer } = await other.register()
      assert.deepEqual((await other.post('/auth/send-verification', {}, bearer)).json(), {
        success: true,
        already_verified: false,
      })
    }
  })

  const isVerified = async (bearer: Record<string, string>) =>
    (await ask(bearer)).json().already_verified

  test('the token of the mail and the password verify the address, once, and end nothing', async () => {
    const { bearer, token, email } = await asked()
    const { key } = await service.createKey(bearer)
    assert.deepEqual((await confirm(token, { password: PASSWORD })).json(), { success: true })
    assert.equal(await isVerified(bearer), true)
    assert.deepEqual(code(await confirm(token, { password: PASSWORD })), [400, 'invalid_request'])
    const used = await service.request({ url: '/v1/key', headers: { 'x-api-key': key } })
    assert.equal(used.statusCode, 200)
    assert.equal((await service.post('/auth/login', { email, password: PASSWORD })).statusCode, 200)
  })

  test('a session of the account takes the place of the password; that of another account does not', async () => {
    const { bearer, token } = await asked()
    const stranger = await service.register()
    assert.deepEqual(code(await confirm(token, {}, stranger.bearer)), [401, 'invalid_credentials'])
    assert.deepEqual(code(await confirm(token, {})), [401, 'invalid_credentials'])
    assert.equal(await isVerified(bearer), false)
    assert.deepEqual((await confirm(token, {}, bearer)).json(), { success: true })
    assert.equal(await isVerified(bearer), true)
  })

  test('a cookie that another site sends along does not take the place of the password', async () => {
    const { token, bearer } = await asked()
    const cookie = `svc_session=${bearer.authorization.slice('Bearer '.length)}`
    const forged = { cookie, 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
    assert.deepEqual(code(await confirm(token, {}, forged)), [401, 'invalid_credentials'])
    const own = { cookie, 'sec-fetch-site': 'same-origin' }
    assert.equal((await confirm(token, {}, own)).statusCode, 200)
  })

  test('a wrong password does not use the link up, and five of them are the last for a while', async () => {
    const { bearer, token } = await asked()
    for (let i = 0; i < 5; i++) {
      const wrong = await confirm(token, { password: `wrong password ${i}` })
      assert.deepEqual(code(wrong), [401, 'invalid_credentials'])
    }
    assert.deepEqual(code(await confirm(token, { password: PASSWORD })), [429, 'rate_limited'])
    assert.equal((await confirm(token, {}, bearer)).statusCode, 200)
  })

  test('a mail scanner that follows the link, with GET or HEAD, changes nothing', async () => {
    const { bearer, token, link } = await asked()
    for (const accept of ['*/*', 'text/html', 'application/json']) {
      for (const method of ['GET', 'HEAD'] as const) {
        const url = link.pathname + link.search
        const reply = await service.request({ method, url, headers: { accept } })
        assert.equal(reply.statusCode, 200)
      }
    }
    assert.equal(await isVerified(bearer), false)
    assert.equal((await confirm(token, { password: PASSWORD })).statusCode, 200)
  })

  test('a browser gets a page with a button, which asks for the password unless the session is there', async () => {
    const { bearer, token, link } = await asked()
    const page = await open(service, link, 'text/html')
    assert.equal(page.statusCode, 200)
    assert.match(page.body, /<form method="post" action="\/auth\/verify">/)
    assert.match(page.body, /name="password"/)
    assert.doesNotMatch(page.body, /<script/)
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'text/html',
      cookie: `svc_session=${bearer.authorization.slice('Bearer '.length)}`,
      'sec-fetch-site': 'same-origin',
    }
    const own = await service.request({ url: link.pathname + link.search, headers })
    assert.doesNotMatch(own.body, /name="password"/)
    const send = (fields: Record<string, string>, cookie = '') =>
      service.request({
        method: 'POST',
        url: '/auth/verify',
        headers: { ...headers, cookie },
        payload: new URLSearchParams({ token, ...fields }).toString(),
      })
    const wrong = await send({ password: 'not the password' })
    assert.equal(wrong.statusCode, 401)
    assert.match(wrong.body, /role="alert"/)
    const done = await send({}, headers.cookie)
    assert.equal(done.statusCode, 200)
    assert.match(done.body, /<h1>Address confirmed<\/h1>/)
    const again = await open(service, link, 'text/html')
    assert.equal(again.statusCode, 400)
    assert.match(again.body, /used before or is too old/)
  })

  test('the link is good for 24 hours', async () => {
    const { token, link } = await asked()
    service.clock.advance(24 * HOUR_MS)
    assert.equal((await open(service, link)).statusCode, 400)
    assert.equal((await confirm(token, { password: PASSWORD })).statusCode, 400)
  })

  test('the fourth mail in an hour is rate_limited; an address that is verified uses no slot', async () => {
    const { bearer } = await service.register()
    for (let i = 0; i < 3; i++) assert.equal((await ask(bearer)).statusCode, 200)
    const fourth = await ask(bearer)
    assert.deepEqual([fourth.statusCode, fourth.json().error.code], [429, 'rate_limited'])
    assert.ok(Number(fourth.headers['retry-after']) > 0)

    const verified = await service.register()
    await sql(service.database_url, 'update account set email_verified_at = now() where id = $1', [
      verified.user_id,
    ])
    for (let i = 0; i < 5; i++) {
      assert.deepEqual((await ask(verified.bearer)).json(), {
        success: true,
        already_verified: true,
      })
    }
    await sql(service.database_url, 'update account set email_verified_at = null where id = $1', [
      verified.user_id,
    ])
    for (let i = 0; i < 3; i++) assert.equal((await ask(verified.bearer)).statusCode, 200)
  })

  test('a proof sent to an address that has changed since verifies nothing', async () => {
    const { bearer, token, user_id } = await asked()
    await sql(service.database_url, "update account set email = 'new@x.test' where id = $1", [
      user_id,
    ])
    await confirm(token, { password: PASSWORD })
    assert.equal(await isVerified(bearer), false)
  })
})

describe('a forgotten password', async () => {
  const service = await createApp({ settings: { VERIFICATION_LIMIT_PER_HOUR: '3' } })
  const forget = (email: string) => service.post('/auth/forgot-password', { email })
  const reset = (token: string | null, new_password: string) =>
    service.post('/auth/reset-password', { token, new_password })

  async function resetLink(email: string): Promise<URL> {
    assert.deepEqual((await forget(email)).json(), { success: true })
    await sendQueuedMail(service)
    const link = linksFor(service, email).at(-1)
    assert.ok(link)
    return link
  }

  test('the mail leads to a new password, once, and every session ends', async () => {
    const { email, bearer } = await service.register()
    const token = (await resetLink(email)).searchParams.get('token')
    assert.deepEqual((await reset(token, 'a brand new one')).json(), { success: true })
    assert.equal((await service.request({ url: '/auth/me', headers: bearer })).statusCode, 401)
    assert.equal((await service.post('/auth/login', { email, password: PASSWORD })).statusCode, 401)
    const login = await service.post('/auth/login', { email, password: 'a brand new one' })
    assert.equal(login.statusCode, 200)
    const again = await reset(token, 'yet another one')
    assert.deepEqual([again.statusCode, again.json().error.code], [400, 'invalid_request'])
  })

  test('of two uses of one link at once exactly one counts', async () => {
    const { email } = await service.register()
    const token = (await resetLink(email)).searchParams.get('token')
    const replies = await Promise.all(
      ['first password', 'second password'].map((word) => reset(token, word)),
    )
    assert.deepEqual(
      replies.map((reply) => reply.statusCode).sort((left, right) => left - right),
      [200, 400],
    )
  })

  test('an older link dies with the password it was asked for', async () => {
    const { email } = await service.register()
    const first = (await resetLink(email)).searchParams.get('token')
    const second = (await resetLink(email)).searchParams.get('token')
    assert.notEqual(first, second)
    assert.equal((await reset(second, 'a brand new one')).statusCode, 200)
    assert.equal((await reset(first, 'from an old mail')).statusCode, 400)
  })

  test('a link dies with any change of the password, and so does a mail that is not sent yet', async () => {
    const { email, bearer } = await service.register()
    const token = (await resetLink(email)).searchParams.get('token')
    await forget(email)
    const changed = await service.post(
      '/auth/change-password',
      { current_password: PASSWORD, new_password: 'chosen meanwhile' },
      bearer,
    )
    assert.equal(changed.statusCode, 200)
    assert.equal((await reset(token, 'from an old mail')).statusCode, 400)
    const resets = () =>
      linksFor(service, email).filter((link) => link.pathname === '/auth/reset-password').length
    const sent = resets()
    await sendQueuedMail(service)
    assert.equal(resets(), sent)
  })

  test('a token that is none is refused before the password is hashed', async () => {
    const junk = Array.from({ length: 200 }, (_, i) => reset(`svc_reset_${i}`, 'long enough'))
    for (const reply of await Promise.all(junk)) assert.equal(reply.statusCode, 400)
  })

  test('the link is good for an hour, and a weak password does not use it up', async () => {
    const { email } = await service.register()
    const token = (await resetLink(email)).searchParams.get('token')
    assert.equal((await reset(token, 'short')).json().error.code, 'weak_password')
    service.clock.advance(HOUR_MS - 1)
    assert.equal((await reset(token, 'long enough')).statusCode, 200)
    const late = (await resetLink(email)).searchParams.get('token')
    service.clock.advance(HOUR_MS)
    assert.equal((await reset(late, 'long enough')).statusCode, 400)
  })

  test('an unknown address gets the same answer and no mail', async () => {
    assert.deepEqual((await forget('nobody@x.test')).json(), { success: true })
    const queued = await sql(service.database_url, 'select 1 from mail_outbox')
    assert.equal(queued.length, 0)
  })

  test('past three mails an hour the answer is the same, but no more mail is sent', async () => {
    const { email } = await service.register()
    for (let i = 0; i < 5; i++) assert.deepEqual((await forget(email)).json(), { success: true })
    const queued = await sql(service.database_url, 'select 1 from mail_outbox')
    assert.equal(queued.length, 3)
    await sendQueuedMail(service)
  })

  test('the page works without script: its form sets the password', async () => {
    const { email } = await service.register()
    const link = await resetLink(email)
    const page = await open(service, link, 'text/html')
    assert.match(page.body, /<form method="post" action="\/auth\/reset-password">/)
    assert.doesNotMatch(page.body, /<script/)
    const token = link.searchParams.get('token') ?? ''
    const send = (new_password: string) =>
      service.request({
        method: 'POST',
        url: '/auth/reset-password',
        headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' },
        payload: new URLSearchParams({ token, new_password }).toString(),
      })
    const weak = await send('short')
    assert.equal(weak.statusCode, 400)
    assert.match(weak.body, /role="alert"/)
    const done = await send('from the form')
    assert.equal(done.statusCode, 200)
    assert.match(done.body, /Password changed/)
    assert.equal(
      (await service.post('/auth/login', { email, password: 'from the form' })).statusCode,
      200,
    )
  })
})

describe('the queue of mail', async () => {
  test('no token waits in the database: before it is sent there is none, after it only a hash', async () => {
    const service = await createApp()
    const { email } = await service.register()
    await service.post('/auth/forgot-password', { email })
    assert.equal((await sql(service.database_url, 'select 1 from mail_token')).length, 0)
    await sendQueuedMail(service)
    const [link] = linksFor(service, email)
    const token = link?.searchParams.get('token') ?? ''
    const rows = await sql<{ text: string }>(
      service.database_url,
      'select mail_token::text as text from mail_token',
    )
    assert.equal(rows.length, 1)
    assert.ok(token.length > 40 && !rows[0]?.text.includes(token))
    assert.equal((await sql(service.database_url, 'select 1 from mail_outbox')).length, 0)
  })

  test('a mail server that is down is tried again later, and given up after five attempts', async () => {
    const service = await createApp({ settings: { SMTP_URL: 'smtp://127.0.0.1:1' } })
    const { bearer } = await service.register()
    await service.post('/auth/send-verification', {}, bearer)
    for (let attempt = 1; attempt <= 5; attempt++) {
      const waiting = await sql(service.database_url, 'select 1 from mail_outbox')
      assert.equal(waiting.length, 1, `before attempt ${attempt}`)
      await sendQueuedMail(service)
      await sendQueuedMail(service)
      service.clock.advance(3 * HOUR_MS)
    }
    assert.equal((await sql(service.database_url, 'select 1 from mail_outbox')).length, 0)
    assert.equal((await sql(service.database_url, 'select 1 from mail_token')).length, 5)
  })

  test('two senders at once send each mail once', async () => {
    const service = await createApp()
    const people = await Promise.all(Array.from({ length: 6 }, () => service.register()))
    for (const { bearer } of people) await service.post('/auth/send-verification', {}, bearer)
    await Promise.all([sendQueuedMail(service), sendQueuedMail(service), sendQueuedMail(service)])
    for (const { email } of people) assert.equal(linksFor(service, email).length, 1)
  })
})
