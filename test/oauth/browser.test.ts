// The walk in a real browser: what headers alone do not show is whether the browser lets the user through.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createApp, PASSWORD } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { atEnd } from '../support/cleanup.ts'
import { authorizeUrl, createOAuthApp, makePkce, postToken } from '../support/oauth.ts'
import { skipWithout } from '../support/system-parts.ts'

const skip = skipWithout('chromium')

/** An app on another origin; its callback leads on to a third address. */
async function startSite() {
  const asked: { url: string; referer: string | undefined }[] = []
  const server = http.createServer((request, response) => {
    asked.push({ url: request.url ?? '', referer: request.headers.referer })
    if (request.url?.startsWith('/callback')) {
      const home = `http://localhost:${(server.address() as AddressInfo).port}/home`
      response.writeHead(302, { location: home }).end()
    } else response.end('<title>app</title><h1>Welcome</h1>')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(() => server.close())
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { origin, asked }
}

test('O33: a browser signs in, consents and comes back to another origin that leads on; no Referer tells of it', {
  skip,
}, async () => {
  const service = await createApp()
  const base = await service.app.listen({ port: 0, host: '127.0.0.1' })
  const site = await startSite()
  const user = await service.register()
  const redirect_uris = [`${site.origin}/callback`]
  const app = await createOAuthApp(service, await service.register(), { redirect_uris })
  const { code_verifier, code_challenge } = makePkce()

  const browser = await openBrowser()
  const page = await browser.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  await page.goto(site.origin)
  await page.goto(base + authorizeUrl(app, { code_challenge }))
  assert.match(page.url(), /\/oauth\/login\?/)
  await page.fill('input[name=email] >> nth=0', user.email)
  await page.fill('input[name=password]', PASSWORD)
  await page.press('input[name=password]', 'Enter')
  await page.waitForURL(/\/oauth\/authorize\?/)
  await page.click('button[value=allow]')
  await page.waitForURL(/\/home$/)
  assert.equal(await page.textContent('h1'), 'Welcome')

  const back = site.asked.find(({ url }) => url.startsWith('/callback'))
  const answer = new URL(back?.url ?? '', site.origin).searchParams
  assert.equal(answer.get('state'), 'state-1')
  const tokens = await postToken(service, app, {
    grant_type: 'authorization_code',
    code: answer.get('code') ?? '',
    code_verifier,
  })
  assert.equal(tokens.statusCode, 200, tokens.body)
  for (const { url, referer } of site.asked) {
    assert.doesNotMatch(referer ?? '', /svc_code_|\/oauth\//, url)
  }
  assert.deepEqual(
    complaints.filter((text) => !text.includes('favicon')),
    [],
  )
})

test('O12: a page that puts consent in a frame shows nothing of it', { skip }, async () => {
  const service = await createApp()
  const base = await service.app.listen({ port: 0, host: '127.0.0.1' })
  const site = http.createServer((_request, response) => {
    response.end(`<iframe src="${base}/oauth/login"></iframe>`)
  })
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
  atEnd(() => site.close())
  const browser = await openBrowser()
  const page = await browser.newPage()
  await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}`)
  const [, frame] = page.frames()
  await frame?.waitForLoadState()
  assert.equal(await frame?.locator('form').count(), 0)
})
