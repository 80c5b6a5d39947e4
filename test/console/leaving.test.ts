// Leaving in a real browser: what is left is named, the session ends, and there is a way back.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PASSWORD } from '../support/app.ts'
import { skipWithout } from '../support/system-parts.ts'
import { connectApp } from './payers.ts'
import { audit, openConsole } from './support.ts'

const STEP_UP_MS = 16 * 60_000
const skip = skipWithout('chromium')
const stage = skip ? undefined : await openConsole()

async function arrive() {
  if (!stage) throw new Error('there is no browser')
  const person = await stage.register()
  return { ...(await stage.visit(person)), stage, person }
}

test('a developer who leaves reads what becomes of the earnings', { skip }, async () => {
  const { stage: service, person } = await arrive()
  const { call, developer } = await connectApp(service, person, { markup_percent: 25 })
  assert.equal(await call(), 200)
  const { page, open, complaints } = await service.visit(developer)
  await open('/account/leave')
  const left = page.locator('.left-sums')
  await left.getByText('Earnings not yet paid out').waitFor()
  await left.getByText('Earned with promotional credits, never paid out').waitFor()
  await audit(page, 'leaving with earnings')
  assert.deepEqual(complaints, [])
})

test('leaving names what is left, ends the session, and can be called off', { skip }, async () => {
  const { page, open, person, complaints } = await arrive()
  await open('/account/leave')
  await page.getByText('Balance, forfeited after 30 days').waitFor()
  await page.locator('.left-sums', { hasText: '$1.00' }).waitFor()
  stage?.clock.advance(STEP_UP_MS)
  await page.getByRole('button', { name: 'Close the account' }).click()
  const close = page.getByRole('dialog').getByRole('button', { name: 'Close the account' })
  assert.ok(await close.isDisabled())
  await audit(page, 'leave')
  await page.getByLabel(`Type “${person.email}” to confirm`).fill(person.email)
  await close.click()
  const proof = page.getByRole('dialog', { name: 'Is it you?' })
  await proof.getByLabel('Password').fill(PASSWORD)
  await proof.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { name: 'Your account is closed' }).waitFor()
  await audit(page, 'left')
  const reply = await stage?.request({ url: '/auth/me', headers: person.bearer })
  assert.equal(reply?.statusCode, 401)

  await page.getByRole('link', { name: 'Come back' }).click()
  await page.getByLabel('Email').fill(person.email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button').click()
  await page.getByText('Nothing will be deleted.').waitFor()
  await page.goto('/console/wallet')
  await page.getByLabel('Email', { exact: true }).fill(person.email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL('**/console/wallet')
  await page.locator('.balance-main', { hasText: '$1.00' }).waitFor()
  assert.deepEqual(
    complaints.filter((text) => !text.includes('403')),
    [],
  )
})
