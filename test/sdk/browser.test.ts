// The browser module where it runs: in Chromium, with storage kept apart by site as in a browser of people.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { sql } from '../support/database.ts'
import { skipWithout } from '../support/system-parts.ts'
import { ask, openSdkStage, pass, type SdkStage, signInByPopup } from './support.ts'

const skip = skipWithout('chromium')
const TEN_MINUTES_MS = 600_000
/** How long the answer to a refresh is given again. */
const REPEATED_MS = 30_000
const CHAT = `({ method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(
  { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello.' }] }) })`

let opened: Promise<SdkStage> | undefined
const openStage = () => (opened ??= openSdkStage())

/** What a context asked of the token endpoint, by grant type and answer. */
function watchTokens(context: BrowserContext): string[] {
  const seen: string[] = []
  context.on('response', (response) => {
    if (!response.url().endsWith('/oauth/token') || response.request().method() !== 'POST') return
    const form = new URLSearchParams(response.request().postData() ?? '')
    seen.push(`${form.get('grant_type')} ${response.status()}`)
  })
  return seen
}

async function openPage(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(url)
  await page.getByText(/^signed (in|out)$/).waitFor()
  return page
}

test('a page signs somebody in by popup, whatever it says about its opener, and calls', {
  skip,
}, async () => {
  const stage = await openStage()
  for (const path of ['/plain', '/opener-policy', '/isolated']) {
    const context = await stage.visit(await stage.register())
    const page = await openPage(context, stage.pages + path)
    assert.equal(await ask(page, 'crossOriginIsolated'), path === '/isolated')
    await signInByPopup(page)
    const call = `svc.fetch('/v1/chat/completions', ${CHAT}).then((reply) => reply.json())`
    const { svc } = await ask<{ svc: { billing_mode: string; balance_after: number } }>(page, call)
    assert.equal(svc.billing_mode, 'user')
    const { balance } = await ask<{ balance: number }>(page, 'svc.balance()')
    assert.equal(balance, svc.balance_after)
    assert.equal(page.url(), stage.pages + path, 'nothing of the answer stays in the address')
    await context.close()
  }
})

test('a frame in a page of another site signs in by popup', { skip }, async () => {
  const stage = await openStage()
  const context = await stage.visit(await stage.register())
  // What it stores as a page of its own must not be there in the frame, or this test proves nothing.
  const own = await openPage(context, `${stage.pages}/plain`)
  await ask(own, `localStorage.setItem('seen', 'yes')`)
  const page = await context.newPage()
  await page.goto(`http://127.0.0.1:${stage.port}/host`)
  const frame = page.frames()[1]
  assert.ok(frame)
  await frame.getByText('signed out').waitFor()
  assert.equal(await ask(frame, `localStorage.getItem('seen')`), null)
  await signInByPopup(page, frame)
  assert.equal(await ask(frame, `svc.fetch('/v1/balance').then((reply) => reply.status)`), 200)
  await context.close()
})

test('a sandboxed frame without an origin is told why it cannot sign in', { skip }, async () => {
  const stage = await openStage()
  const context = await stage.visit()
  const page = await context.newPage()
  await page.goto(`${stage.pages}/sandbox-host`)
  const frame = page.frames()[1]
  assert.ok(frame)
  await frame.getByText('signed out').waitFor()
  await frame.locator('#sign_in').click()
  await frame.getByText(/sandboxed: .*allow-same-origin/).waitFor()
  assert.equal(context.pages().length, 1, 'no window was opened')
  await context.close()
})

test('without a popup the page goes and comes back; a reload keeps the user, a new tab does not', {
  skip,
}, async () => {
  const stage = await openStage()
  const context = await stage.visit(await stage.register())
  const tokens = watchTokens(context)
  const page = await openPage(context, `${stage.pages}/redirect?kept=1#here`)
  await page.locator('#sign_in').click()
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.getByText('signed in', { exact: true }).waitFor()
  assert.equal(page.url(), `${stage.pages}/redirect`)
  await page.reload()
  await page.getByText('signed in', { exact: true }).waitFor()
  for (let count = 0; count < 3; count += 1) await ask(page, 'svc.balance()')
  assert.deepEqual(tokens, ['authorization_code 200', 'refresh_token 200'])
  const other = await openPage(context, `${stage.pages}/redirect`)
  assert.equal(await ask(other, 'svc.signedIn'), false)

  await ask(page, 'svc.signOut()')
  await page.getByText('signed out').waitFor()
  const refused = await ask(page, 'svc.token().catch((error) => error.code)')
  assert.equal(refused, 'signed_out')
  await context.close()
})

test('who says no is not signed in, and the page learns it', { skip }, async () => {
  const stage = await openStage()
  const context = await stage.visit(await stage.register())
  const page = await openPage(context, `${stage.pages}/plain`)
  const opening = context.waitForEvent('page')
  await page.locator('#sign_in').click()
  await (await opening).getByRole('button', { name: 'Deny' }).click()
  await page.getByText(/access_denied: /).waitFor()
  assert.equal(await ask(page, 'svc.signedIn'), false)
  await context.close()
})

test('two tabs that share a refresh token use it once each, and never twice', {
  skip,
}, async () => {
  const stage = await openStage()
  const context = await stage.visit(await stage.register())
  const first = await openPage(context, `${stage.pages}/remember`)
  await signInByPopup(first)
  const second = await openPage(context, `${stage.pages}/remember`)
  await pass(stage, context, TEN_MINUTES_MS)
  const tokens = watchTokens(context)
  const many = 'Promise.all(Array.from({ length: 5 }, () => svc.token()))'
  const got = await Promise.all([ask<string[]>(first, many), ask<string[]>(second, many)])
  assert.deepEqual(
    got.map((list) => new Set(list).size),
    [1, 1],
  )
  assert.deepEqual(tokens, ['refresh_token 200', 'refresh_token 200'])
  // Later than the half minute in which a used token would be forgiven.
  await pass(stage, context, TEN_MINUTES_MS)
  for (const page of [first, second]) await ask(page, 'svc.token()')
  assert.deepEqual(tokens.slice(2), ['refresh_token 200', 'refresh_token 200'])

  await ask(second, 'svc.signOut()')
  await first.getByText('signed out').waitFor()
  await signInByPopup(second)
  await first.getByText('signed in', { exact: true }).waitFor()
  // A tab that slept hears of the signing out only now.
  const [name] = await ask<string[]>(first, 'Object.keys(localStorage)')
  const late = `{ key: ${JSON.stringify(name)}, oldValue: 'old', newValue: null }`
  await ask(first, `void dispatchEvent(new StorageEvent('storage', ${late}))`)
  assert.equal(await ask(second, 'svc.signedIn'), true, 'nobody is signed out by it')
  await ask(second, 'localStorage.clear()')
  await first.getByText('signed out').waitFor()
  await context.close()
})

test('calls that are refused at once share one new token', { skip }, async () => {
  const stage = await openStage()
  const context = await stage.visit(await stage.register())
  const page = await openPage(context, `${stage.pages}/plain`)
  await signInByPopup(page)
  // An access token ends alone: the page does not know of it yet.
  const form = `new URLSearchParams({ client_id: '${stage.client_id}', token })`
  await ask(
    page,
    `svc.token().then((token) => fetch('${stage.address}/oauth/revoke', { method: 'POST', body: ${form} }))
      .then(({ status }) => status)`,
  )
  const tokens = watchTokens(context)
  // The other refusals come when the first call has its new token.
  const renewed = Promise.withResolvers<void>()
  await page.exposeFunction('renew', () => renewed.resolve())
  await page.route('**/v1/balance?*', async (route) => {
    const reply = await route.fetch()
    if (reply.status() === 401 && !route.request().url().endsWith('?0')) await renewed.promise
    await route.fulfill({ response: reply })
  })
  const call = `async (place) => { const { status } = await svc.fetch('/v1/balance?' + place)
    await renew()
    return status }`
  assert.deepEqual(await ask(page, `Promise.all([0, 1, 2, 3].map(${call}))`), [200, 200, 200, 200])
  assert.deepEqual(tokens, ['refresh_token 200'])
  await context.close()
})

test('an answer that does not come is given up while the gateway would still repeat it', {
  skip,
}, async () => {
  const stage = await openStage()
  const context = await stage.visit(await stage.register())
  const page = await openPage(context, `${stage.pages}/plain`)
  await signInByPopup(page)
  await pass(stage, context, TEN_MINUTES_MS)
  const waits = `(() => { const waits = []; const timeout = AbortSignal.timeout
    AbortSignal.timeout = (ms) => { waits.push(ms); return timeout.call(AbortSignal, ms) }
    return svc.token().then(() => waits) })()`
  const [wait_ms] = await ask<number[]>(page, waits)
  assert.ok(wait_ms !== undefined && wait_ms <= REPEATED_MS / 2, `${wait_ms} ms`)
  await context.close()
})

test('<svc-button> signs in and out without any script of the page, and tells it', {
  skip,
}, async () => {
  const stage = await openStage()
  const context = await stage.visit(await stage.register())
  const page = await context.newPage()
  await page.goto(`${stage.pages}/button`)
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const press = async (decision: string) => {
    const opening = context.waitForEvent('page')
    await button('Sign in here').click()
    await (await opening).getByRole('button', { name: decision }).click()
  }
  await press('Deny')
  await page.waitForFunction('heard.length > 1')
  await press('Allow')
  await button('Sign out').click()
  await button('Sign in here').waitFor()
  assert.deepEqual(await ask(page, 'heard'), [
    ['svc-change', false, ''],
    ['svc-error', false, 'access_denied'],
    ['svc-change', true, ''],
    ['svc-change', false, ''],
  ])
  await context.close()
})

test('a tab that was duplicated goes on with the tokens of the other', { skip }, async () => {
  const stage = await openStage()
  const context = await stage.visit(await stage.register())
  const page = await openPage(context, `${stage.pages}/plain`)
  await signInByPopup(page)
  // A window that a page opens starts with a copy of what the tab has stored.
  const opening = context.waitForEvent('page')
  await ask(page, `void open('/plain')`)
  const copy = await opening
  await copy.getByText('signed in', { exact: true }).waitFor()
  for (const tab of [page, copy, page]) {
    // Longer than the half minute in which a used token is forgiven.
    await pass(stage, context, TEN_MINUTES_MS)
    assert.match(await ask(tab, 'svc.token()'), /^svc_token_/)
  }
  assert.equal(await ask(copy, 'svc.signedIn'), true)
  await context.close()
})

test('a refresh token that was copied to another browser is of no use, and does no harm', {
  skip,
}, async () => {
  const stage = await openStage()
  const context = await stage.visit(await stage.register())
  const page = await openPage(context, `${stage.pages}/remember`)
  await signInByPopup(page)
  const stored = await ask<Record<string, string>>(page, '({ ...localStorage })')
  assert.equal(Object.values(stored).length, 1)

  const thief = await stage.visit()
  const elsewhere = await openPage(thief, `${stage.pages}/remember`)
  await ask(elsewhere, `Object.assign(localStorage, ${JSON.stringify(stored)})`)
  assert.equal(await ask(elsewhere, 'svc.token().catch((error) => error.code)'), 'invalid_grant')
  await thief.close()

  await pass(stage, context, TEN_MINUTES_MS)
  assert.match(await ask(page, 'svc.token()'), /^svc_token_/)
  const exported = `new Promise((resolve) => { const opening = indexedDB.open('svc')
    opening.onsuccess = () => { const keys = opening.result.transaction('keys').objectStore('keys').getAll()
      keys.onsuccess = () => crypto.subtle.exportKey('jwk', keys.result[0].privateKey).then(() => resolve('read'), (error) => resolve(error.name)) } })`
  assert.equal(await ask(page, exported), 'InvalidAccessError')
  await context.close()
})

test('OpenAI’s own client streams in a page, with the token in place of a key', {
  skip,
}, async () => {
  const stage = await openStage()
  const context = await stage.visit(await stage.register())
  const page = await openPage(context, `${stage.pages}/plain`)
  await signInByPopup(page)
  const said = await ask<{ text: string; request_id: string }>(
    page,
    `(async () => {
      const { OpenAI } = await import('/openai/index.mjs')
      const openai = new OpenAI({ baseURL: '${stage.address}/v1', apiKey: () => svc.token(), dangerouslyAllowBrowser: true })
      const messages = [{ role: 'user', content: 'Hello.' }]
      const { data, response } = await openai.chat.completions.create({ model: 'gpt-4o-mini', stream: true, messages }).withResponse()
      let text = ''
      for await (const { choices } of data) text += choices[0]?.delta.content ?? ''
      return { text, request_id: response.headers.get('x-request-id') }
    })()`,
  )
  assert.notEqual(said.text, '')
  assert.match(said.request_id, /^req_/)
  // And a key in a page is told why it is refused.
  const { key } = await stage.createKey(stage.developer.bearer)
  const refused = await ask<{ status: number; hint: string }>(
    page,
    `fetch('${stage.address}/v1/balance', { headers: { authorization: 'Bearer ${key}' } }).then(
      async (reply) => ({ status: reply.status, hint: (await reply.json()).error.hint }))`,
  )
  assert.equal(refused.status, 403)
  assert.match(refused.hint, /sdk/)
  await context.close()
})

test('a device whose clock is wrong signs in and refreshes all the same', { skip }, async () => {
  const stage = await openStage()
  const context = await stage.visit(await stage.register())
  const an_hour_ago = new Date(stage.clock.now().getTime() - 3_600_000)
  await context.clock.setFixedTime(an_hour_ago)
  const tokens = watchTokens(context)
  const page = await openPage(context, `${stage.pages}/plain`)
  await signInByPopup(page)
  await page.reload()
  await page.getByText('signed in', { exact: true }).waitFor()
  assert.match(await ask(page, 'svc.token()'), /^svc_token_/)
  const asked = ['authorization_code 400', 'authorization_code 200']
  assert.deepEqual(tokens, [...asked, 'refresh_token 400', 'refresh_token 200'])
  await context.close()
})

test('a token never leaves for another origin', { skip }, async () => {
  const stage = await openStage()
  const context = await stage.visit(await stage.register())
  const page = await openPage(context, `${stage.pages}/plain`)
  await signInByPopup(page)
  for (const address of [
    `'${stage.pages}/plain'`,
    `'//evil.example/v1'`,
    `new Request('/plain')`,
  ]) {
    const refused = `svc.fetch(${address}).catch((error) => error.code)`
    assert.equal(await ask(page, refused), 'other_origin', address)
  }
  await context.close()
})

test('examples/browser-app: a user signs in, reads a streamed answer, and sees what it cost', {
  skip,
}, async () => {
  const stage = await openStage()
  const person = await stage.register()
  const context = await stage.visit(person)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  await page.goto(`${stage.pages}/example`)
  const opening = context.waitForEvent('page')
  await page.getByRole('button', { name: 'Sign in with Svc' }).click()
  await (await opening).getByRole('button', { name: 'Allow' }).click()
  await page.getByLabel('Your question').fill('Why is the sky blue?')
  await page.getByText(/^\$\d+\.\d+ left$/).waitFor()
  await page.getByRole('button', { name: 'Ask' }).click()
  const cost = await page.getByText(/^This answer cost \$/).textContent()
  assert.notEqual(await page.locator('#answer').textContent(), '')
  const [charged] = await sql<{ credits_used: string; balance_after: string }>(
    stage.database_url,
    'select credits_used, balance_after from usage_event where wallet_id = $1',
    [person.user_id],
  )
  const [used, left] = [charged?.credits_used, charged?.balance_after].map(
    (credits) => `$${(Number(credits) / 1_000_000).toFixed(6)}`,
  )
  assert.equal(cost, `This answer cost ${used}. You have ${left} left.`)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Sign in with Svc' }).waitFor()
  assert.deepEqual(faults, [])
  await context.close()
})
