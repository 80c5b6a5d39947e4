// The pages of this folder's promises in a real browser, as wide as a phone and as a desk. With SVC_SCREENSHOTS set to a
// folder, a picture of each is left there.

import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { createApp, PASSWORD, sendQueuedMail } from '../support/app.ts'
import { openBrowser, SCREENS } from '../support/browser.ts'
import { linksFor } from '../support/mails.ts'
import { skipWithout } from '../support/system-parts.ts'

const skip = skipWithout('chromium')
const { SVC_SCREENSHOTS: folder } = process.env

test('confirming, setting a password, changing the address and coming back work on every screen', {
  skip,
}, async () => {
  const service = await createApp({ settings: { PASSWORD_POLICY: 'common' } })
  const base = await service.app.listen({ port: 0, host: '127.0.0.1' })
  const browser = await openBrowser()
  for (const [screen, viewport] of Object.entries(SCREENS)) {
    const page = await browser.newPage({ viewport })
    const { complaints, look } = observe(page, screen)
    const openNewest = async (email: string) => {
      await sendQueuedMail(service)
      const link = linksFor(service, email).at(-1)
      await page.goto(base + (link?.pathname ?? '') + (link?.search ?? ''))
    }
    const person = await service.register()
    const new_email = `new-${screen}@example.com`

    await service.post('/auth/send-verification', {}, person.bearer)
    await openNewest(person.email)
    await look('verify', 'Confirm your address')
    await page.fill('#password', 'not the password')
    await page.keyboard.press('Enter')
    await page.locator('[role=alert]').waitFor()
    await look('verify-wrong', 'Confirm your address')
    await page.fill('#password', PASSWORD)
    await page.click('text=Confirm address')
    await look('verified', 'Address confirmed')

    await service.post('/account/email', { new_email }, person.bearer)
    await openNewest(person.email)
    await look('email-old', 'Change of address')
    await page.click('text=Allow the change')
    await look('email-waiting', 'Thank you')
    await openNewest(new_email)
    await look('email-new', 'Change of address')
    await page.click('text=Use this address')
    await look('email-changed', 'Address changed')

    await service.post('/auth/forgot-password', { email: new_email })
    await openNewest(new_email)
    await look('reset', 'Set a new password')
    await page.fill('#new_password', 'password1')
    await page.keyboard.press('Enter')
    await page.locator('[role=alert]').waitFor()
    await look('reset-weak', 'Set a new password')
    await page.fill('#new_password', 'several words in a row')
    await page.check('[name=keep_connections]')
    await page.click('text=Set password')
    await look('reset-done', 'Password changed')

    const login = await service.post('/auth/login', {
      email: new_email,
      password: 'several words in a row',
    })
    const bearer = { authorization: `Bearer ${login.json().session_token}` }
    const left = await service.request({ method: 'DELETE', url: '/account', headers: bearer })
    assert.equal(left.statusCode, 200)
    await page.goto(`${base}/account/restore`)
    await look('restore', 'Keep your account')
    await page.fill('#email', new_email)
    await page.fill('#password', 'several words in a row')
    await page.click('text=Keep my account')
    await look('restored', 'Your account stays')
    assert.deepEqual(complaints, [])
    await page.close()
  }
})

test('sessions, events and “this was not me” are shown and work on every screen', {
  skip,
}, async () => {
  const service = await createApp()
  const base = await service.app.listen({ port: 0, host: '127.0.0.1' })
  const browser = await openBrowser()
  for (const [screen, viewport] of Object.entries(SCREENS)) {
    const page = await browser.newPage({ viewport })
    const { complaints, look } = observe(page, screen)
    const person = await service.register()
    await page.goto(`${base}/oauth/login`)
    await page.fill('#email', person.email)
    await page.fill('#password', PASSWORD)
    await page.keyboard.press('Enter')
    await page.waitForURL('**/oauth/connections')
    await look('connections', 'Connected apps')
    await page.click('text=Where you are signed in')
    await look('sessions', 'Where you are signed in')
    assert.equal(await page.locator('main section form').count(), 2)
    await page.click('text=Sign out everywhere else')
    await look('sessions-ended', 'Where you are signed in')
    const me = await service.request({ url: '/auth/me', headers: person.bearer })
    assert.equal(me.statusCode, 401)
    await page.goto(`${base}/oauth/events`)
    await look('events', 'What happened to your account')
    await sendQueuedMail(service)
    const link = linksFor(service, person.email).find((one) => one.pathname === '/auth/not-me')
    await page.goto(base + (link?.pathname ?? '') + (link?.search ?? ''))
    await look('not-me', 'This was not me')
    await page.locator('main button').click()
    await look('not-me-done', 'Your account is closed to others')
    assert.deepEqual(complaints, [])
    await page.close()
  }
})

/** Every page has its title, fits the screen, and makes the browser complain of nothing. */
function observe(page: Page, screen: string) {
  const complaints: string[] = []
  page.on('console', (message) => {
    const is_status = message.text().startsWith('Failed to load resource')
    if (['error', 'warning'].includes(message.type()) && !is_status) complaints.push(message.text())
  })
  const look = async (name: string, title: string) => {
    assert.equal(await page.locator('h1').textContent(), title)
    const [content = 0, width = 0] = await page.evaluate<number[]>(
      '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
    )
    assert.ok(content <= width, `${name} is ${content} wide on a screen of ${width}`)
    if (folder !== undefined) {
      await page.screenshot({ path: path.join(folder, `${name}-${screen}.png`), fullPage: true })
    }
  }
  return { complaints, look }
}
