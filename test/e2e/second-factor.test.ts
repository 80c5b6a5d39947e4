// Passkeys as people use them: Chromium with its virtual authenticator, on a phone and on a desktop. Every page on the
// way is a good page and true to its own policy; that is looked at apart, because looking ends the authenticator.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { createApp, PASSWORD } from '../support/app.ts'
import { SCREENS } from '../support/browser.ts'
import { addPasskey, addTotp, codeOf } from '../support/factors.ts'
import { openPage, signIn } from '../support/oauth-browser.ts'
import { auditPage } from '../support/page-audit.ts'
import { skipWithout } from '../support/system-parts.ts'

const skip = skipWithout('chromium')
/** Passkeys are bound to the address, which must be known before the service is made. */
const port = await freePort()
const base = `http://localhost:${port}`
const service = await createApp({ settings: { PUBLIC_URL: base } })
await service.app.listen({ port, host: '127.0.0.1' })

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
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
  return {
    refuse: () =>
      session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false }),
  }
}

/** SVC_PICTURES names a folder for what was seen. */
async function photograph(page: Page, name: string): Promise<void> {
  const folder = process.env['SVC_PICTURES']
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
}

for (const [screen, viewport] of Object.entries(SCREENS)) {
  test(`on a ${screen}: a passkey is added, signs in, steps up and is removed; an app and its codes beside it`, {
    skip,
  }, async () => {
    const person = await service.register()
    const { page, context, complaints } = await openPage({ viewport })
    await context.addCookies([{ name: 'svc_session', value: person.token, url: base }])
    await addAuthenticator(page)
    const look = (name: string) => photograph(page, `${screen}-${name}`)

    await page.goto(`${base}/oauth/security`)
    await look('security-empty')
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByRole('button', { name: 'Create the passkey' }).waitFor()
    await look('new-passkey')
    await page.getByLabel('Name').fill('My phone')
    await page.getByRole('button', { name: 'Create the passkey' }).click()
    await page.getByRole('heading', { name: 'Recovery codes' }).waitFor()
    assert.equal(await page.locator('.codes li').count(), 10)
    await look('recovery-codes')
    await page.getByRole('link', { name: 'I have kept them' }).click()

    await page.getByRole('button', { name: 'Add an app' }).click()
    await look('new-app')
    const secret = ((await page.locator('.secret').textContent()) ?? '').replaceAll(' ', '')
    await page.getByLabel('Code').fill('000000')
    await page.getByRole('button', { name: 'Add the app' }).click()
    await page.getByRole('alert').waitFor()
    await look('new-app-refused')
    await page.getByLabel('Code').fill(codeOf(secret, service.clock.now()))
    await page.getByRole('button', { name: 'Add the app' }).click()
    await page.getByRole('status').waitFor()
    await look('security')

    await context.clearCookies()
    await page.goto(`${base}/oauth/login`)
    await signIn(page, person.email)
    await page.getByRole('heading', { name: 'One more step' }).waitFor()
    await look('second-factor')
    await page.getByText('Lost your device?').click()
    await page.getByLabel('Recovery code').fill('wrong')
    await page.getByRole('button', { name: 'Use the recovery code' }).click()
    await page.getByRole('alert').filter({ hasText: 'wrong' }).waitFor()
    await look('second-factor-refused')
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.waitForURL(`${base}/oauth/connections`)

    service.clock.advance(16 * 60_000)
    await page.goto(`${base}/oauth/security`)
    await page.getByRole('button', { name: 'Remove My phone' }).click()
    await page.getByRole('heading', { name: 'Is it you?' }).waitFor()
    await look('step-up')
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.waitForURL(`${base}/oauth/security`)
    await page.getByRole('button', { name: 'Remove My phone' }).click()
    await page.getByRole('status').waitFor()
    assert.equal(await page.getByText('My phone').count(), 0)
    assert.deepEqual(complaints, [])
    await context.close()
  })
}

test('every page of the second factor is a good page', { skip }, async () => {
  const [fresh, person] = [await service.register(), await service.register()]
  const { page, context, complaints } = await openPage()
  const good = async (name: string) => assert.deepEqual([name, await auditPage(page)], [name, []])
  const press = (name: string) => page.getByRole('button', { name }).click()
  const openAs = ({ token }: { token: string }) =>
    context.addCookies([{ name: 'svc_session', value: token, url: base }])

  await openAs(fresh)
  await page.goto(`${base}/oauth/security`)
  await good('security without factors')
  await press('Add a passkey')
  await page.getByRole('button', { name: 'Create the passkey' }).waitFor()
  await good('new passkey')
  await page.goto(`${base}/oauth/security`)
  await press('Add an app')
  await page.getByLabel('Code').fill('000000')
  await good('new app')
  await press('Add the app')
  await page.getByRole('alert').waitFor()
  await good('new app refused')

  await addPasskey(service, person, 'Wunderbares Donaudampfschifffahrtsgesellschaftstelefon & <b>')
  await addTotp(service, person)
  await openAs(person)
  await page.goto(`${base}/oauth/security`)
  await good('security')
  await press('Make new codes')
  await page.locator('.codes').waitFor()
  await good('recovery codes')
  await page.goto(`${base}/oauth/step-up?for=security`)
  await good('step-up')
  await page.getByLabel('Password').fill('a wrong one')
  await press('Continue with the password')
  await page.locator('#fault').waitFor()
  await good('step-up refused')
  await context.clearCookies()
  await page.goto(`${base}/oauth/login`)
  await signIn(page, person.email)
  await page.getByText('Lost your device?').click()
  await good('second factor')
  await page.getByLabel('Recovery code').fill('wrong')
  await press('Use the recovery code')
  await page.locator('#fault').waitFor()
  await good('second factor refused')
  assert.deepEqual(complaints, [])
  await context.close()
})

test('a passkey that its owner does not confirm says so, and the password still steps up', {
  skip,
}, async () => {
  const person = await service.register()
  const { page, context } = await openPage()
  await context.addCookies([{ name: 'svc_session', value: person.token, url: base }])
  const authenticator = await addAuthenticator(page)
  await page.goto(`${base}/oauth/security`)
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByRole('button', { name: 'Create the passkey' }).click()
  await page.getByRole('heading', { name: 'Recovery codes' }).waitFor()
  await authenticator.refuse()
  await page.goto(`${base}/oauth/step-up?for=security`)
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByText('The passkey was not used').waitFor()
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Continue with the password' }).click()
  await page.waitForURL(`${base}/oauth/security`)
  await context.close()
})

test('without script a passkey is not offered, and a code signs in', { skip }, async () => {
  const person = await service.register()
  const begun = await service.post('/account/factors/totp', {}, person.bearer)
  const { secret } = begun.json<{ secret: string }>()
  const code = codeOf(secret, service.clock.now())
  await service.post('/account/factors/totp/confirm', { code }, person.bearer)
  service.clock.advance(31_000)
  const { page, context, complaints } = await openPage({ javaScriptEnabled: false })
  await page.goto(`${base}/oauth/login`)
  await signIn(page, person.email)
  await page.getByLabel('Code of your authenticator app').fill(codeOf(secret, service.clock.now()))
  await page.getByRole('button', { name: 'Continue with the code' }).click()
  await page.waitForURL(`${base}/oauth/connections`)
  assert.deepEqual(complaints, [])
  await context.close()
})
