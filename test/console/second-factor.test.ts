// The second factor in a real browser with its virtual authenticator: a passkey and an app are added, used for a step-up
// and removed, and what is shown once leaves no trace. Audits come last: axe ends the authenticator.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { PASSWORD } from '../support/app.ts'
import { addPasskey, addTotp, ask, codeOf } from '../support/factors.ts'
import { skipWithout } from '../support/system-parts.ts'
import { audit, openConsole } from './support.ts'

const STEP_UP_MS = 16 * 60_000
const skip = skipWithout('chromium')
const stage = skip ? undefined : await openConsole({}, 'localhost')

async function arrive() {
  if (!stage) throw new Error('there is no browser')
  const person = await stage.register()
  const visit = await stage.visit(person)
  const readFactors = async () => {
    const reply = await stage.request({ url: '/account/factors', headers: person.bearer })
    return reply.json<{ data: { kind: string; name: string }[]; recovery_codes_left: number }>()
  }
  return { ...visit, stage, person, readFactors }
}

/** A device that asks its owner for a finger, and gets it. */
async function addAuthenticator(page: Page) {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  const allow = (isUserVerified: boolean) =>
    session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified })
  return { allow }
}

async function tracesOf(page: Page): Promise<string> {
  return await page.evaluate<string>(
    `JSON.stringify([document.documentElement.outerHTML, {...localStorage}, {...sessionStorage}, history.state, location.href])`,
  )
}

test('a passkey is added with codes that are shown once, steps up, and is removed', {
  skip,
}, async () => {
  const { page, open, readFactors, complaints } = await arrive()
  const device = await addAuthenticator(page)
  await open('/account/second-factor')
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByLabel('Name').fill('My phone')
  await device.allow(false)
  await page.getByRole('button', { name: 'Create the passkey' }).click()
  await page.getByText('The passkey was not made.').waitFor()
  await device.allow(true)
  await page.getByRole('button', { name: 'Create the passkey' }).click()
  await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor()
  const codes = await page.locator('.codes li').allInnerTexts()
  assert.equal(codes.length, 10)
  await page.keyboard.press('Escape')
  await page.getByRole('alert').getByText('You have not kept the codes.').waitFor()
  await page.getByRole('button', { name: 'Keep it open' }).click()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download as text' }).click(),
  ])
  assert.equal(download.suggestedFilename(), 'svc-recovery-codes.txt')
  const file = await readFile(await download.path(), 'utf8')
  assert.ok(codes.every((code) => file.includes(code)))
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByText('10 of 10 left').waitFor()
  const traces = await tracesOf(page)
  assert.ok(codes.every((code) => !traces.includes(code)))
  assert.deepEqual(
    (await readFactors()).data.map(({ name }) => name),
    ['My phone'],
  )

  stage?.clock.advance(STEP_UP_MS)
  await page.getByRole('button', { name: 'Remove My phone' }).click()
  await page.getByText('your password alone signs in afterwards').waitFor()
  await page.getByRole('button', { name: 'Remove', exact: true }).click()
  await page.getByRole('dialog', { name: 'Is it you?' }).getByText('Use a passkey').click()
  await page.getByText('My phone is removed.').waitFor()
  await page.getByRole('heading', { name: 'Your password alone signs in' }).waitFor()
  assert.deepEqual((await readFactors()).data, [])
  assert.deepEqual(
    complaints.filter((text) => !text.includes('403')),
    [],
  )
})

test('an app is added by its picture or its secret, and signing in then asks for it', {
  skip,
}, async () => {
  const { page, open, person, stage: service, complaints } = await arrive()
  await open('/account/second-factor?add=app')
  await audit(page, 'before the picture')
  await page.getByRole('button', { name: 'Show the picture to scan' }).click()
  await page.getByAltText('The secret as a picture for the app').waitFor()
  const width = await page.evaluate<number>(
    `(async () => {
      const picture = document.querySelector('img.qr')
      await picture.decode()
      return picture.naturalWidth
    })()`,
  )
  assert.ok(width > 0)
  await page.getByRole('button', { name: 'Copy the secret' }).click()
  const secret = await page.evaluate<string>('navigator.clipboard.readText()')
  await page.getByLabel('Code').fill('000000')
  await page.getByRole('button', { name: 'Add the app' }).click()
  await page.locator('.field-error', { hasText: 'does not fit' }).waitFor()
  await audit(page, 'picture, wrong code')
  await page.getByLabel('Code').fill(codeOf(secret, service.clock.now()))
  await page.getByRole('button', { name: 'Add the app' }).click()
  await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor()
  await audit(page, 'recovery codes')
  await page.getByRole('button', { name: 'I have written them down' }).click()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.locator('.facts strong', { hasText: 'Authenticator app' }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Add an app' }).count(), 0)
  assert.ok(!(await tracesOf(page)).includes(secret))
  assert.deepEqual((await ask(service, person, PASSWORD)).factors, ['totp', 'recovery_code'])
  assert.deepEqual(
    complaints.filter((text) => !text.includes('400')),
    [],
  )
})

test('new recovery codes take the place of the old ones, after a step-up with a code', {
  skip,
}, async () => {
  const { page, open, person, stage: service, readFactors } = await arrive()
  const { secret, recovery_codes } = await addTotp(service, person)
  await addPasskey(service, person, 'Wunderbares Donaudampfschifffahrtsgesellschaftstelefon')
  await open('/account/second-factor')
  await audit(page, 'two factors')
  service.clock.advance(STEP_UP_MS)
  await page.getByRole('button', { name: 'Make new codes' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Make new codes' }).click()
  const proof = page.getByRole('dialog', { name: 'Is it you?' })
  await proof.getByLabel('Code of your authenticator app').fill(codeOf(secret, service.clock.now()))
  await proof.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor()
  const codes = await page.locator('.codes li').allInnerTexts()
  assert.equal(codes.length, 10)
  assert.ok(codes.every((code) => !recovery_codes?.includes(code)))
  assert.equal((await readFactors()).recovery_codes_left, 10)
})

test('a browser that cannot use a passkey here says so, and takes the code or the password', {
  skip,
}, async () => {
  const { page, open, person, stage: service } = await arrive()
  await addTotp(service, person)
  await addPasskey(service, person, 'My phone')
  // As in Safari before 18.4.
  await page.addInitScript('delete PublicKeyCredential.parseRequestOptionsFromJSON')
  await open('/account/second-factor')
  service.clock.advance(STEP_UP_MS)
  await page.getByRole('button', { name: 'Make new codes' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Make new codes' }).click()
  const proof = page.getByRole('dialog', { name: 'Is it you?' })
  await proof.getByText('This browser is too old to use your passkey here.').waitFor()
  assert.equal(await proof.getByRole('button', { name: 'Use a passkey' }).count(), 0)
  await proof.getByLabel('Code of your authenticator app').waitFor()
  await audit(page, 'step-up without passkeys')
  await proof.getByRole('button', { name: 'Use your password instead' }).click()
  await proof.getByLabel('Password').fill(PASSWORD)
  await proof.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor()
})
