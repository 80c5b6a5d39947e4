// Operators in a real browser: paying developers, checking the book, mending webhooks, and the pages that only show.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skipWithout } from '../support/system-parts.ts'
import { makeCustomer, makeDue, makeFailingWebhook, operate } from './operate-support.ts'
import { audit, openConsole, settle } from './support.ts'

const skip = skipWithout('chromium')
const stage = skip ? undefined : await openConsole()

type Rows<Row> = { data: Row[] }

test('a check of the book is made with a reason, and each proof is shown', { skip }, async () => {
  const { page, open, complaints, stage: here } = await operate(stage)
  await makeCustomer(here)
  await open('/operate/ledger')
  await page.getByText('Nothing was checked yet.').waitFor()
  await page.getByRole('button', { name: 'Check the book now' }).click()
  await page.getByLabel('Reason').fill('before the release')
  await audit(page, 'check')
  await page.getByRole('button', { name: 'Check', exact: true }).click()
  const report = page.getByRole('dialog', { name: 'The book is right' })
  await report.waitFor()
  assert.ok((await report.locator('tbody tr').count()) > 3)
  await audit(page, 'proofs')
  await report.getByRole('button', { name: 'Done' }).click()
  await page.getByText('The book is right: no check found a difference.').waitFor()
  await page.getByRole('cell', { name: 'The whole book since its last seal' }).waitFor()
  const accounts = page.getByRole('table', { name: 'Clearing accounts' })
  assert.equal(await accounts.locator('tbody tr').last().innerText(), 'sum\t0')
  await settle(page)
  await audit(page, 'book')
  await page.getByRole('tab', { name: 'Open holds' }).click()
  await page.getByRole('heading', { name: 'Nothing is reserved' }).waitFor()
  await audit(page, 'holds')
  assert.deepEqual(complaints, [])
})

test('a dry run says who gets how much, a changed total is said, and the run is made by typing it', {
  skip,
}, async () => {
  const { page, open, read, stage: here, operator } = await operate(stage)
  const first = await makeDue(here, 20_000_000n)
  await open('/operate/payouts')
  await page.getByRole('button', { name: 'Dry run' }).click()
  const dialog = page.getByRole('dialog', { name: 'Dry run' })
  await dialog.getByText('A run now would pay $18.00 to 1 developer').waitFor()
  await dialog.getByRole('link', { name: `${first}@example.com` }).waitFor()
  await audit(page, 'dry run')
  assert.deepEqual((await read<Rows<object>>('/operator/payouts')).data, [], 'nothing is paid')

  const total = dialog.getByLabel('Type the total to pay it')
  await dialog.getByLabel('Reason').fill('asked for by Olga')
  await total.fill('17.99')
  await dialog.getByRole('button', { name: 'Pay $18.00' }).click()
  await dialog.getByText('The total is $18.00.').waitFor()
  assert.deepEqual((await read<Rows<object>>('/operator/payout-runs')).data, [])

  await makeDue(here, 10_000_000n)
  await total.fill('18.00')
  await dialog.getByRole('button', { name: 'Pay $18.00' }).click()
  await dialog.getByText('The total has changed from $18.00 to $27.00. Nothing was paid.').waitFor()
  await audit(page, 'changed total')
  assert.deepEqual((await read<Rows<object>>('/operator/payouts')).data, [], 'nothing is paid yet')
  assert.equal(await dialog.getByLabel('Reason').inputValue(), 'asked for by Olga')

  await total.fill('27')
  await dialog.getByRole('button', { name: 'Pay $27.00' }).click()
  await page.getByText('The run has begun.').waitFor()
  const runs = page.getByRole('table', { name: 'Payout runs' })
  await runs.getByText('Done').waitFor()
  await runs.getByText('$27.00').waitFor()
  assert.deepEqual(
    (await read<Rows<{ status: string }>>('/operator/payouts')).data.map(({ status }) => status),
    ['paid', 'paid'],
  )
  await page.getByRole('table', { name: 'Payouts', exact: true }).getByText('$18.00').waitFor()
  await audit(page, 'payouts')
  const who = encodeURIComponent(operator.email)
  const { data } = await read<Rows<{ act: string; reason: string }>>(`/operator/audit?who=${who}`)
  assert.deepEqual(
    data.map(({ act, reason }) => [act, reason]),
    [['payouts run', 'asked for by Olga']],
  )
  await page.getByRole('button', { name: 'Dry run' }).click()
  await page.getByText('Nobody is due now.').waitFor()
})

test('transfers in doubt stand first, and the filter is in the address', { skip }, async () => {
  const { page, open, read, stage: here } = await operate(stage)
  const { data } = await read<Rows<{ id: string; developer_id: string }>>('/operator/payouts')
  assert.ok(data[0])
  await here.parts.db.run(
    { name: 'test.doubt', text: `update payout set status = 'pending' where id = $1` },
    [data[0].id],
  )
  await open('/operate/payouts?status=failed')
  assert.equal(await page.locator('main h2').first().innerText(), 'In doubt')
  await page
    .getByRole('table', { name: 'Payouts in doubt' })
    .getByRole('link', { name: `${data[0].developer_id}@example.com` })
    .waitFor()
  await page.getByRole('heading', { name: 'No payout has this status' }).waitFor()
  await page.getByLabel('Status').selectOption('pending')
  await page.waitForURL('**/operate/payouts?status=pending')
  assert.equal(await page.getByRole('table').count(), 3)
  await page.goBack()
  await page.waitForURL('**/operate/payouts?status=failed')
})

test('a failing webhook is seen, sent again and paused with a reason', { skip }, async () => {
  const { page, open, read, complaints, stage: here } = await operate(stage)
  const { id, url, developer } = await makeFailingWebhook(here)
  await open('/operate/webhooks')
  const failing = page.getByRole('table', { name: 'Failing webhooks' })
  await failing.getByRole('link', { name: developer.email }).waitFor()
  const change = failing.getByRole('button', { name: `Change ${url}` })
  await change.click()
  await page.getByRole('button', { name: 'Send again' }).click()
  assert.equal(new URL(page.url()).searchParams.get('recover'), id)
  await page.getByLabel('Reason').fill('their outage is over')
  await audit(page, 'recover')
  await page.getByRole('dialog').getByRole('button', { name: 'Send again' }).click()
  await page.getByText('queued again.').waitFor()
  // The record is in the order of its times, and the clock stands still.
  here.clock.advance(1_000)
  await change.click()
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByLabel('Reason').fill('floods itself')
  await audit(page, 'pause')
  await page.getByRole('button', { name: 'Switch it off' }).click()
  await page.getByText('The webhook is switched off.').waitFor()
  await failing.getByText('Switched off').waitFor()
  await audit(page, 'webhooks')
  const { data } = await read<Rows<{ act: string; reason: string }>>(
    `/operator/audit?subject=${encodeURIComponent(id)}`,
  )
  assert.deepEqual(
    data.map(({ act, reason }) => [act, reason]),
    [
      ['webhook pause', 'floods itself'],
      ['webhook recover', 'their outage is over'],
    ],
  )
  assert.deepEqual(complaints, [])
})

test('health and models show the traffic of everybody, with its period in each label', {
  skip,
}, async () => {
  const { page, open, read, stage: here } = await operate(stage)
  await makeCustomer(here)
  type Overview = { traffic: { day: { requests: number; errors: number } } }
  const { traffic } = await read<Overview>('/operator/overview')
  await open('/operate/health')
  const figureOf = (label: string) =>
    page.locator('.op-figures > div', { hasText: label }).locator('.op-figure').innerText()
  assert.equal(await figureOf('Calls, last 24 hours'), String(traffic.day.requests))
  assert.equal(await figureOf('Errors, last 24 hours'), String(traffic.day.errors))
  assert.ok(traffic.day.requests > 0 && traffic.day.errors > 0)
  await page.getByRole('table', { name: 'Errors by code' }).getByRole('link').first().waitFor()
  await audit(page, 'health')

  await open('/operate/models?name=gpt-4o-mini')
  const row = page.locator('tbody tr', { hasText: 'gpt-4o-mini' }).first()
  type Models = Rows<{ name: string; day: { requests: number }; pricing: { input: number } }>
  const model = (await read<Models>('/operator/models')).data.find(
    ({ name }) => name === 'gpt-4o-mini',
  )
  assert.ok(model)
  assert.equal(await row.locator('td').nth(2).innerText(), String(model.day.requests))
  await row.getByRole('button', { name: 'gpt-4o-mini', exact: true }).click()
  await page.waitForURL('**/operate/models?name=gpt-4o-mini&model=gpt-4o-mini')
  await page.getByRole('complementary').getByText('Cache write, 1 hour').waitFor()
  await audit(page, 'a model')
})
