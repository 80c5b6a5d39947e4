// The API keys page in a real browser: a key is created, shown once, changed, replaced and revoked.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PASSWORD } from '../support/app.ts'
import { skipWithout } from '../support/system-parts.ts'
import { audit, openConsole, settle } from './support.ts'

const skip = skipWithout('chromium')
const stage = skip ? undefined : await openConsole({ STEP_UP: 'always' })

async function arrive(keys: object[] = []) {
  if (!stage) throw new Error('there is no browser')
  const person = await stage.register()
  for (const key of keys) await stage.createKey(person.bearer, key)
  const visit = await stage.visit(person)
  await visit.open('/keys')
  const readKeys = async () => {
    const reply = await stage.request({ url: '/developers/keys', headers: person.bearer })
    return reply.json<{ data: Record<string, unknown>[] }>().data
  }
  return { ...visit, person, readKeys }
}

const LIMITED = { name: 'production', spend_limit_credits: 25_000_000, spend_limit_period: 'month' }

test('a key is shown once, guarded until it is copied, works, and leaves no trace', {
  skip,
}, async () => {
  const { page, complaints } = await arrive()
  await page.getByRole('button', { name: 'Create a key' }).click()
  assert.equal(new URL(page.url()).search, '?create=true')
  assert.equal(await page.locator(':focus').getAttribute('name'), 'name')
  await page.getByRole('textbox', { name: 'Name' }).fill('production')
  await page.getByLabel('Spend limit').fill('2.50')
  await audit(page, 'create')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('heading', { name: 'Your new key' }).waitFor()
  await audit(page, 'secret')

  await page.keyboard.press('Escape')
  await page.getByRole('alert').getByText('You have not copied the key').waitFor()
  await audit(page, 'guard')
  await page.getByRole('button', { name: 'Keep it open' }).click()
  assert.doesNotMatch(await page.content(), /sk-svc-\w{20}/)
  await page.getByRole('button', { name: 'Copy key' }).click()
  const secret = await page.evaluate<string>('navigator.clipboard.readText()')
  assert.match(secret, /^sk-svc-\w{20,}$/)
  const reply = await stage?.request({
    url: '/v1/key',
    headers: { authorization: `Bearer ${secret}` },
  })
  assert.equal(reply?.json().spend_limit_credits, 2_500_000)

  await page.keyboard.press('Escape')
  await page.locator('.cell-title', { hasText: 'production' }).waitFor()
  assert.equal(new URL(page.url()).search, '')
  assert.equal(await page.getByRole('dialog').count(), 0)
  const traces = await page.evaluate<string>(
    `JSON.stringify([document.documentElement.outerHTML, {...localStorage}, {...sessionStorage}, history.state, location.href])`,
  )
  assert.ok(!traces.includes(secret))
  assert.deepEqual(complaints, [])
})

test('a new secret hidden on the screen is filled into the calls that are copied', {
  skip,
}, async () => {
  const { page } = await arrive()
  await page.getByRole('button', { name: 'Create a key' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('batch')
  await page.getByRole('radio', { name: /Your users/ }).check()
  await page.getByLabel('Spend limit').fill('1')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('heading', { name: 'Your new key' }).waitFor()
  await page.getByRole('tab', { name: 'curl' }).focus()
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowRight')
  assert.equal(await page.locator(':focus').innerText(), 'Python')
  await page.getByRole('button', { name: 'Copy', exact: true }).click()
  const sample = await page.evaluate<string>('navigator.clipboard.readText()')
  assert.match(
    sample,
    /base_url="http:\/\/127\.0\.0\.1:\d+\/v1\/users\/YOUR-USER-ID", api_key="sk-svc-\w{20,}"/,
  )
})

test('a limit that is no amount is said at its field, and so is what the API refuses', {
  skip,
}, async () => {
  const { page, complaints } = await arrive()
  await page.getByRole('button', { name: 'Create a key' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('x')
  const limit = page.getByLabel('Spend limit')
  for (const [typed, said] of [
    ['ten', 'Enter dollars'],
    ['9007199254.740992', 'Enter dollars'],
    ['0', 'spend_limit_credits'],
  ] as const) {
    await limit.fill(typed)
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.locator('.field-error', { hasText: said }).waitFor()
    assert.equal(await page.locator(':focus').getAttribute('name'), 'spend_limit_credits')
    assert.equal(await limit.getAttribute('aria-invalid'), 'true')
  }
  await audit(page, 'refused')
  assert.deepEqual(
    complaints.filter((text) => !text.includes('400')),
    [],
  )
})

test('a key is renamed and limited, and the focus returns to the button of its row', {
  skip,
}, async () => {
  const { page, readKeys, complaints } = await arrive([LIMITED])
  await page.getByRole('button', { name: 'Change production' }).click()
  await page.getByRole('button', { name: 'Edit' }).click()
  const name = page.getByRole('textbox', { name: 'Name' })
  assert.equal(await name.inputValue(), 'production')
  assert.equal(await page.getByLabel('Spend limit').inputValue(), '25')
  await page.keyboard.press('Escape')
  assert.equal(await page.locator(':focus').getAttribute('aria-label'), 'Change production')
  await page.getByRole('button', { name: 'Change production' }).click()
  await page.getByRole('button', { name: 'Edit' }).click()
  await name.fill('batch')
  await page.getByLabel('Period').selectOption('day')
  await page.getByLabel('Last day (UTC)').fill('2030-01-31')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('batch is changed.').waitFor()
  const [key] = await readKeys()
  assert.deepEqual(
    [key?.['name'], key?.['spend_limit_credits'], key?.['spend_limit_period'], key?.['expires_at']],
    ['batch', 25_000_000, 'day', '2030-01-31T23:59:59.000Z'],
  )
  assert.deepEqual(complaints, [])
})

test('a secret is replaced after a step-up in a dialog of its own, and the old one lives on', {
  skip,
}, async () => {
  const { page, readKeys } = await arrive([LIMITED])
  stage?.clock.advance(16 * 60_000)
  await page.getByRole('button', { name: 'Change production' }).click()
  await page.getByRole('button', { name: 'Replace the secret' }).click()
  await page.getByRole('button', { name: 'Make a new secret' }).click()
  const proof = page.getByRole('dialog', { name: 'Is it you?' })
  await proof.getByLabel('Password').fill('wrong')
  await proof.getByRole('button', { name: 'Continue' }).click()
  await proof.getByText('This password is not right.').waitFor()
  await audit(page, 'step-up')
  await proof.getByLabel('Password').fill(PASSWORD)
  await proof.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { name: 'The new secret of production' }).waitFor()
  const [key] = await readKeys()
  assert.notEqual(key?.['previous_secret_until'], null)
})

test('a key is revoked only by its name', { skip }, async () => {
  const { page, readKeys, complaints } = await arrive([LIMITED, { ...LIMITED, name: 'other' }])
  await page.getByRole('button', { name: 'Change production' }).click()
  await page.getByRole('button', { name: 'Revoke' }).click()
  const revoke = page.getByRole('button', { name: 'Revoke the key' })
  await page.getByLabel('Type “production” to confirm').fill('productio')
  assert.ok(await revoke.isDisabled())
  await audit(page, 'revoke')
  await page.getByLabel('Type “production” to confirm').fill('production')
  await revoke.click()
  await page.getByText('production is revoked.').waitFor()
  await settle(page)
  assert.deepEqual(
    (await readKeys()).map((key) => key['name']),
    ['other'],
  )
  assert.equal(await page.locator('.cell-title', { hasText: 'production' }).count(), 0)
  assert.deepEqual(complaints, [])
})

test('a list of 120 keys comes by pages of 50 and never reads on by itself', { skip }, async () => {
  const many = Array.from({ length: 120 }, (_, index) => ({ ...LIMITED, name: `key ${index}` }))
  const { page, calls } = await arrive(many)
  assert.equal(await page.locator('tbody tr').count(), 50)
  await page.getByRole('button', { name: 'Load more' }).click()
  await page.locator('tbody:nth-of-type(2)').waitFor()
  assert.equal(await page.locator('tbody tr').count(), 100)
  await page.getByRole('button', { name: 'Load more' }).click()
  await page.locator('tbody:nth-of-type(3)').waitFor()
  assert.equal(await page.locator('tbody tr').count(), 120)
  assert.equal(calls.filter((call) => call === 'GET /developers/keys').length, 3)
})
