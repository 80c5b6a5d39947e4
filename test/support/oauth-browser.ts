// An app of two origins for a real browser to come back to, and what a page may not do on the way.

import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { createApp, PASSWORD, type TestApp } from './app.ts'
import { openBrowser } from './browser.ts'
import { atEnd } from './cleanup.ts'
import { authorizeUrl, createOAuthApp, makePkce, type OAuthApp, postToken } from './oauth.ts'

export type Stage = Awaited<ReturnType<typeof openStage>>

/** The service on one origin, the app on two others: what returns to the first is sent on to the second. */
export async function openStage(settings: Record<string, string> = {}) {
  const service = await createApp({ settings })
  const base = await service.app.listen({ port: 0, host: '127.0.0.1' })
  const done = await listen((_request, reply) => {
    reply.setHeader('content-type', 'text/html')
    reply.end('<!doctype html><title>back</title><link rel="icon" href="data:,"><h1>Back</h1>')
  })
  const final = `http://127.0.0.1:${done}/done`
  const callback = await listen((request, reply) => {
    const { search } = new URL(request.url ?? '', 'http://localhost')
    reply.writeHead(302, { location: final + search }).end()
  })
  const developer = await service.register()
  const app = await createOAuthApp(service, developer, {
    redirect_uris: [`http://localhost:${callback}/callback`],
    markup_percent: 20,
  })
  return { service, base, final, developer, app }
}

async function listen(handler: RequestListener): Promise<number> {
  const server = createServer(handler)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address() as AddressInfo
  return address.port
}

let browser: Promise<Browser> | undefined

/** A page that remembers what the browser complained about: blocked by policy, failed, thrown. */
export async function openPage(options: BrowserContextOptions = {}) {
  browser ??= openBrowser()
  const context = await (await browser).newContext(options)
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    // That a refused form answers 400 is the service's word, not a fault of the page.
    const is_status = message.text().startsWith('Failed to load resource: the server responded')
    if (['error', 'warning'].includes(message.type()) && !is_status) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('requestfailed', (request) => complaints.push(`${request.url()} failed`))
  return { page, context, complaints }
}

/** An app's wish, with the verifier that goes with it. */
export function wish({ base, app }: Pick<Stage, 'base' | 'app'>, parameters = {}) {
  const { code_verifier, code_challenge } = makePkce()
  return { url: base + authorizeUrl(app, { code_challenge, ...parameters }), code_verifier }
}

export async function signIn(page: Page, email: string, password = PASSWORD): Promise<void> {
  await page.getByLabel('Email', { exact: true }).fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** Waits until the app has the user back, and answers with what. */
export async function comeBack(page: Page, { final }: Pick<Stage, 'final'>) {
  await page.waitForURL(`${final}?**`)
  return new URL(page.url()).searchParams
}

export async function exchange(
  service: TestApp,
  app: OAuthApp,
  given: { answer: URLSearchParams; code_verifier: string },
): Promise<string> {
  const reply = await postToken(service, app, {
    grant_type: 'authorization_code',
    code: given.answer.get('code') ?? '',
    code_verifier: given.code_verifier,
  })
  if (reply.statusCode !== 200) throw new Error(`token answered ${reply.statusCode}: ${reply.body}`)
  return reply.json<{ access_token: string }>().access_token
}

export async function chat(service: TestApp, token: string) {
  const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello.' }] }
  return await service.post('/v1/chat/completions', body, { authorization: `Bearer ${token}` })
}
