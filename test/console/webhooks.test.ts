// The pages of webhooks in a real browser: added, tried, failing, told in words when the next try is, sent again.

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { SIGNATURE_SAMPLES } from '../../console/src/webhooks/endpoint/signature-samples.ts'
import { EVENT_NAMES } from '../../console/src/webhooks/event-catalogue.ts'
import { EVENT_TYPE_NAMES } from '../../src/events/event-types.ts'
import type { EventReceiver } from '../support/event-receiver.ts'
import { skipWithout } from '../support/system-parts.ts'
import { audit } from './support.ts'
import { arriveAt, failFromNowOn, openWebhookStage } from './webhooks-support.ts'

const skip = skipWithout('chromium')
const stage = skip ? undefined : await openWebhookStage()
const MINUTE_MS = 60_000

const article = (page: Page) => page.getByRole('article')

async function openMenu(page: Page, act: string) {
  await page.getByRole('button', { name: 'Change the webhook' }).click()
  await page.locator('.menu').getByRole('button', { name: act }).click()
}

test('a webhook is added with its secret shown once, tried with a test event, and its checks take what arrives', {
  skip,
}, async () => {
  const { page, open, service, receiver, complaints, app } = await arriveAt(stage, {
    with_webhook: false,
  })
  await open('/webhooks')
  const command = await page.locator('.snippet').innerText()
  assert.match(command, /svc webhooks listen http:\/\/localhost:3000\/hooks/)
  assert.ok(command.includes(app.client_id) && command.includes(service.address))
  await audit(page, 'no webhooks')
  await page.getByRole('button', { name: 'Add a webhook' }).click()
  await page.getByLabel('Address').fill('http://192.168.0.7/hooks')
  await page.getByRole('checkbox', { name: /balance\.low/ }).check()
  await page.getByLabel('A balance is low below').fill('0.50')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.locator('.field-error').waitFor()
  assert.equal(await page.locator(':focus').getAttribute('name'), 'url')
  await audit(page, 'add')
  await page.getByLabel('Address').fill(receiver.url)
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('heading', { name: 'The webhook is added' }).waitFor()
  await audit(page, 'secret')
  await page.keyboard.press('Escape')
  await page.getByText('You have not copied the secret').waitFor()
  await page.getByRole('button', { name: 'Keep it open' }).click()
  await page.getByRole('button', { name: 'Copy signing secret' }).click()
  const secret = await page.evaluate<string>('navigator.clipboard.readText()')
  assert.match(secret, /^whsec_/)
  await page.getByRole('link', { name: 'Send a test event' }).click()
  await page.getByRole('dialog', { name: 'Send a test event' }).waitFor()
  await audit(page, 'test event')
  await page.getByLabel('Event', { exact: true }).last().selectOption('balance.low')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.waitForURL('**?delivery=dlv_*')
  await service.work()
  // The page asks again by itself while an attempt is under way.
  await article(page).getByText('At the first try').waitFor()
  assert.match(await article(page).innerText(), /"threshold": 100000[^]*Status 200/)
  await page.locator('.delivery-row', { hasText: 'Delivered' }).waitFor()
  const traces = await page.evaluate<string>(
    `JSON.stringify([document.documentElement.outerHTML, {...localStorage}, {...sessionStorage}, history.state, location.href])`,
  )
  assert.ok(!traces.includes(secret))
  assertChecksTake(receiver, secret)
  assert.deepEqual(
    complaints.filter((text) => !text.includes('400')),
    [],
  )
})

/** Node's and Python's as they stand on the page; the secret is right for one and wrong for the other question. */
function assertChecksTake(receiver: EventReceiver, secret: string) {
  const [received] = receiver.received
  assert.ok(received)
  const signature = String(received.headers['x-svc-signature'])
  const codeOf = (language: string) =>
    SIGNATURE_SAMPLES.find((sample) => sample.language === language)?.code ?? ''
  const given = [received.body, signature, secret]
  const node = `${codeOf('Node')}
const [body, signature, secret] = process.argv.slice(1)
const ask = (key) => isFromSvc(body, { 'x-svc-signature': signature }, key)
console.log(ask(secret), ask(secret + 'x'))`
  const arguments_of_node = ['--input-type=module', '-e', node, '--', ...given]
  assert.equal(String(execFileSync(process.execPath, arguments_of_node)), 'true false\n')
  const python = `${codeOf('Python')}
import sys
body, signature, secret = sys.argv[1:]
ask = lambda key: is_from_svc(body.encode(), {"X-Svc-Signature": signature}, key)
print(ask(secret), ask(secret + "x"))`
  const ran = spawnSync('python3', ['-c', python, ...given])
  // Not every machine has it.
  if (ran.error) return
  assert.equal(String(ran.stdout), 'True False\n', String(ran.stderr))
}

test('a webhook is paused and resumed, what was missed is sent again, and it is changed and deleted', {
  skip,
}, async () => {
  const { page, open, service, receiver, webhook, call, complaints } = await arriveAt(stage)
  failFromNowOn(receiver)
  await call()
  await open(webhook.path)
  await openMenu(page, 'Pause')
  await audit(page, 'pause')
  await page.getByRole('button', { name: 'Pause', exact: true }).click()
  await page.getByText('Paused', { exact: true }).waitFor()
  await page.locator('.delivery-row', { hasText: 'Not sent while paused' }).waitFor()
  await service.workLater(2 * MINUTE_MS)
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.locator('.delivery-row', { hasText: 'The webhook was off' }).waitFor()
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByText('Active', { exact: true }).waitFor()
  receiver.answerWith((response) => response.end())
  await openMenu(page, 'Send again what failed')
  await audit(page, 'recover')
  await page.getByRole('dialog').getByRole('button', { name: 'Send again' }).click()
  await page.getByText('One delivery is being sent again.').waitFor()
  await page.getByRole('button', { name: 'Done' }).click()
  await service.work()
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.locator('.delivery-row', { hasText: 'Delivered' }).waitFor()
  await openMenu(page, 'Edit')
  await audit(page, 'edit')
  await page.getByRole('checkbox', { name: /user\.connected/ }).check()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('2 kinds of events').waitFor()
  await openMenu(page, 'Delete')
  await audit(page, 'delete')
  await page.getByLabel(/to confirm$/).fill(new URL(receiver.url).host)
  await page.getByRole('button', { name: 'Delete the webhook' }).click()
  await page.waitForURL('**/console/webhooks')
  await page.getByRole('heading', { name: 'Be told what happens' }).waitFor()
  assert.deepEqual(complaints, [])
})

test('a signing secret is replaced, both sign, and the previous one is ended', {
  skip,
}, async () => {
  const { page, open, receiver, webhook, call } = await arriveAt(stage)
  await open(webhook.path)
  await openMenu(page, 'Replace the secret')
  await audit(page, 'rotate')
  await page.getByRole('button', { name: 'Make a new secret' }).click()
  await page.getByRole('heading', { name: 'The new signing secret' }).waitFor()
  await page.getByRole('button', { name: 'Copy signing secret' }).click()
  const secret = await page.evaluate<string>('navigator.clipboard.readText()')
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByText('Two secrets').waitFor()
  assert.ok(!(await page.content()).includes(secret))
  await call()
  assert.ok(receiver.received[0]?.headers['x-svc-signature-next'])
  await openMenu(page, 'End the previous secret')
  await audit(page, 'end')
  await page.getByRole('button', { name: 'End it now' }).click()
  await page.getByText('Active', { exact: true }).waitFor()
  await call()
  assert.equal(receiver.received[1]?.headers['x-svc-signature-next'], undefined)
})

test('links into the reference lead to chapters that it has', { skip }, async () => {
  const { page, open, service, app, webhook } = await arriveAt(stage)
  const reference = (await service.request({ url: '/docs' })).body
  for (const path of [webhook.path, `/apps/${app.id}?tab=connect`]) {
    await open(path)
    const links = await page.locator('main a[href^="/docs#"]').all()
    assert.notEqual(links.length, 0, path)
    for (const link of links) {
      const anchor = (await link.getAttribute('href'))?.slice('/docs#'.length)
      assert.ok(reference.includes(` id="${anchor}"`), `${path}: ${anchor}`)
    }
  }
})

test('the catalogue names every event that there is', () => {
  assert.deepEqual([...EVENT_NAMES], [...EVENT_TYPE_NAMES])
})
