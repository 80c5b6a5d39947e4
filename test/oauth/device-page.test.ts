// The page on which somebody lets another device in: what it says, what is typed there, and who may send its forms.

import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import {
  mintUserCode,
  readUserCode,
  showUserCode,
  USER_CODE_LENGTH,
  USER_CODE_LETTERS,
} from '../../src/oauth/device/codes.ts'
import { suspendApp } from '../../src/oauth/suspension.ts'
import { PASSWORD } from '../support/app.ts'
import { openBrowser, SCREENS } from '../support/browser.ts'
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
import { createOAuthApp, csrfOf, deviceProofOf, Visitor } from '../support/oauth.ts'
import { auditPage } from '../support/page-audit.ts'
import { skipWithout } from '../support/system-parts.ts'

const MINUTE_MS = 60_000

const { service, developer, from, visit, begin, beginCodes, poll, pollFor } =
  await openDeviceGrant()

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

test('a typed code is read in any case, with any spaces and hyphens, and nothing else is one', () => {
  for (const typed of ['BCDF-GHJK', 'bcdfghjk', ' bcdf ghjk ', 'BCDF–GHJK', 'b-c-d-f g.h_j k']) {
    assert.equal(readUserCode(typed), 'BCDFGHJK', typed)
  }
  for (const typed of ['', 'BCDF', 'BCDFGHJKL', 'ACDF-GHJK', 'BCDF-GH1K', 'ＢCDFGHJK']) {
    assert.equal(readUserCode(typed), undefined, typed)
  }
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
