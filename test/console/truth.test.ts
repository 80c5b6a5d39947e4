// The console tells the truth: of random calls, what the reply said, the list, the receipt and the statement are one
// figure; and the days of the chart add up to its total wherever the browser is.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { foldUsage } from '../../src/usage/jobs.ts'
import { LONG } from '../support/gateway.ts'
import { connectHosted, createOAuthApp, type Person } from '../support/oauth.ts'
import { skipWithout } from '../support/system-parts.ts'
import { openConsole, settle } from './support.ts'

const skip = skipWithout('chromium')
const stage = skip ? undefined : await openConsole({ WELCOME_CREDITS: '9000000' })
type Stage = NonNullable<typeof stage>

const CALLS = LONG ? 200 : 24
const SEED = LONG ? Date.now() % 2_147_483_647 : 20_261_116
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const MODELS = [
  'gpt-4o',
  'gpt-4o-mini',
  'gpt-5-mini',
  'anthropic/claude-sonnet-4',
  'anthropic/claude-haiku-3.5',
  'google/gemini-2.5-flash',
]
const ZONES = ['Pacific/Kiritimati', 'America/Los_Angeles', 'Australia/Adelaide']

type Numbers = { credits_used: number; balance_before: number; balance_after: number }
type Told = { id: string; at: Date; numbers: Numbers | undefined }

/** The same numbers for the same seed (Lehmer). */
function dice(seed: number): (sides: number) => number {
  let state = seed
  return (sides) => {
    state = (state * 48_271) % 2_147_483_647
    return state % sides
  }
}

/** Calls with a key, in the playground and through another's app with a markup, streamed or not, some of which fail. */
async function makeCalls(service: Stage, person: Person): Promise<Told[]> {
  const roll = dice(SEED)
  const ways = await waysToCall(service, person)
  const end = service.clock.now().getTime()
  service.clock.advance(-10 * DAY_MS)
  const told: Told[] = []
  for (let count = 0; count < CALLS; count++) {
    service.clock.advance(roll(Math.floor((9 * DAY_MS) / CALLS)) + 1_000)
    const { url, headers } = ways[roll(ways.length)] ?? ways[0]
    const content = roll(8) === 0 ? '[[sandbox:500]]' : `[[sandbox:tokens=${1 + roll(600)}]] hello`
    const body = {
      model: MODELS[roll(MODELS.length)],
      max_tokens: 2_000,
      stream: roll(2) === 0,
      messages: [{ role: 'user', content: content + ' word'.repeat(roll(300)) }],
    }
    const reply = await service.post(url, body, headers)
    const id = String(reply.headers['x-svc-generation-id'])
    told.push({ id, at: service.clock.now(), numbers: numbersOf(reply.body) })
  }
  service.clock.advance(end - service.clock.now().getTime())
  await service.parts.failed_calls.flush(service.parts.db)
  await foldUsage({ ...service.parts, wakeMailSender: () => {} })
  return told.toReversed()
}

async function waysToCall(service: Stage, person: Person) {
  const { key } = await service.createKey(person.bearer)
  const developer = await service.register()
  const app = await createOAuthApp(service, developer, { markup_percent: 15 })
  await connectHosted(service, { app, user: person, external_user_id: 'ext-1' })
  const theirs = await service.createKey(developer.bearer, { billing_mode: 'user' })
  const url = '/v1/chat/completions'
  return [
    { url, headers: { authorization: `Bearer ${key}` } },
    { url: '/account/playground/chat/completions', headers: person.bearer },
    { url, headers: { authorization: `Bearer ${theirs.key}`, 'x-svc-user': 'ext-1' } },
  ] as const
}

/** Of a whole answer, or of the last line of a stream. */
function numbersOf(body: string): Numbers | undefined {
  const last = body.startsWith('{') ? body : (body.trim().split('data: ').at(-1) ?? '{}')
  const { svc } = JSON.parse(last) as { svc?: Numbers }
  return svc
}

const readNumber = (text: string) => Number(text.replaceAll(',', ''))

/** What the rows of the list say, newest first. */
async function readRows(page: Page) {
  for (let shown = 50; shown < CALLS; shown += 50) {
    await page.getByRole('button', { name: 'Load more' }).click()
    await page.locator(`.calls tbody:nth-of-type(${shown / 50 + 1})`).waitFor()
  }
  const rows = await page.evaluate<string[][]>(`
    Array.from(document.querySelectorAll('.calls tbody tr'), (row) => [
      row.querySelector('[data-call]').dataset.call,
      row.cells[6].innerText,
      row.cells[7].innerText,
    ])`)
  return rows.map(([id = '', credits = '', after = '']) => ({ id, credits, after }))
}

async function readReceipt(page: Page, id: string) {
  await page.locator('.ids code').first().getByText(id).waitFor()
  return await page.evaluate<Record<string, string>>(`
    Object.fromEntries(Array.from(document.querySelectorAll('.panel [data-line]'), (line) =>
      [line.dataset.line, line.innerText]))`)
}

test(`for ${CALLS} random calls (seed ${SEED}) receipt, usage row, statement line and reply are one figure`, {
  skip,
}, async () => {
  if (!stage) return
  const person = await stage.register()
  const told = await makeCalls(stage, person)
  assert.ok(told.some(({ numbers }) => numbers === undefined))
  const { page, open, complaints } = await stage.visit(person)
  await open('/usage')
  const rows = await readRows(page)
  assert.deepEqual(
    rows.map(({ id }) => id),
    told.map(({ id }) => id),
  )
  const statement = await readStatement(stage, person)
  await page.locator('[data-call]').first().click()
  for (const [place, { id, numbers }] of told.entries()) {
    const receipt = await readReceipt(page, id)
    const row = rows[place]
    const line = statement.get(id)
    if (numbers) {
      assert.deepEqual(
        {
          receipt: ['total', 'before', 'after'].map((part) => readNumber(receipt[part] ?? '')),
          row: [readNumber(row?.credits ?? ''), readNumber(row?.after ?? '')],
          statement: [line?.amount, line?.balance_before, line?.balance_after],
        },
        {
          receipt: [numbers.credits_used, numbers.balance_before, numbers.balance_after],
          row: [numbers.credits_used, numbers.balance_after],
          statement: [-numbers.credits_used, numbers.balance_before, numbers.balance_after],
        },
        id,
      )
      const sum = readNumber(receipt['cost'] ?? '') + readNumber(receipt['markup'] ?? '0')
      assert.equal(sum, numbers.credits_used)
    } else {
      assert.deepEqual([row?.credits, line], ['0', undefined])
    }
    if (place < told.length - 1) await page.keyboard.press('ArrowDown')
  }
  assert.deepEqual(complaints, [])
  await compareDays(stage, person, told)
})

type Line = { generation_id: string; amount: number; balance_before: number; balance_after: number }

async function readStatement(service: Stage, person: Person): Promise<Map<string, Line>> {
  const lines: Line[] = []
  let cursor = ''
  for (let page = 0; page <= CALLS / 100; page++) {
    const url = `/account/transactions?limit=100${cursor}`
    const reply = await service.request({ url, headers: person.bearer })
    const { data, next_cursor } = reply.json<{ data: Line[]; next_cursor: string | null }>()
    lines.push(...data)
    if (next_cursor === null) break
    cursor = `&cursor=${next_cursor}`
  }
  return new Map(lines.map((line) => [line.generation_id, line]))
}

/** In every time zone the days are those of UTC, and their sums are the total. */
async function compareDays(service: Stage, person: Person, told: readonly Told[]): Promise<void> {
  const expected = new Map<string, number>()
  for (const { at, numbers } of told) {
    const day = at.toLocaleString('en-US', { month: 'short', day: 'numeric', timeZone: 'UTC' })
    expected.set(day, (expected.get(day) ?? 0) + (numbers?.credits_used ?? 0))
  }
  for (const timezoneId of ZONES) {
    const { page, open, context } = await service.visit(person)
    const session = await context.newCDPSession(page)
    await session.send('Emulation.setTimezoneOverride', { timezoneId })
    await open('/usage')
    await settle(page)
    const zone = await page.evaluate('Intl.DateTimeFormat().resolvedOptions().timeZone')
    assert.equal(zone, timezoneId)
    const days = await page.evaluate<[string, string[]][]>(`
      Array.from(document.querySelectorAll('.twin tbody tr'), (row) => {
        const [day, ...cells] = Array.from(row.cells, (cell) => cell.textContent)
        return [day, cells]
      })`)
    const shown = days
      .map(([day, cells]) => [day, cells.reduce((sum, cell) => sum + readNumber(cell), 0)] as const)
      .filter(([, sum]) => sum > 0)
    const wanted = [...expected].filter(([, sum]) => sum > 0).toReversed()
    assert.deepEqual(shown, wanted, timezoneId)
    const total = await page.locator('[data-total="spend"] [title]').getAttribute('title')
    const sum = wanted.reduce((all, [, credits]) => all + credits, 0)
    assert.equal(total, `${sum.toLocaleString('en-US')} credits`)
  }
}
