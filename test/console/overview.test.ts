// The overview in a real browser: figures that are the API's, what needs a look, a service that goes and comes back.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PASSWORD } from '../support/app.ts'
import { connectHosted, createOAuthApp, Visitor } from '../support/oauth.ts'
import { skipWithout } from '../support/system-parts.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { LIVED_IN_SETTINGS, makeLivedInAccount } from './lived-in-account.ts'
import { audit, openConsole, settle } from './support.ts'

const skip = skipWithout('chromium')
const stage = skip ? undefined : await openConsole(LIVED_IN_SETTINGS)
const lived_in = stage && (await makeLivedInAccount(stage, { days: 4, scale: 0.25 }))

function requireStage() {
  if (!stage || !lived_in) throw new Error('there is no browser')
  return { stage, lived_in }
}

const dollars = (credits: number) =>
  `$${(credits / 1_000_000).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`

test('the figures are those of the API, in five requests, and the period stands in the address', {
  skip,
}, async () => {
  const { stage, lived_in } = requireStage()
  const { page, open, calls, complaints } = await stage.visit(lived_in.person)
  await open('/')
  assert.deepEqual(calls.toSorted(), [
    'GET /account',
    'GET /account/attention',
    'GET /account/usage',
    'GET /account/usage/summary',
    'GET /developers/earnings',
  ])
  const headers = { cookie: `svc_session=${lived_in.person.token}` }
  const read = async (url: string) => (await stage.request({ url, headers })).json()
  const account = await read('/account')
  const from = new Date(Date.now() - 6 * 86_400_000).toISOString().slice(0, 10)
  const week = await read(`/account/usage/summary?from=${from}T00:00:00Z&group_by=model`)
  const figure = (label: string) =>
    page.locator('.figures > div', { hasText: label }).locator('.figure').innerText()
  assert.equal(await figure('Balance'), dollars(account.available))
  const age_days = Math.ceil((Date.now() - Date.parse(account.created_at)) / 86_400_000)
  const pace = week.total.own_credits / Math.min(7, age_days)
  assert.equal(await figure('Runway'), `≈ ${Math.floor(account.available / pace)} days`)

  await page.getByRole('button', { name: '7 days' }).click()
  await page.getByText('Spend, last 7 days').waitFor()
  await settle(page)
  assert.equal(new URL(page.url()).search, '?period=7')
  assert.equal(await figure('Spend, last 7 days'), dollars(week.total.own_credits))
  await page.reload()
  await settle(page)
  assert.equal(await figure('Spend, last 7 days'), dollars(week.total.own_credits))
  // What the bars and the shares say adds up to the figure above them.
  const shares = await page
    .locator('.shares td:nth-of-type(1) [title]')
    .evaluateAll((cells) =>
      cells.map((cell) => Number((cell as { title: string }).title.replaceAll(/\D/g, ''))),
    )
  assert.equal(
    shares.reduce((sum, credits) => sum + credits, 0),
    week.total.own_credits,
  )
  assert.deepEqual(complaints, [])
})

test('what needs a look is named, with the page where it is put right', { skip }, async () => {
  const { stage, lived_in } = requireStage()
  const { page, open } = await stage.visit(lived_in.person)
  await open('/')
  const list = page.getByRole('region', { name: 'Needs a look' })
  const words = await list.getByRole('listitem').allInnerTexts()
  assert.ok(words.some((text) => /The key production has spent \$\d+\.\d\d of its/.test(text)))
  assert.ok(words.some((text) => /\d+ of \d+ deliveries to localhost:\d+ failed/.test(text)))
  await audit(page, 'overview')
  await list.getByRole('link', { name: 'Change the key' }).first().click()
  await page.getByRole('dialog').waitFor()
})

test('arrow keys walk the days of the chart and a status line reads them', { skip }, async () => {
  const { stage, lived_in } = requireStage()
  const { page, open } = await stage.visit(lived_in.person)
  await open('/?period=7')
  await page.getByRole('group', { name: /Spend by model/ }).focus()
  await page.keyboard.press('End')
  const read = await page.locator('.chart-status').innerText()
  assert.match(read, /^\w+ \d+: \$\d+\.\d\d · /)
  await page.keyboard.press('ArrowLeft')
  assert.notEqual(await page.locator('.chart-status').innerText(), read)
})

test('a latest call leads to its receipt', { skip }, async () => {
  const { stage, lived_in } = requireStage()
  const { page, open } = await stage.visit(lived_in.person)
  await open('/')
  assert.equal(
    await page.getByRole('table', { name: 'Latest calls' }).locator('tbody tr').count(),
    7,
  )
  await page.locator('.row-link').first().click()
  await page.waitForURL(/\/console\/usage\?call=[0-9a-f-]{36}$/)
})

test('who came for an app of somebody else is led to the wallet, and can still start', {
  skip,
}, async () => {
  const { stage } = requireStage()
  const developer = await stage.register()
  const app = await createOAuthApp(stage, developer)
  const visitor = new Visitor(stage)
  const email = `guest-${Date.now()}@example.com`
  await visitor.fill(`/oauth/register?client_id=${app.client_id}`, { email, password: PASSWORD })
  const { page, open } = await stage.visit({ token: visitor.cookies.get('svc_session') ?? '' })
  await open('/')
  await page.waitForURL('**/console/wallet')
  // The overview stays a page that can be followed to.
  await page.getByRole('navigation').getByRole('link', { name: 'Overview', exact: true }).click()
  await page.getByRole('link', { name: 'To your wallet' }).waitFor()
  assert.equal(await page.getByText('Get started').count(), 0)
  await audit(page, 'doorway')
  await page.getByRole('button', { name: 'Start here' }).click()
  await page.getByRole('heading', { name: 'Get started' }).waitFor()
})

test('earnings without an account to be paid to need a look', { skip }, async () => {
  const { stage } = requireStage()
  const [developer, user] = [await stage.register(), await stage.register()]
  const app = await createOAuthApp(stage, developer, { markup_percent: 40 })
  await connectHosted(stage, { app, user, external_user_id: 'ext-1' })
  const { key } = await stage.createKey(developer.bearer, { billing_mode: 'user' })
  const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Say hello.' }] }
  const headers = { authorization: `Bearer ${key}`, 'x-svc-user': 'ext-1' }
  assert.equal((await stage.post('/v1/chat/completions', body, headers)).statusCode, 200)
  const { page, open } = await stage.visit(developer)
  await open('/')
  await page.getByText(/Payouts are off/).waitFor()
  await page.getByRole('region', { name: 'Needs a look' }).getByRole('link').click()
  await page.waitForURL('**/console/earnings')
})

test('a service that goes away is said in place, and comes back without losing the page', {
  skip,
}, async () => {
  const { stage, lived_in } = requireStage()
  const proxy = await startTcpProxy(stage.address)
  const { page } = await stage.visit(lived_in.person)
  await page.goto(new URL('/console/', proxy.url).href)
  await settle(page)
  proxy.cut()
  await page.getByRole('button', { name: '90 days' }).click()
  const gone = page.getByRole('alert').filter({ hasText: 'The service does not answer.' })
  await gone.waitFor()
  // What was there stays.
  assert.equal(await page.locator('.figures').getByText('Balance').count(), 1)
  await audit(page, 'service gone')
  await page.getByRole('link', { name: 'Earnings' }).click()
  await page.getByText('This page could not be loaded.').waitFor()
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('The service still does not answer.').waitFor()

  proxy.restore()
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('heading', { name: 'Earnings', level: 1 }).waitFor()
  await page.getByRole('link', { name: 'Overview', exact: true }).click()
  await page.getByRole('button', { name: '90 days' }).click()
  await page.getByText('Spend, last 90 days').waitFor()
  await settle(page)
  assert.equal(await page.getByRole('alert').count(), 0)
})
