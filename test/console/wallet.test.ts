// The wallet page in a real browser: what there is, a cap that is changed, an app that is disconnected, and who begins here.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PASSWORD } from '../support/app.ts'
import { createOAuthApp, Visitor } from '../support/oauth.ts'
import { skipWithout } from '../support/system-parts.ts'
import { connectApp } from './payers.ts'
import { audit, openConsole, settle } from './support.ts'

const skip = skipWithout('chromium')
const stage = skip ? undefined : await openConsole({ STEP_UP: 'always' })

async function arrive() {
  if (!stage) throw new Error('there is no browser')
  const person = await stage.register()
  const connected = await connectApp(stage, person, { name: 'Poem Machine', markup_percent: 25 })
  assert.equal(await connected.call(), 200)
  const visit = await stage.visit(person)
  const readConnections = async () => {
    const reply = await stage.request({ url: '/account/connections', headers: person.bearer })
    return reply.json<{ data: Record<string, unknown>[] }>().data
  }
  return { ...visit, ...connected, stage, person, readConnections }
}

test('the balance and what an app spent of its cap are shown, with the exact credits on hover', {
  skip,
}, async () => {
  const { page, open, readConnections, stage: service, person, complaints } = await arrive()
  await open('/wallet')
  const [row] = await readConnections()
  const reply = await service.request({ url: '/account', headers: person.bearer })
  const { available, promotional } = reply.json<{ available: number; promotional: number }>()
  const figures = page.locator('.balance-sums dd span')
  const exact = (credits: unknown) => `${Number(credits).toLocaleString('en-US')} credits`
  assert.equal(await figures.first().getAttribute('title'), exact(available))
  assert.equal(await figures.last().getAttribute('title'), exact(promotional))
  const cells = page.locator('tbody tr').first()
  assert.match(await cells.innerText(), /Poem Machine[^]*Spend, and see your balance[^]*25 %/)
  assert.equal(
    await page.locator('.app-spent span[title]').first().getAttribute('title'),
    exact(row?.['spent_credits']),
  )
  assert.deepEqual(complaints, [])
  await audit(page, 'wallet with an app')
})

test('a cap is changed from the page, no cap needs a fresh proof, and the app is held to it', {
  skip,
}, async () => {
  const { page, open, readConnections, call, complaints } = await arrive()
  await open('/wallet')
  await page.getByRole('button', { name: 'Change Poem Machine' }).click()
  await page.getByRole('button', { name: 'Change the cap' }).click()
  assert.match(new URL(page.url()).search, /^\?cap=svc_client_/)
  const cap = page.getByLabel('Cap', { exact: true })
  await cap.fill('ten')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('.field-error', { hasText: 'Enter dollars' }).waitFor()
  await audit(page, 'cap')
  await cap.fill('0.000001')
  await page.getByLabel('Period').selectOption('day')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The cap of Poem Machine is changed.').waitFor()
  const [capped] = await readConnections()
  assert.deepEqual([capped?.['cap_credits'], capped?.['cap_period']], [1, 'day'])
  assert.equal(await call(), 402)

  stage?.clock.advance(16 * 60_000)
  await page.getByRole('button', { name: 'Change Poem Machine' }).click()
  await page.getByRole('button', { name: 'Change the cap' }).click()
  await cap.fill('')
  await page.getByRole('button', { name: 'Save' }).click()
  const proof = page.getByRole('dialog', { name: 'Is it you?' })
  await proof.getByLabel('Password').fill(PASSWORD)
  await proof.getByRole('button', { name: 'Continue' }).click()
  await page.locator('.cell-note', { hasText: 'No cap' }).waitFor()
  const [free] = await readConnections()
  assert.equal(free?.['cap_credits'], null)
  assert.equal(await call(), 200)
  assert.deepEqual(
    complaints.filter((text) => !text.includes('403')),
    [],
  )
})

test('an app is disconnected after what stops was said, and fails at once', { skip }, async () => {
  const { page, open, readConnections, call, complaints } = await arrive()
  await open('/wallet')
  const menu = page.getByRole('button', { name: 'Change Poem Machine' })
  await menu.click()
  await page.getByRole('button', { name: 'Disconnect' }).click()
  await page.getByText('its calls for you fail at once').waitFor()
  await audit(page, 'disconnect')
  await page.getByRole('button', { name: 'Keep it' }).click()
  assert.equal(await page.locator(':focus').getAttribute('aria-label'), 'Change Poem Machine')
  assert.equal((await readConnections()).length, 1)
  await menu.click()
  await page.getByRole('button', { name: 'Disconnect' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click()
  await page.getByText('None yet. When an app offers').waitFor()
  assert.deepEqual(await readConnections(), [])
  assert.equal(await call(), 401)
  assert.deepEqual(complaints, [])
})

test('the mail of a low balance is set and taken back', { skip }, async () => {
  const { page, open, complaints } = await arrive()
  await open('/wallet?low_balance=true')
  await audit(page, 'low balance')
  await page.getByLabel('When it falls below').fill('2.50')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('A mail comes when the balance falls below $2.50.').waitFor()
  await page.getByRole('link', { name: 'Change', exact: true }).click()
  await page.getByLabel('When it falls below').fill('')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('No mail when the balance is low.').waitFor()
  assert.deepEqual(complaints, [])
})

test('who came through consent begins at the wallet, and finds the way to building', {
  skip,
}, async () => {
  if (!stage) return
  const app = await createOAuthApp(stage, await stage.register())
  const visitor = new Visitor(stage)
  const query = `?client_id=${app.client_id}`
  await visitor.fill(`/oauth/register${query}`, { email: 'payer@example.com', password: PASSWORD })
  const token = visitor.cookies.get('svc_session') ?? ''
  const { page, complaints } = await stage.visit({ token })
  await page.goto('/console/')
  await page.waitForURL('**/console/wallet')
  await settle(page)
  assert.equal(await page.locator('.navigation h2').first().innerText(), 'Wallet')
  await page.getByRole('link', { name: 'Start here' }).click()
  await page.waitForURL('**/console/')
  await settle(page)
  assert.equal(await page.title(), 'Overview · svc')
  assert.deepEqual(complaints, [])

  await stage.createKey({ authorization: `Bearer ${token}` })
  await page.goto('/console/')
  await settle(page)
  assert.equal(new URL(page.url()).pathname, '/console/')
  assert.equal(await page.locator('.navigation h2').first().innerText(), 'Build')
})
