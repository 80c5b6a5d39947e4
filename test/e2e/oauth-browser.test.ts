// Sign in and pay with your own credits, as people do it: in a real browser, on pages without script, with an
// app that lives on other origins than ours.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SCREENS } from '../support/browser.ts'
import {
  chat,
  comeBack,
  exchange,
  openPage,
  openStage,
  signIn,
  wish,
} from '../support/oauth-browser.ts'
import { skipWithout } from '../support/system-parts.ts'

const skip = skipWithout('chromium')
const stage = await openStage()
const { service, app, base } = stage
const viewport = SCREENS.phone

async function capOf(person: { bearer: Record<string, string> }): Promise<number | null> {
  const reply = await service.request({ url: '/account/connections', headers: person.bearer })
  return reply.json().data[0]?.cap_credits
}

test('a stranger registers, sets a cap, returns through two other origins, and pays for the app’s call', {
  skip,
}, async () => {
  const { page, context, complaints } = await openPage({ viewport })
  const first = wish(stage)
  await page.goto(first.url)
  await page.getByRole('link', { name: 'Create an account' }).click()
  await page.getByLabel('Email').fill('stranger@example.com')
  await page.getByLabel('Password').fill('long enough')
  await page.getByRole('button', { name: 'Create an account' }).click()
  await page.getByRole('heading', { name: 'Let Poem Machine use your credits?' }).waitFor()
  await page.getByLabel('US dollars each month').fill('2.50')
  await page.getByRole('button', { name: 'Allow' }).click()
  const answer = await comeBack(page, stage)
  assert.deepEqual([answer.get('state'), answer.has('iss')], ['state-1', true])
  const token = await exchange(service, app, { answer, code_verifier: first.code_verifier })
  assert.equal((await chat(service, token)).json().svc.billing_mode, 'user')

  // Later, in the same browser: nobody is asked to sign in, and the cap is the one that was set.
  await page.goto(wish(stage).url)
  assert.equal(await page.getByLabel('US dollars each month').inputValue(), '2.50')
  assert.equal(await page.getByLabel('At most this much each month').isChecked(), true)
  await page.getByRole('button', { name: 'Deny' }).click()
  assert.equal((await comeBack(page, stage)).get('error'), 'access_denied')

  // And when it is enough: the app is disconnected, and its token is dead.
  await page.goto(`${base}/oauth/connections`)
  await page.getByRole('button', { name: 'Disconnect Poem Machine' }).click()
  await page.getByText('can spend nothing more').waitFor()
  assert.equal((await chat(service, token)).json().error.code, 'invalid_token')
  assert.deepEqual(complaints, [])
  await context.close()
})

test('who is not the one that is signed in signs in as themselves, after a wrong password too', {
  skip,
}, async () => {
  const [before, after] = [await service.register(), await service.register()]
  const { page, context, complaints } = await openPage({ viewport })
  const { url, code_verifier } = wish(stage)
  await page.goto(url)
  await signIn(page, before.email)
  await page.getByText(before.email).waitFor()
  await page.getByRole('link', { name: 'Not you?' }).click()
  await signIn(page, after.email, 'a wrong one')
  await page.getByRole('alert').getByText('The email or password is wrong.').waitFor()
  assert.equal(await page.getByLabel('Email', { exact: true }).inputValue(), after.email)
  await signIn(page, after.email)
  await page.getByText(after.email).waitFor()
  await page.getByRole('button', { name: 'Allow' }).click()
  const answer = await comeBack(page, stage)
  const token = await exchange(service, app, { answer, code_verifier })
  const info = await service.request({
    url: '/oauth/userinfo',
    headers: { authorization: `Bearer ${token}` },
  })
  assert.equal(info.json().email, after.email)
  assert.deepEqual(complaints, [])
  await context.close()
})

test('the keyboard alone is enough, and Enter in the amount allows with that amount', {
  skip,
}, async () => {
  const person = await service.register()
  const { page, context } = await openPage({ viewport: SCREENS.desktop })
  const { keyboard } = page
  await page.goto(wish(stage).url)
  await page.locator('input:focus').waitFor()
  await keyboard.type(person.email)
  await keyboard.press('Tab')
  await keyboard.type('correct horse battery')
  await keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Let Poem Machine use your credits?' }).waitFor()

  const order = []
  for (let i = 0; i < 7; i += 1) {
    await keyboard.press('Tab')
    order.push(
      await page.evaluate<string>(
        'document.activeElement.value ?? document.activeElement.innerText',
      ),
    )
  }
  assert.deepEqual(order, [
    'Skip to content',
    'Not you?',
    'monthly',
    '10.00',
    'allow',
    'deny',
    'connected apps',
  ])
  for (let i = 0; i < 4; i += 1) await keyboard.press('Shift+Tab')
  await keyboard.press('ArrowDown')
  assert.equal(await page.getByLabel('No cap').isChecked(), true)
  await keyboard.press('ArrowUp')
  await keyboard.press('Tab')
  await keyboard.type('7')
  await keyboard.press('Enter')
  assert.equal((await comeBack(page, stage)).has('code'), true)

  await page.goto(wish(stage).url)
  assert.equal(await page.getByLabel('US dollars each month').inputValue(), '7.00')
  await page.getByRole('button', { name: 'Deny' }).focus()
  await keyboard.press('Space')
  assert.equal((await comeBack(page, stage)).get('error'), 'access_denied')
  await context.close()
})

test('an amount that was typed is never lost to “No cap” without asking', { skip }, async () => {
  const person = await service.register()
  const { page, context, complaints } = await openPage({ viewport })
  const first = wish(stage)
  await page.goto(first.url)
  await signIn(page, person.email)
  const amount = page.getByLabel('US dollars each month')
  const decide = async (choice: string) => {
    await page.getByLabel(choice).check()
    await page.getByRole('button', { name: 'Allow' }).click()
  }
  await amount.fill('a lot')
  await decide('At most this much')
  await page.getByRole('alert').getByText('Enter an amount in dollars').waitFor()
  await amount.fill('4')
  await decide('No cap')
  await page.getByRole('alert').getByText('You typed an amount').waitFor()
  assert.equal(await amount.inputValue(), '4')
  assert.equal(await page.getByLabel('At most this much').isChecked(), true)
  await decide('No cap')
  const answer = await comeBack(page, stage)
  await exchange(service, app, { answer, code_verifier: first.code_verifier })
  assert.equal(await capOf(person), null)

  await page.goto(wish(stage).url)
  assert.equal(await page.getByLabel('No cap').isChecked(), true)
  assert.equal(await amount.isVisible(), false)
  await decide('At most this much')
  await comeBack(page, stage)
  assert.equal(await capOf(person), 10_000_000)
  assert.deepEqual(complaints, [])
  await context.close()
})

test('everything works with JavaScript turned off', { skip }, async () => {
  const options = { viewport, javaScriptEnabled: false }
  const { page, context } = await openPage(options)
  const { url, code_verifier } = wish(stage)
  const person = await service.register()
  await page.goto(url)
  await signIn(page, person.email)
  await page.getByLabel('US dollars each month').fill('3')
  await page.getByRole('button', { name: 'Allow' }).click()
  const answer = await comeBack(page, stage)
  const token = await exchange(service, app, { answer, code_verifier })
  await page.goto(`${base}/oauth/connections`)
  await page.getByLabel('Cap each month, in dollars').fill('0.0000001')
  await page.getByRole('button', { name: 'Change the cap of Poem Machine' }).click()
  await page.getByText('The cap was not changed.').waitFor()
  await page.getByLabel('Cap each month, in dollars').fill('0.000001')
  await page.keyboard.press('Enter')
  await page.getByText('The cap is changed.').waitFor()
  assert.equal(await capOf(person), 1)
  assert.equal((await chat(service, token)).statusCode, 402)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.goto(`${base}/oauth/connections`)
  assert.equal(new URL(page.url()).pathname, '/oauth/login')
  await context.close()
})

test('a sign-in popup still knows the window that opened it when it is back at the app', {
  skip,
}, async () => {
  const person = await service.register()
  const { page, context } = await openPage({ viewport: SCREENS.desktop })
  await page.goto(stage.final)
  const opened = page.waitForEvent('popup')
  await page.evaluate(`void window.open(${JSON.stringify(wish(stage).url)}, 'svc', 'popup')`)
  const popup = await opened
  // A detour over pages that only say something must not cost it either.
  await popup.getByText('Forgot your password?').click()
  await popup.getByLabel('Email of your account').fill(person.email)
  await popup.getByRole('button', { name: 'Send me a link' }).click()
  await popup.getByRole('link', { name: 'Back to sign in' }).click()
  await context.clearCookies()
  await signIn(popup, person.email)
  await popup.getByRole('heading', { name: 'This did not work' }).waitFor()
  await popup.goBack()
  await popup.reload()
  await signIn(popup, person.email)
  await popup.getByRole('button', { name: 'Allow' }).click()
  await comeBack(popup, stage)
  // Same origin as the opener again, so it may even read it: what a popup needs to hand over its answer.
  assert.equal(await popup.evaluate('window.opener.location.pathname'), '/done')
  await context.close()
})
