// Every page between an app and a person's money: named for those who cannot see it, legible in both modes,
// narrow enough for the smallest phone, and true to its own policy.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { connect, connectHosted, createOAuthApp } from '../support/oauth.ts'
import { openPage, openStage, signIn, wish } from '../support/oauth-browser.ts'
import { auditPage, describeFocus } from '../support/page-audit.ts'
import { skipWithout } from '../support/system-parts.ts'

const skip = skipWithout('chromium')
const stage = await openStage({ LOGIN_LIMIT_PER_MINUTE: '8' })
const { service, base, app } = stage

const LONG_NAME = `Wunderbare ${'Donaudampfschifffahrtskapitänsmützen'.repeat(2)} & Söhne <b>`
const long = await createOAuthApp(service, stage.developer, {
  name: LONG_NAME,
  redirect_uris: [`https://${'very-long-label.'.repeat(8)}app.example/callback`],
  markup_percent: 12.5,
})

/** As after signing in; the sign-in page has tests of its own. */
async function openAs(person: { token: string } | undefined) {
  const opened = await openPage()
  if (person) {
    await opened.context.addCookies([{ name: 'svc_session', value: person.token, url: base }])
  }
  return opened
}

async function assertGood(page: Page, name: string): Promise<void> {
  assert.deepEqual([name, await auditPage(page)], [name, []])
}

/** The browser checks some fields itself; what the service says must be as good. */
async function sendUnchecked(page: Page, button: string): Promise<void> {
  await page.evaluate(
    'document.querySelectorAll("form").forEach((form) => { form.noValidate = true })',
  )
  const answered = page.waitForResponse((reply) => reply.request().method() === 'POST')
  await page.getByRole('button', { name: button }).click()
  await answered
  await page.waitForLoadState()
}

test('sign-in and registration are good pages, and say what was wrong at the field that it is about', {
  skip,
}, async () => {
  const { page, context, complaints } = await openAs(undefined)
  const person = await service.register()
  await page.goto(`${base}/oauth/login`)
  await page.getByText('Forgot your password?').click()
  await assertGood(page, 'login')
  await page.goto(wish({ base, app: long }).url)
  await assertGood(page, 'login for an app')
  await signIn(page, person.email, 'a wrong one')
  await page.getByRole('alert').waitFor()
  await assertGood(page, 'login refused')
  assert.deepEqual(await describeFocus(page), {
    name: 'Password',
    description: 'The email or password is wrong.',
  })

  for (const [email, password, name, description] of [
    [person.email, 'long enough', 'Email', /There is an account/],
    ['nonsense', 'long enough', 'Email', /not valid/],
    ['new@example.com', 'short', 'Password', /too short.* At least 8/],
  ] as const) {
    await page.goto(`${base}/oauth/register`)
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password').fill(password)
    await sendUnchecked(page, 'Create an account')
    await assertGood(page, `register refused: ${password}`)
    const focus = await describeFocus(page)
    assert.equal(focus.name, name)
    assert.match(focus.description, description)
  }
  assert.deepEqual(complaints, [])
  await context.close()
})

test('consent is a good page whatever people and apps are called, and says what was wrong with an amount', {
  skip,
}, async () => {
  const person = await service.register(`${'long.'.repeat(12)}@${'sub.'.repeat(20)}example.com`)
  const { page, context, complaints } = await openAs(person)
  const hosted = { storage_mode: 'hosted', external_user_id: 'x9'.repeat(120) }
  await page.goto(wish({ base, app: long }, hosted).url)
  await assertGood(page, 'consent')
  const text = await page.locator('main').innerText()
  for (const part of [LONG_NAME, person.email, hosted.external_user_id, 'plus 12.5%', '$0.1125']) {
    assert.ok(text.includes(part), part)
  }
  await page.getByLabel('US dollars each month').fill('ten')
  await sendUnchecked(page, 'Allow')
  await assertGood(page, 'consent refused')
  const focus = await describeFocus(page)
  assert.equal(focus.name, 'US dollars each month')
  assert.match(focus.description, /^Enter an amount in dollars/)
  await page.goto(wish(stage, { scope: 'credits.read' }).url)
  assert.equal(await page.getByRole('radio').count(), 0)
  await assertGood(page, 'consent to read')
  assert.deepEqual(complaints, [])
  await context.close()
})

test('connected apps is a good page with none, with several, and after a cap that was none', {
  skip,
}, async () => {
  const person = await service.register()
  const { page, context, complaints } = await openAs(person)
  await page.goto(`${base}/oauth/connections`)
  await assertGood(page, 'no connections')
  await connect(service, { app, user: person, parameters: { scope: 'credits.read' } })
  await connectHosted(service, { app: long, user: person, external_user_id: 'x9'.repeat(120) })
  await page.reload()
  await assertGood(page, 'connections')
  await page.getByLabel('Cap each month').fill('lots')
  await sendUnchecked(page, 'Change the cap')
  await assertGood(page, 'connections refused')
  const focus = await describeFocus(page)
  assert.match(focus.description, /^Enter an amount in dollars/)
  assert.equal(await page.getByLabel('Cap each month').inputValue(), 'lots')
  assert.deepEqual(complaints, [])
  await context.close()
})

test('what only says something is a good page too, in words for people', { skip }, async () => {
  const { page, context, complaints } = await openAs(undefined)
  await page.goto(wish(stage).url)
  await page.getByText('Forgot your password?').click()
  await page.getByLabel('Email of your account').fill('somebody@example.com')
  await page.getByRole('button', { name: 'Send me a link' }).click()
  await page.getByRole('heading', { name: 'Check your mail' }).waitFor()
  await assertGood(page, 'mail sent')
  await page.getByRole('link', { name: 'Back to sign in' }).click()
  await page.getByText('to continue to Poem Machine').waitFor()

  await page.goto(`${base}/oauth/authorize?client_id=nobody`)
  await assertGood(page, 'unknown app')
  await page.goto(wish(stage, { redirect_uri: 'https://evil.example/' }).url)
  await assertGood(page, 'unknown address')
  await page.goto(`${base}/auth/reset-password?token=abc`)
  await assertGood(page, 'reset')
  await page.getByLabel('New password').fill('short')
  await sendUnchecked(page, 'Set password')
  await assertGood(page, 'reset refused')
  for (let i = 0; i < 9; i += 1) {
    await page.goto(`${base}/oauth/login`)
    await signIn(page, 'nobody@example.com')
    await page.waitForLoadState()
  }
  assert.match(await page.locator('main').innerText(), /Wait \d+ seconds, then go back/)
  await assertGood(page, 'too many')
  assert.deepEqual(complaints, [])
  await context.close()
})
