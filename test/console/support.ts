// The console in a real browser on a real server in sandbox mode: one of each for a test file. A visit remembers what
// the browser complained about and what it asked the API; an audit is axe in
// both themes and three widths: all pairs of them in the long run, one in the ordinary one.

import assert from 'node:assert/strict'
import axe from 'axe-core'
import type { Browser, BrowserContext, Page, Request } from 'playwright-core'
import { EVENT_TYPE_NAMES } from '../../src/events/event-types.ts'
import { setOperator } from '../../src/operators/accounts.ts'
import type { TestApp } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { createListeningApp } from '../support/listening-app.ts'
import { createOAuthApp, type Person } from '../support/oauth.ts'

const WIDTHS = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
  { width: 320, height: 640 },
] as const
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
const WAIT_MS = 10_000
const LONG = process.env['SVC_LONG'] === '1'

export type Visit = {
  page: Page
  context: BrowserContext
  /** Errors and warnings of the browser, blocked or failed requests, answers of 400 and above. */
  complaints: string[]
  /** What was asked of the API: method and path. */
  calls: string[]
  /** Of these the reads: the whole address. */
  reads: string[]
  /** Opens an address under /console and waits for its h1 and its data. */
  open: (path: string) => Promise<void>
}

export async function openConsole(
  settings: Record<string, string> = {},
  host?: '127.0.0.1' | 'localhost',
) {
  const service = await createListeningApp(settings, host)
  const browser = await openBrowser()
  return {
    ...service,
    browser,
    /** A new browser of somebody who is signed in, or of nobody. */
    visit: (person?: Pick<Person, 'token'>) => startVisit(browser, service.address, person),
    makeOperator: (person: Pick<Person, 'email'>) =>
      setOperator(service.parts, person.email, { who: 'test', is_operator: true }),
  }
}

async function startVisit(
  browser: Browser,
  address: string,
  person: Pick<Person, 'token'> | undefined,
): Promise<Visit> {
  const context = await browser.newContext({ viewport: WIDTHS[0], baseURL: address })
  context.setDefaultTimeout(WAIT_MS)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: address })
  if (person) {
    await context.addCookies([
      { name: 'svc_session', value: person.token, url: address, httpOnly: true, sameSite: 'Lax' },
    ])
  }
  const page = await context.newPage()
  const { complaints, calls, reads } = listen(page)
  const open = async (path: string) => {
    await page.goto(`/console${path}`)
    await settle(page)
  }
  return { page, context, complaints, calls, reads, open }
}

/** Until the page has its heading, and two looks after each other find that nothing loads any more. */
export async function settle(page: Page): Promise<void> {
  // Looked for in every frame: a locator looks twice a second after a while.
  await page.evaluate(UNTIL_HEADING)
  const is_quiet = async () => {
    await page.evaluate(TWO_FRAMES)
    return !loading.get(page)?.size && !(await page.evaluate<boolean>(IS_BUSY))
  }
  await eventually('the page is quiet', async () => (await is_quiet()) && (await is_quiet()))
}

/** What each page has asked for and not got yet. */
const loading = new WeakMap<Page, Set<Request>>()
const UNTIL_HEADING = `new Promise((found, fail) => {
  const ends = performance.now() + ${WAIT_MS}
  const look = () => {
    if (document.querySelector('main h1')?.checkVisibility()) found()
    else if (performance.now() > ends) fail(new Error('the page has no heading'))
    else requestAnimationFrame(look)
  }
  look()
})`
const IS_BUSY = `document.querySelector('[aria-busy="true"]') !== null`

function listen(page: Page) {
  const complaints: string[] = []
  const calls: string[] = []
  const unanswered = new Set<Request>()
  loading.set(page, unanswered)
  const reads: string[] = []
  page.on('console', (message) => {
    // Blocked by the policy of the page is an error here too.
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('requestfailed', (request) => {
    unanswered.delete(request)
    const is_left = request.failure()?.errorText === 'net::ERR_ABORTED'
    if (!is_left) complaints.push(`${request.url()} failed`)
  })
  page.on('requestfinished', (request) => void unanswered.delete(request))
  page.on('request', (request) => {
    unanswered.add(request)
    if (request.resourceType() !== 'fetch') return
    calls.push(`${request.method()} ${new URL(request.url()).pathname}`)
    if (request.method() === 'GET') reads.push(request.url())
  })
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.url()} ${response.status()}`)
  })
  return { complaints, calls, reads }
}

const WHOLE = 'html'
/** What a page does about its new size happens after the first frame, and is drawn with the second. */
const TWO_FRAMES = `new Promise((drawn) =>
  requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(() => setTimeout(drawn)))))`
/** What a page brings along; the frame around it is the same on all. */
const OWN_PARTS = 'main, dialog[open], .panel, .menu:popover-open'

/**
 * Nothing that axe finds, and nothing to scroll sideways, in either theme at any width. The whole document is looked at
 * once, and with `with_frame` each time: the frame is the same on every page.
 */
export async function audit(
  page: Page,
  what: string,
  options: { with_frame?: boolean } = {},
): Promise<void> {
  const faults: string[] = []
  let part = WHOLE
  for (const { size, colorScheme } of looksFor(what)) {
    await page.setViewportSize(size)
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.evaluate(TWO_FRAMES)
    const at = `${what}, ${colorScheme}, ${size.width} px`
    faults.push(...(await findFaults(page, part)).map((fault) => `${at}: ${fault}`))
    if (!options.with_frame) part = OWN_PARTS
  }
  await page.setViewportSize(WIDTHS[0])
  assert.deepEqual(faults, [])
}

/** All in the long run; else one, which is another for another page: each takes most of a second. */
function looksFor(what: string) {
  const all = WIDTHS.flatMap((size) =>
    (['light', 'dark'] as const).map((colorScheme) => ({ size, colorScheme })),
  )
  const sum = Array.from(what).reduce((so_far, letter) => so_far + letter.charCodeAt(0), 0)
  return LONG ? all : all.slice(sum % all.length).slice(0, 1)
}

async function findFaults(page: Page, part: string): Promise<string[]> {
  // Over the browser's own protocol, which the policy of the page does not bind.
  const is_there = await page.evaluate<boolean>(`'axe' in globalThis`)
  if (!is_there) await page.evaluate(`(() => { ${axe.source} })()`)
  const found = await page.evaluate<string[]>(`axe
    .run(${JSON.stringify(part)}, { runOnly: ${JSON.stringify(RULES)}, resultTypes: ['violations'] })
    .then(({ violations }) => violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => id + ': ' + html.slice(0, 160) + ' ' + failureSummary)))`)
  const [content = 0, screen = 0] = await page.evaluate<number[]>(
    '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
  )
  return content > screen ? [...found, `${content} wide on a screen of ${screen}`] : found
}

/** An account that has one of everything that a page with an id in its address is about. */
export async function makeBelongings(service: TestApp, person: Person) {
  const app = await createOAuthApp(service, person)
  const wanted = {
    client_id: app.client_id,
    url: 'https://hooks.example/svc',
    events: EVENT_TYPE_NAMES,
  }
  const reply = await service.post('/v1/webhooks', wanted, person.bearer)
  if (reply.statusCode !== 201) throw new Error(`webhooks answered ${reply.body}`)
  return { app, webhook_id: reply.json<{ id: string }>().id }
}
