// Buying credits in a real browser: through the sandbox's checkout and back, automatically, and every state of a top-up.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chargeDue } from '../../src/topups/automatic-charges.ts'
import { skipWithout } from '../support/system-parts.ts'
import { openPayments } from './payers.ts'
import { audit, openConsole, settle } from './support.ts'

const skip = skipWithout('chromium')
const stage = skip ? undefined : await openConsole({ STRIPE_TIMEOUT_MS: '5000' })
const payments = stage && (await openPayments(stage))

async function arrive() {
  if (!stage || !payments) throw new Error('there is no browser')
  const person = await stage.register()
  const visit = await stage.visit(person)
  const read = async <Body>(url: string) => {
    const reply = await stage.request({ url, headers: person.bearer })
    return reply.json<Body>()
  }
  return { ...visit, payments, person, read }
}

test('an amount is bought on the sandbox checkout, and the way back shows it paid with its receipt', {
  skip,
}, async () => {
  const { page, open, payments: stripe, person, complaints, context } = await arrive()
  await open('/topups')
  const amount = page.getByLabel('Amount')
  for (const typed of ['4.99', '1000.01', '5.001', 'five', '9007199254740993']) {
    await amount.fill(typed)
    await page.getByRole('button', { name: 'Continue to payment' }).click()
    await page.locator('.field-error', { hasText: 'from $5.00 to $1,000.00' }).waitFor()
  }
  await audit(page, 'refused amount')
  await page.getByRole('button', { name: '$50', exact: true }).click()
  assert.equal(await amount.inputValue(), '50')
  await amount.fill('12.34')
  await stripe.control('/webhooks', { hold: true })
  await page.getByRole('button', { name: 'Continue to payment' }).click()
  await page.getByLabel('Visa 4242').check()
  // Another one that is never paid: what is said is about the payment that somebody comes back from.
  await stage?.post('/account/topups', { amount_usd: 50 }, person.bearer)
  await page.getByRole('button', { name: 'Pay $12.34' }).click()
  await page.waitForURL('**/console/topups?result=paid&topup_id=*')
  await page.getByText('Your payment is being confirmed').waitFor()
  await stripe.control('/webhooks/release', { order: 'as_made' })
  await stripe.control('/webhooks', { hold: false })
  await page.getByText('$12.34 is in your balance').waitFor()
  await page.locator('.pill', { hasText: '$13.34' }).waitFor()
  await audit(page, 'paid')
  const [receipt] = await Promise.all([
    context.waitForEvent('page'),
    page.getByRole('link', { name: /^Receipt/ }).click(),
  ])
  await receipt.getByText('$12.34').first().waitFor()
  await page.getByRole('button', { name: 'Close' }).click()
  assert.equal(new URL(page.url()).search, '')
  assert.deepEqual(complaints, [])
})

test('a quick amount of the wallet leads to the checkout, and leaving it charges nothing', {
  skip,
}, async () => {
  const { page, open, read, complaints } = await arrive()
  await open('/wallet')
  await page.getByRole('button', { name: '$20', exact: true }).click()
  await page.getByRole('button', { name: 'Pay $20.00' }).waitFor()
  await page.getByText('Cancel').click()
  await page.waitForURL('**/console/topups?result=canceled&topup_id=*')
  await page.getByText('You left the payment. Nothing was charged.').waitFor()
  assert.equal((await read<{ balance: number }>('/account')).balance, 1_000_000)
  assert.deepEqual(complaints, [])
})

type Auto = {
  enabled: boolean
  threshold_credits: number
  amount_usd: number
  monthly_ceiling_usd: number
}

test('automatic top-up is switched on within its bounds, changed, and switched off', {
  skip,
}, async () => {
  const { page, open, payments: stripe, person, read, complaints } = await arrive()
  await open('/topups')
  await page.getByText('Top up once with “Keep the payment method” ticked').waitFor()
  await stripe.buy(person, 5)
  await open('/topups')
  const part = page.getByRole('region', { name: 'Automatic top-up' })
  await part.getByText('visa 4242').waitFor()
  await part.getByLabel('When below').fill('2.50')
  await part.getByLabel('Charge').fill('10.10')
  await part.getByLabel('At most a month').fill('10.09')
  await part.getByRole('button', { name: 'Switch on' }).click()
  await part.locator('.field-error', { hasText: 'from $10.10 to $1,000,000.00' }).waitFor()
  await part.getByLabel('At most a month').fill('40')
  await part.getByRole('button', { name: 'Switch on' }).click()
  await page.getByText('Automatic top-up is on.').waitFor()
  const on = await read<Auto>('/account/auto-topup')
  assert.deepEqual(
    [on.enabled, on.threshold_credits, on.amount_usd, on.monthly_ceiling_usd],
    [true, 2_500_000, 10.1, 40],
  )
  await part.getByText('$0.00 of $40.00 charged this month (UTC)').waitFor()
  await audit(page, 'automatic')
  await part.getByRole('button', { name: 'Switch off' }).click()
  await page.getByText('Automatic top-up is off.').waitFor()
  assert.equal((await read<Auto>('/account/auto-topup')).enabled, false)
  assert.deepEqual(complaints, [])
})

test('a saved card that is declined switches automatic top-up off, and says why', {
  skip,
}, async () => {
  const { page, open, payments: stripe, person } = await arrive()
  if (!stage) return
  await stripe.buy(person, 5, 'fails_later')
  const wish = { threshold_credits: 30_000_000, amount_usd: 10, monthly_ceiling_usd: 100 }
  await stage.request({
    method: 'PUT',
    url: '/account/auto-topup',
    headers: { ...person.bearer, 'content-type': 'application/json' },
    payload: JSON.stringify({ enabled: true, ...wish }),
  })
  const parts = { ...stage.parts, wakeMailSender: () => {} }
  // The clock stands still, and what is of one instant has no order.
  stage.clock.advance(1)
  await chargeDue(parts, new AbortController().signal)
  await open('/topups')
  await page.getByText('It was switched off: the card was declined.').waitFor()
  const [latest = ''] = await page.locator('tbody tr').allInnerTexts()
  assert.match(latest, /Automatically[^]*Failed[^]*the card was declined/)
  await audit(page, 'switched off')
})

test('what was refunded or failed says so, in words', { skip }, async () => {
  const { page, open, payments: stripe, person } = await arrive()
  await stripe.buy(person, 20)
  await stripe.refundLast(500)
  await stripe.buy(person, 7)
  await stripe.refundLast(700)
  await stripe.control('/settings', { settle_after_s: 0 })
  await stripe.buy(person, 9, 'bank_fails')
  await stripe.settle()
  await open('/topups')
  await settle(page)
  const rows = await page.locator('tbody tr').allInnerTexts()
  assert.equal(rows.length, 3)
  assert.match(rows[0] ?? '', /Failed/)
  assert.match(rows[1] ?? '', /Refunded/)
  assert.match(rows[2] ?? '', /Paid[^]*\$5\.00 refunded/)
  await audit(page, 'states of top-ups')
})
