// The pages as people meet them: in a browser, on a phone and on a desk, by clicking.

import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { openBrowser, SCREENS } from '../../test/support/browser.ts'
import { auditPage } from '../../test/support/page-audit.ts'
import { skipWithout } from '../../test/support/system-parts.ts'
import { type Platform, seedAccount, startPlatform, startReceiver } from './test-platform.ts'

/** Where pictures go when somebody wants to look. */
const PICTURES = process.env['SVC_PICTURES']
const skip = skipWithout('chromium')
let platform: Platform
let browser: Browser
/** Stands for the product that the pages lead back to. */
let product: Awaited<ReturnType<typeof startReceiver>>

before(async () => {
  if (skip !== false) return
  platform = await startPlatform()
  product = await startReceiver()
  browser = await openBrowser()
})
after(async () => {
  await Promise.all(browser?.contexts().map((context) => context.close()) ?? [])
  product?.close()
  await platform?.close()
})

async function open(url: string, screen: keyof typeof SCREENS): Promise<Page> {
  const context = await browser.newContext({ viewport: SCREENS[screen] })
  const page = await context.newPage()
  page.on('console', (message) => assert.fail(message.text()))
  await page.goto(url)
  return page
}

/** Nothing is wrong with the page, in either light and at any width. */
async function look(page: Page, name: string): Promise<void> {
  const size = page.viewportSize() ?? SCREENS.phone
  if (PICTURES !== undefined) {
    mkdirSync(PICTURES, { recursive: true })
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme })
      const file = path.join(PICTURES, `${name}-${size.width}-${colorScheme}.png`)
      await page.screenshot({ path: file, fullPage: true })
    }
  }
  assert.deepEqual(await auditPage(page), [], name)
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(size)
}

async function startOnboarding() {
  const { stripe } = platform
  const { id } = await stripe.accounts.create({
    controller: { stripe_dashboard: { type: 'express' } },
    capabilities: { transfers: { requested: true } },
    email: 'ada@example.com',
  })
  const link = () =>
    stripe.accountLinks.create({
      account: id,
      type: 'account_onboarding',
      refresh_url: `${product.url}?refresh`,
      return_url: `${product.url}?return`,
    })
  return { id, link }
}

async function startCheckout(cancel_url = `${product.url}?cancel`) {
  return await platform.stripe.checkout.sessions.create({
    mode: 'payment',
    line_items: [
      {
        price_data: {
          currency: 'usd',
          unit_amount: 2_500,
          product_data: { name: '25,000,000 credits' },
        },
        quantity: 2,
      },
    ],
    payment_intent_data: { setup_future_usage: 'off_session' },
    success_url: `${product.url}?session={CHECKOUT_SESSION_ID}`,
    cancel_url,
  })
}

for (const screen of ['phone', 'desktop'] as const) {
  test(`somebody is onboarded by clicking, and sees their money (${screen})`, {
    skip,
  }, async () => {
    const { id, link } = await startOnboarding()
    const page = await open((await link()).url, screen)
    await look(page, 'onboarding')
    await page.getByRole('button', { name: 'Leave for now, finish later' }).click()
    assert.match(page.url(), /\?return$/)
    assert.equal((await platform.stripe.accounts.retrieve(id)).details_submitted, false)
    await page.goto((await link()).url)
    await page.getByRole('radio', { name: 'Rejected for fraud' }).check()
    await page.getByRole('button', { name: 'Submit' }).click()
    const rejected = await platform.stripe.accounts.retrieve(id)
    assert.equal(rejected.requirements?.disabled_reason, 'rejected.fraud')
    const { url } = await link()
    await page.goto(url)
    await page.getByRole('button', { name: 'Submit' }).click()
    assert.equal((await platform.stripe.accounts.retrieve(id)).payouts_enabled, true)
    await page.goto(url)
    assert.match(page.url(), /\?refresh$/)
    const money = { amount: 123_456, currency: 'usd', destination: id }
    const first = await platform.stripe.transfers.create({
      ...money,
      description: 'Earnings of October',
    })
    await platform.stripe.transfers.createReversal(first.id, { amount: 56 })
    await platform.stripe.transfers.create(money)
    await page.goto((await platform.stripe.accounts.createLoginLink(id)).url)
    await look(page, 'dashboard')
    assert.equal(await page.getByRole('row').count(), 3)
    assert.ok(await page.getByText('$2,468.56').isVisible())
    await page.context().close()
  })

  test(`somebody pays by clicking, after a card was declined (${screen})`, { skip }, async () => {
    const session = await startCheckout()
    const page = await open(session.url ?? '', screen)
    await look(page, 'checkout')
    await page.getByRole('radio', { name: 'Visa 0002' }).check()
    await page.getByRole('button', { name: 'Pay $50.00' }).click()
    await page.getByRole('alert').getByText('Your card was declined.').waitFor()
    await look(page, 'declined')
    await page.getByRole('radio', { name: 'Visa 3155' }).check()
    await page.getByRole('button', { name: 'Pay $50.00' }).click()
    await look(page, 'question')
    await page.getByRole('button', { name: 'Yes, it is me' }).click()
    assert.equal(page.url(), `${product.url}?session=${session.id}`)
    const paid = await platform.stripe.checkout.sessions.retrieve(session.id)
    assert.equal(paid.payment_status, 'paid')
    await page.goto(session.url ?? '')
    await look(page, 'done')
    await page.context().close()
  })
}

test('somebody cancels, and comes to an expired page', { skip }, async () => {
  const session = await startCheckout()
  const page = await open(session.url ?? '', 'phone')
  await page.getByRole('link', { name: 'Cancel and go back' }).click()
  assert.match(page.url(), /\?cancel$/)
  await platform.stripe.checkout.sessions.expire(session.id)
  const response = await page.request.get(session.url ?? '')
  assert.equal(response.status(), 410)
  await page.context().close()
})

test('a card is saved by clicking', { skip }, async () => {
  const { id } = await platform.stripe.customers.create({ email: 'ada@example.com' })
  const session = await platform.stripe.checkout.sessions.create({
    mode: 'setup',
    currency: 'usd',
    customer: id,
    success_url: product.url,
  })
  const page = await open(session.url ?? '', 'phone')
  await look(page, 'setup')
  await page.getByRole('button', { name: 'Save' }).click()
  assert.equal((await platform.stripe.customers.listPaymentMethods(id)).data.length, 1)
  await page.context().close()
})

test('an address that leads nowhere says so', { skip }, async () => {
  const account = await seedAccount(platform)
  const base = platform.sandbox.urls.stripe
  const addresses = [`/stripe/setup/${account}/none`, '/stripe/pay/cs_test_none', '/stripe/nothing']
  for (const address of addresses) {
    const response = await fetch(`${base}${address}`)
    assert.equal(response.status, 404)
    assert.match(await response.text(), /<h1>Nothing here<\/h1>/)
  }
})
