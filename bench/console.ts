// What the console feels like in a browser: first paint, data shown, the longest task while an answer streams, and a
// click with 1,000 rows on the page. `npm run bench:console`

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { cpus, tmpdir } from 'node:os'
import path from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { buildConsole } from '../scripts/build-console.ts'

const PAGES = ['/', '/keys', '/usage', '/playground', '/statement']
const LOADS = 7
const ROWS = 1_000
const CALLERS = 8
const STREAM_TOKENS = 4_000
const START_LIMIT_MS = 60_000
const LOOKS_MAX = 800

type Account = { session_token: string }

await buildConsole()
const folder = mkdtempSync(path.join(tmpdir(), 'svc-bench-'))
const server = await startServer()
const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
})
try {
  const account = await post<Account>('/auth/register', {
    email: 'bench@example.com',
    password: 'correct horse battery',
  })
  await makeCalls(account)
  print(`${cpus().length} cores, ${cpus()[0]?.model ?? 'unknown'}, Chromium ${browser.version()}`)
  print(`medians of ${LOADS} cold loads, ${ROWS} calls in the account\n`)
  for (const page of PAGES) await benchLoad(browser, account, page)
  await benchStream(browser, account)
  await benchClick(browser, account)
} finally {
  await browser.close()
  server.child.kill('SIGTERM')
  await once(server.child, 'exit')
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
}

async function startServer(): Promise<{ child: ChildProcess; url: string }> {
  const port = await findFreePort()
  const url = `http://localhost:${port}`
  const child = spawn(process.execPath, ['src/bin/server.ts'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...process.env,
      DATA_DIR: folder,
      PORT: String(port),
      PUBLIC_URL: url,
      WORKER_PORT: '0',
      WELCOME_CREDITS: '1000000000',
      RATE_LIMIT_PER_MINUTE: '1000000',
      SESSION_LIMIT_PER_MINUTE: '1000000',
    },
  })
  const limit = setTimeout(() => child.kill('SIGKILL'), START_LIMIT_MS)
  let said = ''
  for await (const piece of child.stderr) {
    said += String(piece)
    if (!said.includes('is ready')) continue
    clearTimeout(limit)
    child.stderr.resume()
    return { child, url }
  }
  throw new Error(`the service did not start:\n${said}`)
}

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0)
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  if (address === null || typeof address === 'string') throw new Error('there is no port')
  return address.port
}

async function post<Reply>(url: string, body: object, token?: string): Promise<Reply> {
  const reply = await fetch(server.url + url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  })
  if (!reply.ok) throw new Error(`${url} answered ${reply.status}: ${await reply.text()}`)
  return (await reply.json()) as Reply
}

async function makeCalls({ session_token }: Account): Promise<void> {
  const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hello' }] }
  let left = ROWS
  const caller = async () => {
    while (left-- > 0) await post('/account/playground/chat/completions', body, session_token)
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
}

async function visit(opened: Browser, { session_token: value }: Account): Promise<BrowserContext> {
  const context = await opened.newContext({ viewport: { width: 1440, height: 900 } })
  await context.addCookies([{ name: 'svc_session', value, url: server.url }])
  return context
}

async function benchLoad(opened: Browser, account: Account, at: string): Promise<void> {
  const loads: { paint: number; shown: number; blocked: number }[] = []
  for (let load = 0; load < LOADS; load++) {
    const context = await visit(opened, account)
    const page = await context.newPage()
    await watchTasks(page)
    await page.goto(`${server.url}/console${at}`, { waitUntil: 'commit' })
    const shown = await readShown(page)
    const paint = await page.evaluate<number>(
      `performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN`,
    )
    const tasks = await page.evaluate<number[]>('window.tasks')
    loads.push({
      paint,
      shown,
      blocked: tasks.reduce((sum, ms) => sum + ms - 50, 0),
    })
    await context.close()
  }
  const middle = (pick: (load: (typeof loads)[number]) => number) =>
    `${Math.round(median(loads.map(pick)))} ms`
  row(at, [
    `first paint ${middle(({ paint }) => paint)}`,
    `data shown ${middle(({ shown }) => shown)}`,
    `blocked ${middle(({ blocked }) => blocked)}`,
  ])
}

async function benchStream(opened: Browser, account: Account): Promise<void> {
  const context = await visit(opened, account)
  const page = await context.newPage()
  await watchTasks(page)
  await page.goto(`${server.url}/console/playground`)
  await page.getByLabel('Message').fill(`[[sandbox:tokens=${STREAM_TOKENS}]] [[sandbox:pace=2]] go`)
  await page.evaluate('window.tasks.length = 0')
  const began = performance.now()
  await page.getByRole('button', { name: 'Send' }).click()
  await page.locator('[data-exact]').waitFor({ timeout: 120_000 })
  const seconds = ((performance.now() - began) / 1_000).toFixed(1)
  const tasks = await page.evaluate<number[]>('window.tasks')
  row(`a stream of ${STREAM_TOKENS} tokens in ${seconds} s`, [
    `longest task ${longest(tasks)}`,
    `${tasks.length} above 50 ms`,
  ])
  await context.close()
}

async function benchClick(opened: Browser, account: Account): Promise<void> {
  const context = await visit(opened, account)
  const page = await context.newPage()
  await watchTasks(page)
  await page.goto(`${server.url}/console/usage`)
  await page.locator('[data-call]').first().waitFor()
  for (let shown = 50; shown < ROWS; shown += 50) {
    await page.getByRole('button', { name: 'Load more' }).click()
    await page.locator(`.calls tbody:nth-of-type(${shown / 50 + 1})`).waitFor()
  }
  row(`the pages of ${ROWS} rows`, [`slowest click ${longest(await readClicks(page))}`])
  await page.locator('[data-call]').first().click()
  await page.locator('[data-line="total"]').waitFor()
  row(`a receipt over ${ROWS} rows`, [`click to paint ${longest(await readClicks(page))}`])
  for (let step = 0; step < 10; step++) await page.keyboard.press('ArrowDown')
  await page.waitForTimeout(500)
  row('ten rows by arrow keys', [`slowest ${longest(await readClicks(page))}`])
  await context.close()
}

/** Tasks above 50 ms, and how long clicks and keys took until the next paint (in steps of 8 ms). */
async function watchTasks(page: Page): Promise<void> {
  await page.addInitScript(`
    const look = () => {
      const is_shown = document.readyState === 'complete' && document.querySelector('.page-head h1')
        && !document.querySelector('main [aria-busy="true"]')
      if (is_shown) window.shown = performance.now()
      else requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
    window.tasks = []
    window.clicks = []
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) window.tasks.push(entry.duration)
    }).observe({ type: 'longtask', buffered: true })
    new PerformanceObserver((list) => {
      for (const { name, duration } of list.getEntries()) {
        if (['click', 'keydown'].includes(name)) window.clicks.push(duration)
      }
    }).observe({ type: 'event', durationThreshold: 16, buffered: true })`)
}

async function readShown(page: Page): Promise<number> {
  for (let look = 0; look < LOOKS_MAX; look++) {
    const shown = await page.evaluate<number | null>('window.shown ?? null').catch(() => null)
    if (shown !== null) return shown
    await page.waitForTimeout(25)
  }
  throw new Error('nothing was shown')
}

async function readClicks(page: Page): Promise<number[]> {
  await page.waitForTimeout(300)
  return await page.evaluate<number[]>('window.clicks.splice(0)')
}

function longest(durations: readonly number[]): string {
  return durations.length === 0
    ? 'below what is measured'
    : `${Math.round(Math.max(...durations))} ms`
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

function row(what: string, figures: readonly string[]): void {
  print(`${what.padEnd(36)} ${figures.join(', ')}`)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
