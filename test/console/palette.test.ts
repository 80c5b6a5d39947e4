// The command palette and the list of shortcuts, with the keyboard alone.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skipWithout } from '../support/system-parts.ts'
import { audit, openConsole } from './support.ts'

const skip = skipWithout('chromium')
const stage = skip ? undefined : await openConsole()
const UUID = '01989f2e-7c1a-7b3e-9d7e-2f6f0d1c5a10'

async function arrive() {
  if (!stage) throw new Error('there is no browser')
  const visit = await stage.visit(await stage.register())
  await visit.open('/')
  const search = async (words: string) => {
    await visit.page.keyboard.press('Control+k')
    await visit.page.getByRole('combobox').fill(words)
  }
  const found = () => visit.page.getByRole('option').allInnerTexts()
  return { ...visit, search, found }
}

test('an act is begun from anywhere by a word of its name', { skip }, async () => {
  const { page, search } = await arrive()
  await search('create key')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/console/keys?create=true')
  await page.getByRole('dialog', { name: 'Create a key' }).waitFor()
})

test('an id says what it names by its prefix; a bare one may be several things', {
  skip,
}, async () => {
  const { page, search, found } = await arrive()
  for (const [id, first, count] of [
    ['wh_01989f2e7c1a7b3e9d7e2f6f0d1c5a10', 'Webhook', 1],
    ['evt_01989f2e7c1a7b3e9d7e2f6f0d1c5a10', 'Event', 1],
    ['acct_1Nv0FGQ9RKHgCVdK', 'Payout account', 1],
    [`svc_client_${'a-'.repeat(21)}b`, 'App', 2],
    [UUID, 'Receipt of the call', 4],
  ] as const) {
    await search(` ${id} `)
    const words = await found()
    assert.equal(words.length, count, id)
    assert.ok(words[0]?.startsWith(first), id)
    await page.keyboard.press('Escape')
  }
  await search(UUID)
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/console/usage?key_id=${UUID}`)
})

test('pages of operators are not found by others, and a secret is not looked for', {
  skip,
}, async () => {
  const { page, search, found } = await arrive()
  await search('audit')
  assert.deepEqual(await found(), [])
  await page.getByText('Nothing has that name or id.').waitFor()
  await page.getByRole('combobox').fill('sk-svc-4fT9xQ2mWb7LrK0sVn3EjH5uYc0aBcDe')
  await page.getByText('This is a secret.').waitFor()
  await audit(page, 'palette')
})

test('? lists the shortcuts outside of fields, and can be turned off', { skip }, async () => {
  const { page, search, complaints } = await arrive()
  await page.keyboard.press('?')
  const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await list.waitFor()
  await audit(page, 'shortcuts')
  await list.getByRole('checkbox').uncheck()
  await page.keyboard.press('Escape')
  await page.keyboard.press('?')
  assert.equal(await list.count(), 0)
  await search('shortcuts?')
  assert.equal(await page.getByRole('combobox').inputValue(), 'shortcuts?')
  await page.getByRole('combobox').fill('shortcuts')
  await page.keyboard.press('Enter')
  await list.waitFor()
  assert.deepEqual(complaints, [])
})

test('the theme is changed from the palette and stays', { skip }, async () => {
  const { page, search } = await arrive()
  await search('dark')
  await page.keyboard.press('Enter')
  assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark')
  await page.reload()
  assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark')
})
