// The delivery log in a real browser: what failed, when it is tried next, what came back; filters and phones.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { describeProgress, ordinal } from '../../console/src/webhooks/endpoint/words.ts'
import { skipWithout } from '../support/system-parts.ts'
import { audit, settle } from './support.ts'
import { arriveAt, failFromNowOn, openWebhookStage } from './webhooks-support.ts'

const skip = skipWithout('chromium')
const stage = skip ? undefined : await openWebhookStage()
const MINUTE_MS = 60_000

const article = (page: Page) => page.getByRole('article')
const words = (text: string) => text.split(/\s+/).filter(Boolean).join(' ')

test('a failing receiver is shown with its answer and the next try in words, and takes what is sent again', {
  skip,
}, async () => {
  const { page, open, service, receiver, webhook, call, calls, complaints } = await arriveAt(stage)
  failFromNowOn(receiver)
  await call()
  await open(webhook.path)
  assert.match(words(await page.locator('.delivery-row').innerText()), /Waiting .* 2nd try/)
  await page.locator('.delivery-row').click()
  await article(page)
    .getByText(/^2nd try (within a minute|now)$/)
    .waitFor()
  const shown = await article(page).innerText()
  assert.match(shown, /Status 500[^]*after \d+ ms, 1st try[^]*answered 500[^]*out of order/)
  await article(page).getByText('Headers of the request').click()
  assert.match(await article(page).innerText(), /X-Svc-Signature/i)
  await audit(page, 'failing')

  await service.workLater(2 * MINUTE_MS)
  await page.reload()
  await settle(page)
  await article(page)
    .getByText(/^3rd try in 1\d minutes$/)
    .waitFor()
  assert.equal(await page.locator('.attempts li').count(), 2)
  receiver.answerWith((response) => response.end('thanks'))
  await article(page).getByRole('button', { name: 'Send again' }).click()
  await page.getByText('It is being sent again.').waitFor()
  await service.work()
  await article(page).getByText('At the 3rd try').waitFor()
  assert.match(await article(page).innerText(), /Status 200[^]*thanks/)
  await page.getByRole('button', { name: /^1st try/ }).click()
  assert.match(await article(page).innerText(), /out of order/)

  calls.length = 0
  await open('/webhooks')
  assert.match(words(await page.locator('tbody tr').innerText()), /33\.3 % of 3/)
  assert.equal(
    await page.getByRole('img').getAttribute('aria-label'),
    'Last 24 hours: 1 delivered, 2 failed attempts (33.3\u00a0%)',
  )
  assert.ok(calls.length <= 5, calls.join(', '))
  await audit(page, 'webhooks')
  assert.deepEqual(complaints, [])
})

test('filters are in the address: they survive a reload and Back, and an event is found by its id', {
  skip,
}, async () => {
  const { page, open, receiver, webhook, call } = await arriveAt(stage)
  await call()
  failFromNowOn(receiver)
  await call()
  await open(webhook.path)
  const rows = page.locator('.delivery-row')
  assert.equal(await rows.count(), 2)
  await page.getByRole('button', { name: 'Delivered', exact: true }).click()
  await settle(page)
  assert.equal(await rows.count(), 1)
  await page.getByLabel('Event', { exact: true }).selectOption('balance.low')
  await page.getByRole('heading', { name: 'No delivery fits' }).waitFor()
  await audit(page, 'filtered to nothing')
  await page.reload()
  await settle(page)
  assert.equal(new URL(page.url()).search, '?status=delivered&event_type=balance.low')
  assert.equal(await page.getByLabel('Event', { exact: true }).inputValue(), 'balance.low')
  await page.goBack()
  await rows.first().waitFor()
  assert.equal(new URL(page.url()).search, '?status=delivered')
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await rows.nth(1).waitFor()
  const event_id = receiver.received[0]?.event.id ?? ''
  await open(`/webhooks?event=${event_id}`)
  await page.locator('tbody a').click()
  await settle(page)
  assert.equal(await rows.count(), 1)
  await rows.click()
  await article(page).getByText(`"id": "${event_id}"`).waitFor()
  for (const day of ['2020-01-01', '2099-01-01']) {
    await open(`${webhook.path}?from=${day}`)
    assert.equal(await rows.count(), day === '2020-01-01' ? 2 : 0)
  }
})

test('on a phone a delivery takes the place of the list, and Back leads to its row', {
  skip,
}, async () => {
  const { page, open, webhook, call } = await arriveAt(stage)
  await call()
  await page.setViewportSize({ width: 390, height: 844 })
  await open(webhook.path)
  await page.locator('.delivery-row').click()
  await article(page).waitFor()
  assert.ok(await page.locator('.delivery-row').isHidden())
  assert.equal(await page.locator(':focus').innerText(), 'usage.completed')
  const boxes = await page.locator('.sent-and-answered > *').all()
  const [sent, answered] = await Promise.all(boxes.map((box) => box.boundingBox()))
  assert.ok(sent && answered && answered.y >= sent.y + sent.height)
  await page.getByRole('button', { name: 'All deliveries' }).click()
  assert.match(await page.locator(':focus').innerText(), /usage\.completed/)
})

test('a log of 60 deliveries comes by pages of 50 and never reads on by itself', {
  skip,
}, async () => {
  const { page, open, service, person, webhook, calls } = await arriveAt(stage)
  for (let count = 0; count < 60; count++) {
    await service.post(`/v1${webhook.path}/test`, {}, person.bearer)
  }
  await open(webhook.path)
  const rows = page.locator('.delivery-row')
  assert.equal(await rows.count(), 50)
  await page.getByRole('button', { name: 'Load more' }).click()
  await rows.nth(59).waitFor()
  assert.equal(await rows.count(), 60)
  assert.equal(calls.filter((call) => call.endsWith('/deliveries')).length, 2)
})

test('progress is told in words, whatever the number of the try', () => {
  const now = Date.now()
  const waiting = (attempt: number, wait_ms: number, is_active = true) =>
    describeProgress(
      {
        status: 'pending',
        test: false,
        attempt,
        next_attempt_at: new Date(now + wait_ms).toISOString(),
      },
      { now, is_active },
    )
  assert.equal(waiting(0, MINUTE_MS), 'Being sent')
  assert.equal(waiting(1, 30_000), '2nd try within a minute')
  assert.equal(waiting(2, 12 * MINUTE_MS), '3rd try in 12 minutes')
  assert.equal(waiting(3, 6 * 60 * MINUTE_MS), '4th try in 6 hours')
  assert.equal(waiting(2, MINUTE_MS, false), 'Not sent while paused')
  assert.deepEqual([11, 12, 13, 21, 22, 103].map(ordinal), [
    '11th',
    '12th',
    '13th',
    '21st',
    '22nd',
    '103rd',
  ])
})
