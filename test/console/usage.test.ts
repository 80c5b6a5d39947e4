// The usage page in a real browser: sums, filters, receipts by keyboard, and the wait for the first call.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { foldUsage } from '../../src/usage/jobs.ts'
import { connectHosted, createOAuthApp } from '../support/oauth.ts'
import { skipWithout } from '../support/system-parts.ts'
import { audit, openConsole, settle } from './support.ts'

const skip = skipWithout('chromium')
const stage = skip ? undefined : await openConsole()

type Prompt = { model?: string; prompt?: string; max_tokens?: number }

async function arrive(prompts: readonly Prompt[] = []) {
  if (!stage) throw new Error('there is no browser')
  const person = await stage.register()
  const { key, id: key_id } = await stage.createKey(person.bearer, { name: 'production' })
  const call = async (prompt: Prompt, more: Record<string, string> = {}) => {
    const { model = 'gpt-4o-mini', prompt: content = 'Say hello.', ...rest } = prompt
    const body = { model, messages: [{ role: 'user', content }], ...rest }
    stage.clock.advance(1_000)
    const reply = await stage.post('/v1/chat/completions', body, {
      authorization: `Bearer ${key}`,
      ...more,
    })
    await stage.parts.failed_calls.flush(stage.parts.db)
    return reply
  }
  for (const prompt of prompts) await call(prompt)
  await foldUsage({ ...stage.parts, wakeMailSender: () => {} })
  const visit = await stage.visit(person)
  return { ...visit, person, key_id, call }
}

const MIXED: readonly Prompt[] = [
  { model: 'gpt-4o', prompt: '[[sandbox:tokens=400]] hello' },
  { model: 'anthropic/claude-sonnet-4', prompt: '[[sandbox:tokens=300]] hello', max_tokens: 500 },
  { model: 'google/gemini-2.5-flash' },
  { prompt: '[[sandbox:500]]' },
  { model: 'gpt-4o-mini' },
]

test('sums, chart and list show the same calls, and every sum says its period', {
  skip,
}, async () => {
  const { page, open, calls, complaints } = await arrive(MIXED)
  await open('/usage')
  assert.ok(calls.length <= 5, calls.join(', '))
  await page.getByText('Spend, last 30 days (UTC)').waitFor()
  assert.equal(await page.locator('[data-total="requests"]').innerText(), '5')
  await page.getByText('1 failed, free of charge').waitFor()
  assert.equal(await page.locator('.calls tbody tr').count(), 5)
  const chart = page.getByRole('group', { name: /^Spend by model, last 30 days/ })
  await chart.focus()
  await page.keyboard.press('End')
  assert.match(await page.locator('.chart-status').innerText(), /: \$0\.0\d · gpt-4o|anthropic/)
  await audit(page, 'usage')
  await page.getByLabel('Show').selectOption('requests')
  await page.getByLabel('By', { exact: true }).selectOption('key')
  await page.getByText('production').first().waitFor()
  await settle(page)
  assert.equal(await page.locator('.shares').innerText(), 'production\n5\n100 %')
  await page.getByLabel('By', { exact: true }).selectOption('error')
  await page.locator('.shares', { hasText: 'No error' }).waitFor()
  assert.deepEqual(complaints, [])
})

test('filters are in the address: they survive reload and Back, and lead to a CSV of the same calls', {
  skip,
}, async () => {
  const { page, open, complaints } = await arrive(MIXED)
  await open('/usage')
  await page.getByRole('button', { name: 'gpt-4o', exact: true }).click()
  await settle(page)
  await page.locator('.calls tbody tr').nth(1).waitFor({ state: 'detached' })
  assert.equal(new URL(page.url()).search, '?model=gpt-4o')
  await page.reload()
  await settle(page)
  assert.equal(await page.locator('.calls tbody tr').count(), 1)
  const href = await page.getByRole('link', { name: 'Download CSV' }).getAttribute('href')
  const csv = await (await page.request.get(href ?? '')).text()
  assert.equal(csv.trim().split('\r\n').length, 2)
  assert.match(csv, /,gpt-4o,/)
  await page.getByLabel('Status').selectOption('failed')
  await page.getByRole('heading', { name: 'No call fits these filters' }).waitFor()
  await audit(page, 'filtered to nothing')
  await page.goBack()
  await page.locator('.calls tbody tr').first().waitFor()
  await page.getByRole('button', { name: 'Remove the filter Model gpt-4o' }).click()
  await page.locator('.calls tbody tr').nth(4).waitFor()
  assert.deepEqual(complaints, [])
})

test('a receipt shows buckets times prices, one rounding and the balance; the arrow keys walk the calls', {
  skip,
}, async () => {
  const { page, open, complaints, person } = await arrive(MIXED)
  await open('/usage')
  await page.locator('[data-call]').first().click()
  const panel = page.getByRole('complementary', { name: 'Receipt' })
  await panel.locator('[data-line="total"]').waitFor()
  const id = new URL(page.url()).searchParams.get('call') ?? ''
  const found = await page.request.get(`/v1/generations/${id}`)
  const { receipt } = await found.json()
  assert.equal(
    await panel.locator('[data-line="total"]').innerText(),
    receipt.credits_used.toLocaleString('en-US'),
  )
  assert.equal(Math.ceil(receipt.millionths / 1_000_000), receipt.cost_credits)
  await panel.getByText('Call 1 of the 5 shown').waitFor()
  await audit(page, 'receipt')

  await page.keyboard.press('ArrowDown')
  await panel.getByText('Call 2 of the 5 shown').waitFor()
  await panel.getByText('Nothing was charged.').waitFor()
  assert.equal(await page.locator('[data-call][aria-current]').count(), 1)
  await audit(page, 'receipt of a failed call')
  await page.keyboard.press('ArrowUp')
  await panel.getByText('Call 1 of the 5 shown').waitFor()
  await panel.getByRole('button', { name: 'Copy the id: generation' }).click()
  assert.equal(await page.evaluate<string>('navigator.clipboard.readText()'), id)
  await page.keyboard.press('Escape')
  assert.equal(await panel.count(), 0)
  assert.equal(await page.locator(':focus').getAttribute('data-call'), id)
  assert.deepEqual(complaints, [])

  const other = await stage?.visit(person)
  await other?.open(`/usage?call=${id}`)
  await other?.page.locator('[data-line="total"]').waitFor()
})

test('a call that a user of an app paid for shows its markup, and no balance of theirs', {
  skip,
}, async () => {
  if (!stage) return
  const { page, open, person, complaints } = await arrive()
  const app = await createOAuthApp(stage, person, { markup_percent: 20 })
  const user = await stage.register()
  await connectHosted(stage, { app, user, external_user_id: 'ext-1' })
  const { key } = await stage.createKey(person.bearer, { billing_mode: 'user', name: 'for users' })
  const body = {
    model: 'gpt-4o',
    messages: [{ role: 'user', content: '[[sandbox:tokens=500]] hello' }],
  }
  const headers = { authorization: `Bearer ${key}`, 'x-svc-user': 'ext-1' }
  const reply = await stage.post('/v1/chat/completions', body, headers)
  assert.equal(reply.statusCode, 200, reply.body)
  await open('/usage?by=user')
  await page.getByText(/\$0\.00 by you, .* by your users/).waitFor()
  await page.locator('[data-call]').click()
  const markup = await page.locator('[data-line="markup"]').innerText()
  assert.ok(Number(markup.replaceAll(',', '')) > 0)
  assert.equal(await page.locator('[data-line="before"]').count(), 0)
  await page.locator('.facts', { hasText: 'ext-1' }).waitFor()
  assert.deepEqual(complaints, [])
})

test('before the first call the page shows one ready to run and turns into the list when it comes', {
  skip,
}, async () => {
  const { page, open, call, complaints } = await arrive()
  await open('/usage')
  await page.getByRole('heading', { name: 'Waiting for your first call' }).waitFor()
  await page.getByText('"model": "gpt-4o-mini"').waitFor()
  await audit(page, 'waiting')
  await call({})
  await page.locator('.calls tbody tr').waitFor()
  await page.locator('[data-total="requests"]', { hasText: '1' }).waitFor()
  assert.deepEqual(complaints, [])
})

test('what the API refuses in a filter is said, with a way out', { skip }, async () => {
  const { page, open } = await arrive(MIXED.slice(0, 1))
  await open('/usage?key_id=nonsense')
  await page.getByRole('alert').first().getByText('query.key_id is no id of a key.').waitFor()
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await page.locator('.calls tbody tr').waitFor()
})
