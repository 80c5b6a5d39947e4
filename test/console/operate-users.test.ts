// Operators in a real browser: finding people, suspending and resuming them, giving credits once, limiting keys and
// apps, and the audit that shows it all. Nobody else finds these pages.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROUTES } from '../../console/src/routes.ts'
import { PASSWORD } from '../support/app.ts'
import { skipWithout } from '../support/system-parts.ts'
import { makeCustomer, operate, type Standing } from './operate-support.ts'
import { audit, openConsole, settle } from './support.ts'

const skip = skipWithout('chromium')
const stage = skip ? undefined : await openConsole()

async function openUser() {
  const visit = await operate(stage)
  const user = await makeCustomer(visit.stage)
  await visit.open(`/operate/users/${user.user_id}`)
  const standing = () => visit.read<Standing>(`/operator/users/${user.user_id}`)
  const acts = async () => {
    const query = `who=${encodeURIComponent(visit.operator.email)}`
    const { data } = await visit.read<{ data: { act: string; reason: string }[] }>(
      `/operator/audit?${query}`,
    )
    return data.map(({ act, reason }) => [act, reason])
  }
  return { ...visit, user, standing, acts }
}

test('a user is suspended and resumed with a reason, after a step-up, and the audit shows both', {
  skip,
}, async () => {
  const { page, user, standing, complaints } = await openUser()
  assert.equal(await page.title(), `${user.email} · svc`)
  stage?.clock.advance(16 * 60_000)
  await page.getByRole('button', { name: 'More acts' }).click()
  await page.getByRole('button', { name: 'Suspend the account' }).click()
  assert.equal(new URL(page.url()).search, '?act=suspend')
  await audit(page, 'suspend')
  const suspend = page.getByRole('button', { name: 'Suspend', exact: true })
  await suspend.click()
  assert.equal((await standing()).state, 'active', 'nothing happens without a reason')
  await page.getByLabel('Reason').fill('card fraud')
  await suspend.click()
  const proof = page.getByRole('dialog', { name: 'Is it you?' })
  await proof.getByLabel('Password').fill(PASSWORD)
  await proof.getByRole('button', { name: 'Continue' }).click()
  await page.getByText(`${user.email} is suspended.`).waitFor()
  await page.getByText(/Suspended since .*: card fraud/).waitFor()
  assert.deepEqual(
    [(await standing()).state, (await standing()).suspended_reason],
    ['suspended', 'card fraud'],
  )

  // The record is in the order of its times, and the clock stands still.
  stage?.clock.advance(1_000)
  await page.getByRole('button', { name: 'More acts' }).click()
  await page.getByRole('button', { name: 'Resume the account' }).click()
  await page.getByLabel('Reason').fill('it was their sister')
  await page.getByRole('button', { name: 'Resume', exact: true }).click()
  await page.getByText(`${user.email} is resumed.`).waitFor()
  assert.equal((await standing()).state, 'active')

  await page.getByRole('link', { name: 'What operators did to it' }).click()
  await page.waitForURL('**/operate/audit?subject=*')
  await page.locator('tbody tr').nth(1).waitFor()
  assert.deepEqual(await page.locator('tbody tr td:nth-child(1) button').allInnerTexts(), [
    'account resume',
    'account suspend',
  ])
  const [resumed, suspended] = await page.locator('tbody tr td:nth-child(5)').allInnerTexts()
  assert.deepEqual([resumed, suspended], ['it was their sister', 'card fraud'])
  await page.getByRole('button', { name: 'account suspend' }).click()
  await page.getByRole('complementary').getByText('127.0.0.1').waitFor()
  await audit(page, 'an act')
  assert.deepEqual(
    complaints.filter((text) => !text.includes('403')),
    [],
  )
})

test('a grant whose answer was lost gives once, however often its button is pressed', {
  skip,
}, async () => {
  const { page, user, standing, acts } = await openUser()
  const { balance_credits: before } = await standing()
  await page.getByRole('button', { name: 'Grant credits' }).click()
  await page.getByLabel('Amount').fill('five')
  await page.getByLabel('Reason').fill('ticket 2041')
  const grant = page.getByRole('button', { name: 'Grant', exact: true })
  await grant.click()
  await page.getByText('Enter dollars').waitFor()
  await page.getByLabel('Amount').fill('5.00')
  await page.getByRole('radio', { name: /Paid for elsewhere/ }).check()
  await audit(page, 'grant')
  await page.route('**/grant', async (route) => {
    await route.fetch()
    await route.abort()
  })
  await grant.click()
  await page.getByText('The service does not answer.').waitFor()
  assert.equal((await standing()).balance_credits, before + 5_000_000, 'it was done')
  await page.unroute('**/grant')
  await grant.click()
  const given = page.getByRole('dialog', { name: 'Credits are granted' })
  await given.getByText('5,000,000 credits').waitFor()
  await audit(page, 'granted')
  await given.getByRole('button', { name: 'Done' }).click()
  assert.equal((await standing()).balance_credits, before + 5_000_000)
  assert.deepEqual(await acts(), [['grant', 'ticket 2041']])

  await page.goto(`/console/operate/ledger?tab=chain&account=${user.user_id}`)
  await page.locator('tbody tr').nth(1).waitFor()
  const steps = (await page.locator('tbody tr td:nth-child(3)').allInnerTexts()).map((step) =>
    step.split(' → '),
  )
  for (const [index, [begin]] of steps.slice(0, -1).entries()) {
    assert.equal(begin, steps[index + 1]?.[1], 'a line begins where the one before it ended')
  }
  await audit(page, 'chain')
})

test('a key is limited, an app suspended and resumed, and sessions are ended', {
  skip,
}, async () => {
  const { page, user, acts, complaints } = await openUser()
  await page.getByRole('button', { name: 'Limit production' }).click()
  await page.getByLabel('Calls a minute').fill('60')
  await page.getByLabel('Reason').fill('floods')
  await audit(page, 'limit')
  await page.getByRole('button', { name: 'Set the limit' }).click()
  await page.getByText('production may make 60 calls a minute.').waitFor()

  for (const [word, done] of [
    ['Suspend', 'suspended'],
    ['Resume', 'resumed'],
  ]) {
    await page.getByRole('button', { name: `${word} ${user.app.name}` }).click()
    await page.getByLabel('Reason').fill('phishing')
    await page.getByRole('button', { name: `${word} the app` }).click()
    await page.getByText(`${user.app.name} is ${done}.`).waitFor()
  }

  await page.getByRole('button', { name: 'More acts' }).click()
  await page.getByRole('button', { name: 'End all sessions' }).click()
  await page.getByLabel('Reason').fill('lost phone')
  await page.getByRole('dialog').getByRole('button', { name: 'End all sessions' }).click()
  await page.getByText('1 session is ended.').waitFor()
  const gone = await stage?.request({ url: '/account', headers: user.bearer })
  assert.equal(gone?.statusCode, 401)
  // The clock stands still here, so that their order says nothing.
  assert.deepEqual(
    new Set((await acts()).map((act) => act.join(': '))),
    new Set([
      'account end-sessions: lost phone',
      'app resume: phishing',
      'app suspend: phishing',
      'key-limit: floods',
    ]),
  )
  assert.deepEqual(complaints, [])
})

test('people are found by how their address begins, apps by name, and a search is an address', {
  skip,
}, async () => {
  const { page, open, stage: here } = await operate(stage)
  const user = await makeCustomer(here, 'zoe@example.com')
  await open('/operate/users')
  await page.getByLabel('How the address begins, or the whole id').fill('zoe@')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/operate/users?query=zoe%40')
  await page.getByRole('link', { name: 'zoe@example.com' }).waitFor()
  await page.locator('tbody tr').nth(1).waitFor({ state: 'detached' })
  await page.getByLabel('How the address begins, or the whole id').fill('nobody-at-all')
  await page.getByRole('button', { name: 'Search', exact: true }).last().click()
  await page.getByRole('heading', { name: 'Nobody is found' }).waitFor()
  await page.goBack()
  await page.getByRole('link', { name: 'zoe@example.com' }).waitFor()
  await page.getByRole('tab', { name: 'Apps' }).click()
  await page.getByLabel(/How the name begins/).fill(user.app.client_id)
  await page.keyboard.press('Enter')
  await page.getByText(user.app.client_id).waitFor()
  await settle(page)
  await audit(page, 'apps')
})

test('the pages are not there for anybody else, and ask the API nothing', { skip }, async () => {
  assert.ok(stage)
  const { page, open, calls, complaints } = await stage.visit(await stage.register())
  await open('/no/such/page')
  const unknown = await page.locator('main').innerHTML()
  const pages = ROUTES.filter(({ seen_by }) => seen_by === 'operators')
  assert.ok(pages.length >= 8)
  for (const { path } of pages) {
    await open(path.replace(':id', '01989f2e-7c1a-7b3e-9d7e-2f6f0d1c5a10'))
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor()
    assert.equal(await page.locator('main').innerHTML(), unknown, path)
    assert.equal(await page.title(), 'Not found · svc')
  }
  assert.deepEqual(
    calls.filter((call) => call.includes('/operator')),
    [],
  )
  assert.deepEqual(complaints, [])
})
