// The statement in a real browser: exact credits, a chain that closes, the receipt of a call, and the file.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { skipWithout } from '../support/system-parts.ts'
import { connectApp } from './payers.ts'
import { audit, openConsole, settle } from './support.ts'

const skip = skipWithout('chromium')
const stage = skip ? undefined : await openConsole()

type Row = { amount: number; balance_after: number; generation_id: string | null }

async function arrive(calls: number) {
  if (!stage) throw new Error('there is no browser')
  const person = await stage.register()
  const { call } = await connectApp(stage, person, { name: 'Poem Machine' })
  for (let i = 0; i < calls; i++) assert.equal(await call(), 200)
  const reply = await stage.request({
    url: '/account/transactions?limit=100',
    headers: person.bearer,
  })
  return { ...(await stage.visit(person)), rows: reply.json<{ data: Row[] }>().data }
}

/** As people read it: a real minus, a plus for what came in. */
function written(amount: number): string {
  const digits = Math.abs(amount).toLocaleString('en-US')
  return amount < 0 ? `\u2212${digits}` : `+${digits}`
}

test('every movement is shown to the credit, and each balance follows from the one before', {
  skip,
}, async () => {
  const { page, open, rows, complaints, calls } = await arrive(3)
  await open('/statement')
  const amounts = await page.locator('tbody td:nth-child(5)').allInnerTexts()
  const balances = await page.locator('tbody td:nth-child(6)').allInnerTexts()
  assert.deepEqual(
    amounts,
    rows.map((row) => written(row.amount)),
  )
  assert.deepEqual(
    balances,
    rows.map((row) => row.balance_after.toLocaleString('en-US')),
  )
  assert.match(
    (await page.locator('tbody td:nth-child(5) span').first().getAttribute('title')) ?? '',
    /^\u2212(<\$0\.01|\$0\.\d\d)$/,
  )
  assert.match(
    await page.locator('tbody tr').first().innerText(),
    /Call[^]*Poem Machine[^]*gpt-4o-mini/,
  )
  assert.equal(calls.filter((call) => call === 'GET /account/transactions').length, 1)
  await audit(page, 'statement')
  assert.deepEqual(complaints, [])
})

test('a call leads to its receipt, and Back to the statement', { skip }, async () => {
  const { page, open, rows } = await arrive(1)
  await open('/statement')
  await page.getByRole('link', { name: 'Call' }).click()
  await page.waitForURL(`**/console/usage?call=${rows[0]?.generation_id}`)
  await page.goBack()
  await page.waitForURL('**/console/statement')
})

test('a kind and days stand in the address: they survive a reload, Back takes them away, and the file has them', {
  skip,
}, async () => {
  const { page, open, complaints } = await arrive(2)
  await open('/statement')
  const titles = () => page.locator('tbody .cell-title').allInnerTexts()
  const all = await titles()
  await page.getByLabel('Kind of movement').selectOption('Welcome credits')
  await page.waitForURL('**/console/statement?kind=welcome')
  await settle(page)
  assert.deepEqual(await titles(), ['Welcome credits'])
  await page.reload()
  await settle(page)
  assert.deepEqual(await titles(), ['Welcome credits'])
  assert.equal(
    await page.getByRole('link', { name: 'Download as CSV' }).getAttribute('href'),
    '/account/transactions?kind=welcome&format=csv',
  )
  await page.getByLabel('From day, UTC').fill('2999-01-01')
  await page.waitForURL('**/console/statement?kind=welcome&from=2999-01-01')
  await page.getByRole('heading', { name: 'No such movement' }).waitFor()
  await audit(page, 'nothing found')
  await page.goBack()
  await settle(page)
  assert.deepEqual(await titles(), ['Welcome credits'])
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await page.waitForURL('**/console/statement')
  await settle(page)
  assert.deepEqual(await titles(), all)
  const made_up = 'kind=nonsense&from=soon'
  await open(`/statement?${made_up}`)
  assert.deepEqual(await titles(), all)
  assert.deepEqual(complaints, [])
})

test('the file has every movement', { skip }, async () => {
  const { page, open, rows, complaints } = await arrive(2)
  await open('/statement')
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download as CSV' }).click(),
  ])
  const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n')
  assert.equal(lines.length, rows.length + 1)
  assert.deepEqual(complaints, [])
})
