// The account's own pages in a real browser: address, password, sessions and the log.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PASSWORD } from '../support/app.ts'
import { skipWithout } from '../support/system-parts.ts'
import { connectApp } from './payers.ts'
import { audit, openConsole, settle } from './support.ts'

const STEP_UP_MS = 16 * 60_000
const NEW_PASSWORD = ' a new one, with blanks at its ends '
const skip = skipWithout('chromium')
const stage = skip ? undefined : await openConsole({ VERIFICATION_LIMIT_PER_HOUR: '1' })

async function arrive() {
  if (!stage) throw new Error('there is no browser')
  const person = await stage.register()
  const signIn = async (password = PASSWORD) => {
    const reply = await stage.post('/auth/login', { email: person.email, password })
    return reply.json<{ session_token: string }>().session_token
  }
  return { ...(await stage.visit(person)), stage, person, signIn }
}

type Visited = Awaited<ReturnType<typeof arrive>>

async function prove({ page }: Pick<Visited, 'page'>): Promise<void> {
  const proof = page.getByRole('dialog', { name: 'Is it you?' })
  await proof.getByLabel('Password').fill(PASSWORD)
  await proof.getByRole('button', { name: 'Continue' }).click()
}

test('the mail to verify is sent again, and too often is said where it was asked', {
  skip,
}, async () => {
  const { page, open } = await arrive()
  await open('/account')
  await page.getByText('Not verified').waitFor()
  await page.getByRole('button', { name: 'Send again' }).click()
  await page.getByText('A mail is on its way to').waitFor()
  await page.getByRole('button', { name: 'Send again' }).click()
  await page
    .getByRole('status')
    .getByText(/Too many/)
    .waitFor()
  await audit(page, 'account')
})

test('another address is asked for after a step-up, and both mails are announced', {
  skip,
}, async () => {
  const visit = await arrive()
  const { page, open, person } = visit
  await open('/account?change_email=true')
  stage?.clock.advance(STEP_UP_MS)
  await page.getByLabel('New address').fill('new@example.com')
  await audit(page, 'change of address')
  await page.getByRole('button', { name: 'Send both mails' }).click()
  await prove(visit)
  await page.getByRole('heading', { name: 'Two mails are on their way' }).waitFor()
  await page.getByText(`${person.email} stays your address`).waitFor()
})

test('a password is changed as it was typed, and a wrong present one is said at its field', {
  skip,
}, async () => {
  const { page, open, signIn } = await arrive()
  await open('/account')
  await page.getByRole('button', { name: 'Change the password' }).click()
  const dialog = page.getByRole('dialog')
  const change = dialog.getByRole('button', { name: 'Change the password' })
  await dialog.getByLabel('Present password').fill('not this one')
  await dialog.getByLabel('New password').fill(NEW_PASSWORD)
  await change.click()
  await dialog.getByText('This is not your present password.').waitFor()
  assert.equal(await page.locator(':focus').getAttribute('name'), 'current_password')
  await audit(page, 'change of password')
  await dialog.getByLabel('Present password').fill(PASSWORD)
  await change.click()
  await page.getByText('The password is changed.').waitFor()
  assert.match(await signIn(NEW_PASSWORD), /^sess_/)
})

test('one session is ended, then all others, and this browser stays signed in', {
  skip,
}, async () => {
  const { page, open, signIn, stage: service, complaints } = await arrive()
  const others = [await signIn(), await signIn(), await signIn()]
  await open('/account/sessions')
  assert.equal(await page.locator('tbody tr').count(), 4)
  await audit(page, 'sessions')
  await page.getByRole('button', { name: /^End / }).first().click()
  await page.getByRole('button', { name: 'End the session' }).click()
  await page.getByText('The session has ended.').waitFor()
  await page.getByRole('button', { name: 'Sign out everywhere else' }).click()
  await audit(page, 'end all others')
  await page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere else' }).click()
  await page.getByText('2 sessions have ended.').waitFor()
  assert.equal(await page.locator('tbody tr').count(), 1)
  await page.getByText('This browser').waitFor()
  for (const token of others) {
    const headers = { authorization: `Bearer ${token}` }
    assert.equal((await service.request({ url: '/auth/me', headers })).statusCode, 401)
  }
  assert.deepEqual(complaints, [])
})

test('a session that is ended elsewhere in the middle of work comes back to the same page', {
  skip,
}, async () => {
  const { page, open, person, signIn, stage: service } = await arrive()
  await open('/account/sessions?end=others')
  const elsewhere = { authorization: `Bearer ${await signIn()}` }
  await service.request({ method: 'DELETE', url: '/account/sessions', headers: elsewhere })
  await page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere else' }).click()
  await page.waitForURL('**/oauth/login?return_to=*')
  await page.getByLabel('Email', { exact: true }).fill(person.email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL('**/console/account/sessions?end=others')
})

test('the security log says what happened, by cursor, with sums and times as people read them', {
  skip,
}, async () => {
  const { page, open, person, stage: service, complaints, calls } = await arrive()
  const { app } = await connectApp(service, person, { name: 'Poem Machine' })
  const setCap = (cap_credits: number) =>
    service.request({
      method: 'PATCH',
      url: `/account/connections/${app.client_id}`,
      headers: { ...person.bearer, 'content-type': 'application/json' },
      payload: JSON.stringify({ cap_credits }),
    })
  await setCap(7_000_000)
  await open('/account/security-log')
  await page.getByText('The spending cap of an app was changed').waitFor()
  assert.match(await page.locator('tbody').innerText(), /\$7\.00/)
  await audit(page, 'security log')
  for (let i = 1; i <= 55; i++) await setCap(i * 1_000_000)
  calls.length = 0
  await page.reload()
  await settle(page)
  assert.equal(await page.locator('tbody tr').count(), 50)
  await page.getByRole('button', { name: 'Load more' }).click()
  await page.locator('tbody:nth-of-type(2)').waitFor()
  assert.equal(calls.filter((call) => call === 'GET /account/events').length, 2)
  assert.deepEqual(complaints, [])
})
