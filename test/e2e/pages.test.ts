// Our pages in a real browser, as wide as a phone and as a desk: nothing overflows, nothing is blocked by the
// page's own policy, nothing is asked of another host.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp, PASSWORD, sendQueuedMail } from '../support/app.ts'
import { openBrowser, SCREENS } from '../support/browser.ts'
import { skipWithout } from '../support/system-parts.ts'

const skip = skipWithout('chromium')

test('the documentation fits every screen and loads only its own style', { skip }, async () => {
  const { app } = await createApp({ settings: { RATE_LIMIT_PER_MINUTE: '100000' } })
  const base = await app.listen({ port: 0, host: '127.0.0.1' })
  const browser = await openBrowser()
  for (const viewport of Object.values(SCREENS)) {
    const page = await browser.newPage({ viewport })
    const complaints: string[] = []
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
    })
    page.on('requestfailed', (request) => complaints.push(request.url()))
    const asked = new Set<string>()
    page.on('request', (request) => asked.add(new URL(request.url()).origin))
    for (const path of [
      '/docs',
      '/docs/errors#insufficient_credits',
      `/auth/reset-password?token=abc`,
    ]) {
      const reply = await page.goto(base + path)
      assert.equal(reply?.status(), 200, path)
      const [content = 0, screen = 0] = await page.evaluate<number[]>(
        '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
      )
      assert.ok(content <= screen, `${path} is ${content} wide on a screen of ${screen}`)
      assert.notEqual(await page.locator('h1').first().textContent(), '')
    }
    assert.deepEqual(complaints, [])
    assert.deepEqual(
      [...asked].filter((origin) => origin !== base && origin !== 'null'),
      [],
    )
    await page.close()
  }
})

test('a person who forgot the password sets a new one from the mail, with the keyboard alone', {
  skip,
}, async () => {
  const probe = await createApp()
  const base = await probe.app.listen({ port: 0, host: '127.0.0.1' })
  const { email } = await probe.register()
  await probe.post('/auth/forgot-password', { email })
  const mails: string[] = []
  probe.parts.mailer.send = async (mail) => {
    mails.push(mail.text)
    return {}
  }
  await sendQueuedMail(probe)
  const link = new URL(mails[0]?.match(/http:\S+/)?.[0] ?? 'missing:')
  const browser = await openBrowser()
  const page = await browser.newPage({ viewport: SCREENS.phone })
  await page.goto(base + link.pathname + link.search)
  await page.locator('input:focus').waitFor()
  await page.keyboard.type('typed on a phone')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${base}/auth/reset-password`)
  assert.equal(await page.locator('h1').textContent(), 'Password changed')
  const login = (password: string) => probe.post('/auth/login', { email, password })
  assert.equal((await login(PASSWORD)).statusCode, 401)
  assert.equal((await login('typed on a phone')).statusCode, 200)
})
