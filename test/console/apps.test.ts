// The pages of apps in a real browser: made, previewed, connected to by a user who pays, given a new secret, deleted.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { suspendApp } from '../../src/oauth/suspension.ts'
import { foldUsage } from '../../src/usage/jobs.ts'
import { startEventReceiver } from '../support/event-receiver.ts'
import {
  authorizeUrl,
  connectHosted,
  createOAuthApp,
  makePkce,
  type OAuthApp,
  postToken,
} from '../support/oauth.ts'
import { startReceiver } from '../support/receiver.ts'
import { skipWithout } from '../support/system-parts.ts'
import { startWebhookWork } from '../support/webhooks.ts'
import { audit, openConsole, settle } from './support.ts'

const skip = skipWithout('chromium')
const stage = skip ? undefined : await openConsole({ STEP_UP: 'always' })
const run = promisify(execFile)

function onStage() {
  if (!stage) throw new Error('there is no browser')
  return stage
}

async function arrive() {
  const service = onStage()
  const person = await service.register()
  const visit = await service.visit(person)
  const read = async (id: string) =>
    (await service.request({ url: `/developers/apps/${id}`, headers: person.bearer })).json<
      Record<string, unknown>
    >()
  return { ...visit, service, person, read }
}

/** Whether the service takes it for the secret of the app: then only the token is wrong. */
async function isSecretOf(app: Pick<OAuthApp, 'client_id'>, client_secret: string) {
  const given = { client_id: app.client_id, client_secret }
  const fields = { grant_type: 'refresh_token', refresh_token: 'none' }
  const reply = await postToken(onStage(), given, fields)
  return reply.json<{ error: string }>().error === 'invalid_grant'
}

function readClipboard(page: Page): Promise<string> {
  return page.evaluate<string>('navigator.clipboard.readText()')
}

async function assertNoTrace(page: Page, secret: string) {
  const traces = await page.evaluate<string>(
    `JSON.stringify([document.documentElement.outerHTML, {...localStorage}, {...sessionStorage}, history.state, location.href])`,
  )
  assert.ok(!traces.includes(secret))
}

const words = (text: string) => text.split(/\s+/).filter(Boolean).join(' ')

test('a new app shows its secret once, guarded until it is copied, and leaves no trace of it', {
  skip,
}, async () => {
  const { page, open, complaints, person } = await arrive()
  await open('/apps')
  await audit(page, 'no apps')
  await page.getByRole('button', { name: 'Create an app' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('Poem Machine')
  await page.getByLabel('Redirect addresses').fill('http://poems.example/callback')
  await page.getByLabel('Markup in percent').fill('20')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.locator('.field-error', { hasText: 'https://' }).waitFor()
  assert.equal(await page.locator(':focus').getAttribute('name'), 'redirect_uris')
  await audit(page, 'create')
  await page.getByLabel('Redirect addresses').fill('https://poems.example/callback')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('heading', { name: 'Poem Machine is made' }).waitFor()
  await audit(page, 'secret')
  await page.keyboard.press('Escape')
  await page.getByText('You have not copied the secret').waitFor()
  await page.getByRole('button', { name: 'Keep it open' }).click()
  assert.doesNotMatch(await page.content(), /svc_secret_\w{20}/)
  await page.getByRole('button', { name: 'Copy client secret' }).click()
  const secret = await readClipboard(page)
  const listed = await onStage().request({ url: '/developers/apps', headers: person.bearer })
  const [app] = listed.json<{ data: OAuthApp[] }>().data
  assert.ok(app && (await isSecretOf(app, secret)))
  await page.getByRole('link', { name: 'Connect your users' }).click()
  await page.waitForURL(`**/console/apps/${app.id}?tab=connect`)
  await settle(page)
  assert.equal(await page.title(), 'Poem Machine · svc')
  assert.match(await page.locator('main').innerText(), new RegExp(app.client_id))
  await assertNoTrace(page, secret)
  assert.deepEqual(
    complaints.filter((text) => !text.includes('400')),
    [],
  )
})

test('the preview says word for word what the consent page says, and follows the form as it is typed', {
  skip,
}, async () => {
  const { page, open, service, person, context } = await arrive()
  const app = await createOAuthApp(service, person, { markup_percent: 20 })
  await open(`/apps/${app.id}`)
  const preview = page.getByRole('region', { name: 'Preview of the consent page' })
  const consent = await context.newPage()
  const { code_challenge } = makePkce()
  const readConsent = async () => {
    await consent.goto(authorizeUrl(app, { code_challenge }))
    return words(await consent.locator('main').innerText())
  }
  const readPreview = async () => words((await preview.innerText()).replace(/\$\s+10\.00/, '$'))
  assert.equal(await readPreview(), await readConsent())
  assert.match(await readPreview(), /for a call of \$0\.10 you pay \$0\.12/)

  await page.getByRole('textbox', { name: 'Name' }).fill('Verse & Rhyme')
  await page.getByLabel('Markup in percent').fill('12.34')
  assert.match(await readPreview(), /^Let Verse & Rhyme use .* plus 12\.34%.* you pay \$0\.11234/)
  await page.getByLabel('Markup in percent').fill('101')
  assert.match(await readPreview(), /This markup is not possible/)
  await page.getByLabel('Markup in percent').fill('0')
  assert.match(await readPreview(), /The app adds nothing/)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The settings are saved.').waitFor()
  assert.equal(await readPreview(), await readConsent())

  await page.getByRole('checkbox', { name: /Spend credits/ }).uncheck()
  assert.match(await readPreview(), /see your balance\?/)
  assert.doesNotMatch(await readPreview(), /Spending cap/)
  const saved = page.waitForResponse((reply) => reply.request().method() === 'PATCH')
  await page.getByRole('button', { name: 'Save' }).click()
  assert.equal((await saved).status(), 200)
  assert.equal(await readPreview(), await readConsent())

  await page.getByRole('checkbox', { name: /See the balance/ }).uncheck()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('.field-error', { hasText: 'Choose at least one' }).waitFor()
})

test('an app without a server is made without a secret, and its preview says what its consent page says', {
  skip,
}, async () => {
  const { page, open, person, context } = await arrive()
  for (const [kind, address] of [
    ['Browser', 'http://localhost:5173/callback'],
    ['Program on', 'com.example.app:/callback'],
  ] as const) {
    // The newest is listed first.
    onStage().clock.advance(1_000)
    await open('/apps?create=true')
    await page.getByRole('radio', { name: new RegExp(kind) }).check()
    await page.getByRole('textbox', { name: 'Name' }).fill('Poem Machine')
    await page.getByLabel('Redirect addresses').fill(address)
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByText('This app has no secret').waitFor()
    await page.getByRole('link', { name: 'Connect your users' }).click()
    await settle(page)
    const connect = await page.locator('main').innerText()
    assert.doesNotMatch(connect, /client_secret|Hosted storage/)
    const listed = await onStage().request({ url: '/developers/apps', headers: person.bearer })
    const [app] = listed.json<{ data: OAuthApp[] }>().data
    assert.ok(app)
    await page.getByRole('tab', { name: 'Settings' }).click()
    await page.getByLabel('More origins').fill('capacitor://localhost')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The settings are saved.').waitFor()
    await audit(page, `settings of a ${kind} app`)
    const preview = page.getByRole('region', { name: 'Preview of the consent page' })
    const consent = await context.newPage()
    await consent.goto(authorizeUrl(app, { code_challenge: makePkce().code_challenge }))
    const shown = words((await preview.innerText()).replace(/\$\s+5\.00/, '$'))
    assert.equal(shown, words(await consent.locator('main').innerText()))
    await audit(consent, `consent of a ${kind} app`)
    await consent.close()
  }
})

test('a user follows the commands of the page, allows the markup, pays it, and a webhook tells of it', {
  skip,
}, async () => {
  const { page, open, service, person, complaints } = await arrive()
  const { work, job_parts } = await startWebhookWork(service)
  const callback = await startReceiver((_request, response) => response.end('back'))
  const receiver = await startEventReceiver()
  const app = await createOAuthApp(service, person, {
    markup_percent: 20,
    redirect_uris: [callback.url],
  })
  const hook = { client_id: app.client_id, url: receiver.url, events: ['usage.completed'] }
  const made = await service.post('/v1/webhooks', hook, person.bearer)
  const { id: webhook_id } = made.json<{ id: string }>()
  await open(`/apps/${app.id}?tab=connect`)
  await audit(page, 'connect')
  const copyCommand = async (step: number) => {
    const snippet = page.locator('.snippet').nth(step)
    await snippet.getByRole('button').click()
    await snippet.getByText('Copied').waitFor()
    return await readClipboard(page)
  }
  const sh = async (command: string, variables: Record<string, string> = {}) =>
    (await run('bash', ['-c', command], { env: { ...process.env, ...variables } })).stdout

  const authorize = await copyCommand(0)
  const [address = '', verifier = ''] = (await sh(`${authorize}; echo "$VERIFIER"`)).split('\n')
  const user = await service.register()
  const visitor = await service.visit(user)
  await visitor.page.goto(address)
  assert.match(await visitor.page.locator('main').innerText(), /plus 20%/)
  await visitor.page.getByRole('button', { name: 'Allow' }).click()
  await visitor.page.waitForURL(`${callback.url}?**`)
  const code = new URL(visitor.page.url()).searchParams.get('code') ?? ''
  const exchanged = await sh(await copyCommand(1), {
    CODE: code,
    VERIFIER: verifier,
    CLIENT_SECRET: app.client_secret,
  })
  const { access_token } = JSON.parse(exchanged) as { access_token: string }
  const called = await sh(await copyCommand(2), { ACCESS_TOKEN: access_token })
  const { svc } = JSON.parse(called) as { svc: { credits_used: number } }
  await work()
  await foldUsage(job_parts)

  await open(`/apps/${app.id}?tab=users`)
  assert.match(await page.locator('main').innerText(), /1 connected user\b/)
  const spent = page.locator('tbody [title]', { hasText: '$' }).first()
  assert.equal(await spent.getAttribute('title'), `${svc.credits_used} credits`)
  await audit(page, 'users')
  await open(`/webhooks/${webhook_id}`)
  await page.locator('.delivery-row', { hasText: 'usage.completed' }).click()
  await page.locator('article', { hasText: `"credits_used": ${svc.credits_used}` }).waitFor()
  assert.equal(await page.locator('article .badge').first().innerText(), 'Delivered')
  assert.deepEqual(complaints, [])
})

test('users stand under the developer’s own names, and without any the next act is named', {
  skip,
}, async () => {
  const { page, open, service, person } = await arrive()
  const app = await createOAuthApp(service, person)
  await open(`/apps/${app.id}?tab=users`)
  await page.getByRole('heading', { name: 'Nobody is connected yet' }).waitFor()
  await page.locator('main').getByRole('button', { name: 'Connect your users' }).click()
  assert.equal(new URL(page.url()).search, '?tab=connect')
  await page.getByRole('tab', { name: 'Settings' }).click()
  const user = await service.register()
  const fields = { cap: 'daily', cap_usd: '2.50' }
  await connectHosted(service, { app, user, external_user_id: 'user-42', fields })
  await open(`/apps/${app.id}?tab=users`)
  const row = page.locator('tbody tr')
  assert.match(words(await row.innerText()), /^user-42 since .* of \$2\.50 a day/)
  await page.getByRole('tab', { name: 'Settings' }).click()
  await page.getByLabel('Markup in percent').fill('5')
  await page.getByText('Connected users go on paying 0 %').waitFor()
})

test('a secret is replaced with an overlap, and both are good until it ends', {
  skip,
}, async () => {
  const { page, open, service, person, read } = await arrive()
  const app = await createOAuthApp(service, person)
  await open(`/apps/${app.id}`)
  await page.getByRole('button', { name: 'Change Poem Machine' }).click()
  await page.getByRole('button', { name: 'Replace the secret' }).click()
  await page.getByLabel('The old secret stays good for').selectOption('1')
  await audit(page, 'rotate')
  await page.getByRole('button', { name: 'Make a new secret' }).click()
  await page.getByRole('heading', { name: 'The new secret of Poem Machine' }).waitFor()
  await page.getByRole('button', { name: 'Copy client secret' }).click()
  const secret = await readClipboard(page)
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByText('Two secrets').waitFor()
  assert.notEqual((await read(app.id))['previous_secret_expires_at'], null)
  assert.ok(await isSecretOf(app, secret))
  assert.ok(await isSecretOf(app, app.client_secret))
  assert.equal(new URL(page.url()).search, '')
  await assertNoTrace(page, secret)
})

test('deleting an app says how many users lose access, and asks for its name', {
  skip,
}, async () => {
  const { page, open, service, person, complaints } = await arrive()
  const app = await createOAuthApp(service, person)
  for (const external_user_id of ['one', 'two']) {
    const user = await service.register()
    await connectHosted(service, { app, user, external_user_id })
  }
  await open(`/apps/${app.id}?delete=true`)
  await page.getByText('2 connected users lose access.').waitFor()
  const act = page.getByRole('button', { name: 'Delete the app' })
  assert.ok(await act.isDisabled())
  await audit(page, 'delete')
  await page.getByLabel('Type “Poem Machine” to confirm').fill('Poem Machine')
  await act.click()
  await page.waitForURL('**/console/apps')
  await page.getByRole('heading', { name: 'Let your users pay for their own calls' }).waitFor()
  assert.deepEqual(complaints, [])
})

test('a suspended app says so and why; an app that is not there says so too', {
  skip,
}, async () => {
  const { page, open, service, person } = await arrive()
  const app = await createOAuthApp(service, person)
  const suspension = { client_id: app.client_id, reason: 'Sends spam.' }
  await service.parts.db.transaction((tx) => suspendApp(service.parts, tx, suspension))
  await open('/apps')
  assert.match(await page.locator('tbody tr').innerText(), /Suspended/)
  await audit(page, 'apps')
  await page.getByRole('link', { name: 'Poem Machine' }).click()
  await page.getByText('Reason: Sends spam.').waitFor()
  await open('/apps/0198a000-0000-7000-8000-000000000000')
  await page.getByRole('alert').waitFor()
  await open(`/apps?client_id=${app.client_id}`)
  await page.waitForURL(`**/console/apps/${app.id}`)
})
