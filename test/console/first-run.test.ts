// A newcomer who reads nothing: from the address that the service prints to a call that is charged.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { PASSWORD } from '../support/app.ts'
import { skipWithout } from '../support/system-parts.ts'
import { audit, openConsole, settle, type Visit } from './support.ts'

const skip = skipWithout('chromium')
const stage = skip ? undefined : await openConsole()
const run = promisify(execFile)

async function register({ page }: Visit, email: string): Promise<void> {
  await page.goto('/')
  await page.waitForURL('**/oauth/login?return_to=*')
  await page.getByRole('link', { name: 'Create an account' }).click()
  await page.getByLabel('Email', { exact: true }).fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Create an account' }).click()
  await page.waitForURL('**/console/')
  await settle(page)
}

test('from / to a first charged call: register, verify, create a key, run the copied call', {
  skip,
}, async () => {
  if (!stage) return
  const visit = await stage.visit()
  const { page, complaints } = visit
  const email = 'newcomer@example.com'
  await register(visit, email)
  const list = page.getByRole('region', { name: 'Get started' })
  const step = (title: string) => list.getByRole('listitem').filter({ hasText: title })
  const isDone = async (title: string) => (await step(title).getByText(', done').count()) === 1
  await list.getByText('0 of 6 done').waitFor()
  await list.getByRole('heading', { name: 'When your users pay' }).waitFor()
  await audit(page, 'first run')

  await step('Verify your address').getByRole('button', { name: 'Send the link' }).click()
  await list.getByText('The sandbox sends no mail.').waitFor()
  await audit(page, 'link of the mail')
  await list.getByRole('link', { name: `Verify ${email}` }).click()
  await page.getByRole('button', { name: 'Confirm address' }).click()
  await page.getByRole('link', { name: 'To the console' }).click()
  await list.getByText('1 of 6 done').waitFor()
  assert.ok(await isDone('Verify your address'))

  await list.getByRole('link', { name: 'Create a key' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('first')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('heading', { name: 'Your new key' }).waitFor()
  await page.getByRole('button', { name: 'Copy', exact: true }).click()
  const command = await page.evaluate<string>('navigator.clipboard.readText()')
  await page.getByRole('button', { name: 'Copy key' }).click()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('link', { name: 'Overview', exact: true }).click()
  await list.getByText('2 of 6 done').waitFor()
  assert.equal(await isDone('Make a first call'), false)
  const before = await page.locator('.figures .figure [title]').first().getAttribute('title')

  // The tick comes by itself while the page is open.
  const { stdout } = await run('sh', ['-c', command.replace(/^curl /, 'curl -s ')])
  assert.ok(JSON.parse(stdout).svc.credits_used > 0, stdout)
  await list.getByText('3 of 6 done').waitFor({ timeout: 20_000 })
  await page.reload()
  await settle(page)
  assert.equal(
    await page.getByRole('table', { name: 'Latest calls' }).locator('tbody tr').count(),
    1,
  )
  assert.notEqual(
    before,
    await page.locator('.figures .figure [title]').first().getAttribute('title'),
  )
  assert.deepEqual(complaints, [])
})

test('from / to a first charged call in the playground by pressing only what the pages offer', {
  skip,
}, async () => {
  if (!stage) return
  const visit = await stage.visit()
  const { page, complaints } = visit
  await register(visit, 'presser@example.com')
  const press = async (role: 'link' | 'button', name: string) =>
    await page.locator('main').getByRole(role, { name, exact: true }).first().click()
  await press('link', 'Open the playground')
  await page.getByRole('heading', { name: 'Playground', level: 1 }).waitFor()
  await settle(page)
  await press('button', 'Send')
  const cost = page.locator('[data-exact]')
  await cost.waitFor()
  const charged = Number(await cost.getAttribute('data-exact'))
  assert.ok(charged > 0)
  const said = await cost.innerText()
  const [before = 0, after = 0] = (/Balance ([\d,]+) → ([\d,]+)/.exec(said) ?? [])
    .slice(1)
    .map((figure) => Number(figure.replaceAll(',', '')))
  assert.ok(before > 0, said)
  assert.equal(before - charged, after, said)
  await press('link', 'Receipt')
  await page.locator('[data-line="total"]').waitFor()
  assert.equal(
    await page.locator('[data-line="total"]').innerText(),
    charged.toLocaleString('en-US'),
  )
  await page.getByRole('link', { name: 'Overview', exact: true }).click()
  const list = page.getByRole('region', { name: 'Get started' })
  const step = list.getByRole('listitem').filter({ hasText: 'Make a first call' })
  await step.getByText(', done').waitFor({ state: 'attached' })
  assert.deepEqual(complaints, [])
})

test('the playground is one press away, and the later steps open with their act begun', {
  skip,
}, async () => {
  if (!stage) return
  const visit = await stage.visit()
  const { page } = visit
  await register(visit, 'builder@example.com')
  for (const [act, address] of [
    ['Create a key', '/console/keys?create=true'],
    ['Open the playground', '/console/playground'],
    ['Register an app', '/console/apps?create=true'],
    ['Add a webhook', '/console/webhooks?create=true'],
    ['Connect payouts', '/console/earnings'],
  ] as const) {
    const link = page.getByRole('region', { name: 'Get started' }).getByRole('link', { name: act })
    assert.equal(await link.getAttribute('href'), address)
  }
  await page.getByRole('link', { name: 'Open the playground' }).first().click()
  await page.getByRole('heading', { name: 'Playground', level: 1 }).waitFor()
})

test('ticks are of what is there, and a list that was hidden stays hidden', { skip }, async () => {
  if (!stage) return
  const person = await stage.register()
  const { page, open } = await stage.visit(person)
  await open('/')
  const list = page.getByRole('region', { name: 'Get started' })
  await list.getByText('0 of 6 done').waitFor()
  const { id } = await stage.createKey(person.bearer)
  await open('/')
  await list.getByText('1 of 6 done').waitFor()
  // A key that was made counts, also when it is gone.
  await stage.request({ method: 'DELETE', url: `/developers/keys/${id}`, headers: person.bearer })
  await open('/')
  await list.getByText('1 of 6 done').waitFor()
  await page.getByRole('button', { name: 'Hide this list' }).click()
  assert.equal(await list.count(), 0)
  await open('/')
  assert.equal(await list.count(), 0)
})
