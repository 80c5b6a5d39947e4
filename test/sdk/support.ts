// Pages of an app without a server, on two origins, and browsers in which a user is signed in to the gateway. Both clocks stand still
// together: proofs carry the time of the browser.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BrowserContext, Frame, Page } from 'playwright-core'
import { openBrowser, PARTITIONED_STORAGE } from '../support/browser.ts'
import { atEnd } from '../support/cleanup.ts'
import { createListeningApp } from '../support/listening-app.ts'
import type { Person } from '../support/oauth.ts'

const WAIT_MS = 20_000
const EXAMPLE = readFileSync('examples/browser-app/index.html', 'utf8')

/** Headers of the page at each path; its module runs the same script on all. */
const PAGES: Record<string, Record<string, string>> = {
  '/plain': {},
  '/opener-policy': { 'cross-origin-opener-policy': 'same-origin' },
  '/isolated': {
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-embedder-policy': 'require-corp',
  },
  '/remember': {},
  '/redirect': {},
}

export type SdkStage = Awaited<ReturnType<typeof openSdkStage>>

export async function openSdkStage() {
  const service = await createListeningApp()
  const developer = await service.register()
  const browser = await openBrowser([PARTITIONED_STORAGE])
  let client_id = ''
  const port = await serve((path, host) => {
    if (path === '/example') return { headers: {}, body: exampleFor(service.address, client_id) }
    if (path === '/button') return { headers: {}, body: buttonFor(service.address, client_id) }
    if (path === '/host') return { headers: {}, body: frame(`http://localhost:${port}/plain`) }
    if (path === '/sandbox-host') {
      return { headers: {}, body: frame(`http://${host}/plain`, 'allow-scripts allow-popups') }
    }
    if (path.startsWith('/openai/')) return packageFile(path)
    const headers = PAGES[path]
    return headers && { headers, body: pageFor(service.address, client_id) }
  })
  const reply = await service.post(
    '/developers/apps',
    {
      name: 'Poem Machine',
      client_type: 'browser',
      redirect_uris: [...Object.keys(PAGES), '/example', '/button'].map(
        (path) => `http://localhost${path}`,
      ),
    },
    developer.bearer,
  )
  if (reply.statusCode !== 201) throw new Error(`apps answered ${reply.body}`)
  client_id = reply.json<{ client_id: string }>().client_id
  const visit = async (person?: Pick<Person, 'token'>) => {
    const context = await browser.newContext()
    context.setDefaultTimeout(WAIT_MS)
    await context.clock.setFixedTime(service.clock.now())
    if (person) {
      await context.addCookies([
        { name: 'svc_session', value: person.token, url: service.address, sameSite: 'Lax' },
      ])
    }
    return context
  }
  return {
    ...service,
    developer,
    browser,
    client_id,
    visit,
    pages: `http://localhost:${port}`,
    port,
  }
}

/** Both clocks at once. */
export async function pass(stage: SdkStage, context: BrowserContext, duration_ms: number) {
  stage.clock.advance(duration_ms)
  await context.clock.setFixedTime(stage.clock.now())
}

/** Presses the button of a page, allows in the popup, and waits until the page says so. */
export async function signInByPopup(page: Page, target: Page | Frame = page): Promise<void> {
  const opening = page.context().waitForEvent('page')
  await target.locator('#sign_in').click()
  const popup = await opening
  const closed = popup.waitForEvent('close')
  await popup.getByRole('button', { name: 'Allow' }).click()
  await target.getByText('signed in', { exact: true }).waitFor()
  await closed
}

/** What the module of a page answers, asked from within. */
export async function ask<Answer>(page: Page | Frame, expression: string): Promise<Answer> {
  return await page.evaluate<Answer>(expression)
}

function pageFor(gateway: string, client_id: string): string {
  return `<!doctype html><title>app</title><link rel="icon" href="data:,">
<button id="sign_in">Sign in</button><output id="state"></output><output id="fault"></output>
<script type="module">
  import { createSvc } from '${gateway}/sdk/svc.js'
  const { pathname } = location
  const svc = createSvc({ client_id: '${client_id}', remember: pathname === '/remember' })
  const say = () => { state.textContent = svc.signedIn ? 'signed in' : 'signed out' }
  const fail = (error) => { fault.textContent = error.code + ': ' + error.message }
  sign_in.onclick = () => svc.signIn({ popup: pathname !== '/redirect' }).catch(fail)
  svc.addEventListener('change', say)
  globalThis.svc = svc
  await svc.handleRedirect().catch(fail)
  say()
</script>`
}

/** No script of its own but a listener: the element does the rest. */
function buttonFor(gateway: string, client_id: string): string {
  return `<!doctype html><title>app</title><link rel="icon" href="data:,">
<script>
  globalThis.heard = []
  for (const name of ['svc-change', 'svc-error']) {
    addEventListener(name, ({ type, target, detail }) => heard.push([type, target.svc.signedIn, detail?.code ?? '']))
  }
</script>
<script type="module" src="${gateway}/sdk/svc.js"></script>
<svc-button client_id="${client_id}" popup> Sign <b>in</b> here </svc-button>`
}

function exampleFor(gateway: string, client_id: string): string {
  return EXAMPLE.replace('http://localhost:8080', gateway).replace('svc_client_…', client_id)
}

/** OpenAI's client as a browser loads it without a bundler. */
function packageFile(path: string): Served {
  const body = readFileSync(`node_modules${path}`, 'utf8')
  return { headers: { 'content-type': 'text/javascript' }, body }
}

function frame(src: string, sandbox?: string): string {
  const attribute = sandbox === undefined ? '' : ` sandbox="${sandbox}"`
  return `<!doctype html><title>host</title><link rel="icon" href="data:,"><iframe src="${src}"${attribute}></iframe>`
}

type Served = { headers: Record<string, string>; body: string } | undefined

async function serve(find: (path: string, host: string) => Served): Promise<number> {
  const server = createServer((request, reply) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const found = find(pathname, request.headers.host ?? '')
    if (!found) return void reply.writeHead(404).end()
    reply.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...found.headers })
    reply.end(found.body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}
