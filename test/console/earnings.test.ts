// The earnings page in a real browser: where every credit is, the way to a payout account and back, payouts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { batch, earn, standInAt } from '../payouts/support.ts'
import { createOAuthApp } from '../support/oauth.ts'
import { skipWithout } from '../support/system-parts.ts'
import { audit, openConsole, settle } from './support.ts'

const skip = skipWithout('chromium')
const stage = skip ? undefined : await openConsole()
const DAY_MS = 24 * 3_600_000
const LIMITS = { timeout: 5_000, maxNetworkRetries: 0 }

function requireStage() {
  if (!stage) throw new Error('there is no browser')
  return stage
}

test('before anything is earned a sum of three lines shows what a call would bring', {
  skip,
}, async () => {
  const service = requireStage()
  const developer = await service.register()
  const { page, open, calls, complaints } = await service.visit(developer)
  await open('/earnings')
  assert.ok(calls.length <= 5, calls.join())
  await page.getByRole('heading', { name: 'Earn with an app' }).waitFor()
  await page.getByText('your markup, if it were 20 %').waitFor()
  await createOAuthApp(service, developer, { name: 'Poem Machine', markup_percent: 35 })
  await open('/earnings')
  const lines = await page
    .getByRole('table', { name: 'What a call brings' })
    .locator('td')
    .allInnerTexts()
  assert.deepEqual(lines, ['1,000', '350', '1,350'])
  await page.getByText('your markup, 35 % in Poem Machine').waitFor()
  await audit(page, 'nothing earned')
  assert.deepEqual(complaints, [])
})

/** What Stripe's page lets one choose, and the way back. */
async function finishAtStripe(page: Page, choice: string): Promise<void> {
  await page.getByRole('heading', { name: 'Set up payouts' }).waitFor()
  if (choice === 'leave') {
    await page.getByRole('button', { name: 'Leave for now, finish later' }).click()
  } else {
    await page.getByRole('radio', { name: choice }).check()
    await page.getByRole('button', { name: 'Submit' }).click()
  }
  await page.waitForURL(/\/console\/earnings/)
  await settle(page)
}

test('payouts are connected, continued, put right and then open Stripe’s dashboard', {
  skip,
}, async () => {
  const service = requireStage()
  const { page, open } = await service.visit(await service.register())
  await open('/earnings')
  await page.getByText('not connected').waitFor()
  await page.getByRole('button', { name: 'Connect payouts' }).click()
  await finishAtStripe(page, 'leave')
  await page.getByText('not finished').waitFor()
  const missing = page.getByRole('list', { name: 'What Stripe asks for' }).getByRole('listitem')
  assert.deepEqual(await missing.allInnerTexts(), [
    'A bank account or card to be paid to',
    'Your agreement to Stripe’s terms',
  ])
  await audit(page, 'not finished')
  await page.getByRole('button', { name: 'Continue at Stripe' }).click()
  await finishAtStripe(page, 'A document is missing')
  await page.getByText('payouts off').waitFor()
  assert.deepEqual(await missing.allInnerTexts(), ['A document that proves who you are'])
  await audit(page, 'payouts off')
  await page.getByRole('button', { name: 'Fix what is missing' }).click()
  await finishAtStripe(page, 'Everything is in order')
  await page.getByText('payouts on').waitFor()
  assert.equal(await missing.count(), 0)
  await page.getByRole('button', { name: 'Open the Stripe dashboard' }).click()
  await page.waitForURL((url) => !url.pathname.startsWith('/console'))
})

test('an account that Stripe rejected offers nothing to press', { skip }, async () => {
  const service = requireStage()
  const { page, open } = await service.visit(await service.register())
  await open('/earnings')
  await page.getByRole('button', { name: 'Connect payouts' }).click()
  await finishAtStripe(page, 'Rejected for fraud')
  await page.getByText('Stripe has rejected this account').waitFor()
  assert.equal(await page.locator('.payout-account button').count(), 0)
})

/** A developer whose payout account works, with earnings of 30 days in two apps. */
async function makeEarner() {
  const service = requireStage()
  const developer = await service.register()
  const stripe = standInAt(service.sandbox.urls.stripe)
  const headers = { cookie: `svc_session=${developer.token}` }
  const url = '/developers/connect/onboard'
  const reply = await service.request({ method: 'POST', url, headers })
  const { stripe_account_id } = reply.json<{ stripe_account_id: string }>()
  await stripe.control(`/accounts/${stripe_account_id}`, { outcome: 'complete' })
  await service.request({ url: '/developers/connect/status', headers })
  const apps = [
    await createOAuthApp(service, developer, { name: 'Poem Machine', markup_percent: 20 }),
    await createOAuthApp(service, developer, { name: 'Inbox Helper', markup_percent: 10 }),
  ]
  const { db } = service.parts
  const now = service.clock.now()
  for (const [at, days_ago] of [20, 12, 9, 3, 1].entries()) {
    await earn(db, developer.user_id, {
      amounts: [4_003_001n, 2_000_003n],
      at: new Date(now.getTime() - days_ago * DAY_MS),
      client_id: apps[at % 2]?.client_id ?? '',
    })
  }
  const pay = () =>
    batch(
      { db, database_url: service.database_url, stand_in: stripe },
      { now: service.clock.now(), limits: LIMITS },
    )
  return { service, developer, stripe, pay }
}

test('every nonzero part is in words, and the parts are the total under the double line', {
  skip,
}, async () => {
  const { service, developer, pay } = await makeEarner()
  await pay()
  const { page, open, calls, complaints } = await service.visit(developer)
  await open('/earnings')
  assert.ok(calls.length <= 5, calls.join())
  const table = page.getByRole('table', { name: /All you have earned/ })
  const read = async (part: string) =>
    (await table.locator(`${part} td`).allInnerTexts()).map((text) =>
      Number(text.replaceAll(',', '')),
    )
  const parts = await read('tbody')
  const [total] = await read('tfoot')
  assert.equal(total, 5 * 6_003_004)
  assert.equal(
    parts.reduce((sum, part) => sum + part, 0),
    total,
  )
  // Two of three are on hold; a tenth of the payout of the other three is in reserve.
  assert.ok(parts.includes(12_006_008), 'on hold')
  assert.ok(parts.includes(1_800_901), 'in reserve')
  assert.ok((await table.locator('.settled').innerText()).length > 0)
  await page.locator('.legend').getByText('Poem Machine, $18.01').waitFor()

  // 16,208,111 credits are 1,620 cents: the bank got no half one more.
  await page.getByRole('listitem').filter({ hasText: 'Paid out' }).getByText('$16.20').waitFor()
  const row = page.getByRole('table', { name: 'Payouts', exact: true }).locator('tbody tr')
  assert.match(
    await row.innerText(),
    /\$18\.01[\s\S]*\$1\.80[\s\S]*released[\s\S]*\$16\.20[\s\S]*paid/,
  )
  await audit(page, 'earnings')
  await page.getByRole('button', { name: '7 days' }).click()
  await settle(page)
  assert.equal(new URL(page.url()).search, '?period=7')
  await page.getByText('$12.01 in the last 7 days (UTC)').waitFor()
  assert.deepEqual(complaints, [])
})

test('a payout that failed says why, and the overview points to it', { skip }, async () => {
  const { service, developer, stripe, pay } = await makeEarner()
  await stripe.control('/faults', {
    method: 'POST',
    path: '/v1/transfers',
    fault: 'status',
    status: 400,
    code: 'insufficient_capabilities_for_transfer',
    message: 'Your destination account needs the transfers capability.',
    when: 'before',
  })
  await pay()
  const { page, open } = await service.visit(developer)
  await open('/earnings')
  const row = page.getByRole('table', { name: 'Payouts', exact: true }).locator('tbody tr')
  assert.match(
    await row.innerText(),
    /failed[\s\S]*transfers capability[\s\S]*goes out with the next payout/,
  )
  await audit(page, 'failed payout')
  await open('/')
  await page.getByText(/The payout of \$16\.20 failed/).waitFor()
})
