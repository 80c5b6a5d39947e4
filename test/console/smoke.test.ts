// Every page of the route table opens: it has its heading and title, complains about nothing, asks the API at most five
// times, and can be used by everybody.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROUTES } from '../../console/src/routes.ts'
import { skipWithout } from '../support/system-parts.ts'
import { asListed, PAGE_READS } from './page-reads.ts'
import { audit, makeBelongings, openConsole, settle } from './support.ts'

const CALLS_MAX = 5
const skip = skipWithout('chromium')
const stage = skip ? undefined : await openConsole()

async function arrive() {
  if (!stage) throw new Error('there is no browser')
  const person = await stage.register()
  await stage.makeOperator(person)
  const { app, webhook_id } = await makeBelongings(stage, person)
  const ids = new Map([
    ['/apps/:id', app.id],
    ['/webhooks/:id', webhook_id],
    ['/operate/users/:id', person.user_id],
  ])
  const addressOf = (path: string) => path.replace(':id', ids.get(path) ?? '')
  const places = { app_id: app.id, webhook_id, user_id: person.user_id }
  return { ...(await stage.visit(person)), addressOf, places }
}

test('every page has a heading and a title, no complaint, at most five calls, and no fault that axe finds', {
  skip,
}, async () => {
  const { page, open, complaints, calls, reads, addressOf, places } = await arrive()
  for (const { path, title } of ROUTES) {
    calls.length = 0
    await open(addressOf(path))
    assert.equal(await page.locator('h1').count(), 1, path)
    assert.notEqual(await page.locator('h1').innerText(), '', path)
    if (path.includes(':')) assert.match(await page.title(), /\S · svc$/, path)
    else assert.equal(await page.title(), `${title} · svc`)
    assert.ok(calls.length <= CALLS_MAX, `${path} asked for ${calls.join(', ')}`)
    assert.deepEqual(complaints, [], path)
    await audit(page, path)
  }
  const asked = new Set(reads.map((url) => asListed(url, places)))
  assert.deepEqual([...asked].toSorted(), PAGE_READS.toSorted(), 'the list of what pages read')
})

test('the frame can be used by everybody, light and dark, at 1440, 390 and 320 px', {
  skip,
}, async () => {
  const { page, open } = await arrive()
  await open('/')
  await audit(page, 'frame', { with_frame: true })
})

test('title and focus move on navigation, and the skip link is the first stop', {
  skip,
}, async () => {
  const { page, open } = await arrive()
  await open('/')
  await page.keyboard.press('Tab')
  assert.equal(await page.locator(':focus').innerText(), 'Skip to content')
  await page.getByRole('link', { name: 'API keys' }).click()
  await settle(page)
  assert.equal(await page.title(), 'API keys · svc')
  assert.equal(await page.locator('main:focus').count(), 1)
  await page.goBack()
  await settle(page)
  assert.equal(await page.title(), 'Overview · svc')
})

test('the palette finds pages by name and things by id, with the keyboard alone', {
  skip,
}, async () => {
  const { page, open, addressOf, complaints } = await arrive()
  await open('/')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Page, act or id' }).fill('audit')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/console/operate/audit')
  await page.keyboard.press('Control+k')
  const webhook = addressOf('/webhooks/:id')
  await page
    .getByRole('combobox', { name: 'Page, act or id' })
    .fill(webhook.slice('/webhooks/'.length))
  await audit(page, 'palette')
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/console${webhook}`)
  assert.deepEqual(complaints, [])
})

test('pages of operators are not there for anybody else', { skip }, async () => {
  if (!stage) return
  const { page, open, complaints } = await stage.visit(await stage.register())
  await open('/operate/health')
  assert.equal(await page.locator('h1').innerText(), 'There is no such page')
  assert.equal(await page.getByRole('heading', { name: 'Operate' }).count(), 0)
  await open('/no/such/page')
  await audit(page, 'not found')
  assert.deepEqual(complaints, [])
})

test('the menu of a phone leads to every page, and the theme stays chosen without a flash', {
  skip,
}, async () => {
  const { page, open, complaints } = await arrive()
  await page.setViewportSize({ width: 390, height: 844 })
  await open('/')
  await page.getByRole('button', { name: 'Menu' }).click()
  await page.getByRole('dialog').getByRole('link', { name: 'Usage' }).click()
  await page.waitForURL('**/console/usage')
  assert.equal(await page.getByRole('dialog').count(), 0)
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('radio', { name: 'Dark' }).check()
  const reply = await page.reload()
  assert.match((await reply?.text()) ?? '', /<html lang="en" data-theme="dark" data-mode="sandbox"/)
  assert.deepEqual(complaints, [])
})

test('a session that ends in the middle of work leads back to the same page after signing in', {
  skip,
}, async () => {
  if (!stage) return
  const person = await stage.register()
  const { page, context, open } = await stage.visit(person)
  await open('/keys')
  await context.clearCookies()
  await page.getByRole('button', { name: 'Create a key' }).click()
  await page.waitForURL('**/oauth/login?return_to=*')
  await page.getByLabel('Email', { exact: true }).fill(person.email)
  await page.getByLabel('Password').fill('correct horse battery')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL('**/console/keys?create=true')
})
