// The playground in a real browser: an answer with its cost as it grows, its end to the credit, and what can go wrong.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { eventually } from '../support/eventually.ts'
import { wav } from '../support/sound.ts'
import { skipWithout } from '../support/system-parts.ts'
import { audit, openConsole } from './support.ts'

const skip = skipWithout('chromium')
const stage = skip ? undefined : await openConsole({ WELCOME_CREDITS: '5000000' })

async function arrive(path = '/playground') {
  if (!stage) throw new Error('there is no browser')
  const person = await stage.register()
  const visit = await stage.visit(person)
  await visit.open(path)
  const read = async <Body>(url: string): Promise<Body> =>
    (await stage.request({ url, headers: person.bearer })).json<Body>()
  return { ...visit, person, read }
}

async function say(page: Page, prompt: string) {
  await page.getByLabel('Message').fill(prompt)
  await page.keyboard.press('Enter')
}

const exactOf = async (page: Page, place = 0) =>
  Number(await page.locator('[data-exact]').nth(place).getAttribute('data-exact'))

type Row = Record<string, number | string | null>

test('the first press of Send is a charged call: credits tick, then stand exact, as on the receipt', {
  skip,
}, async () => {
  const { page, read, complaints, calls } = await arrive()
  assert.ok(calls.length <= 5, calls.join(', '))
  await audit(page, 'playground')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.locator('[data-exact]').waitFor()
  stage?.clock.advance(1_000)
  await say(page, '[[sandbox:tokens=400]] [[sandbox:pace=10]] Go on.')
  await page.evaluate(`(() => {
    window.ticks = new Set()
    new MutationObserver(() => {
      const shown = document.querySelector('[data-ticker]')
      if (shown) window.ticks.add(shown.dataset.ticker)
    }).observe(document.body, { subtree: true, childList: true, attributes: true })
  })()`)
  await page.locator('[data-exact]').nth(1).waitFor()
  assert.ok((await page.evaluate<number>('window.ticks.size')) > 3)
  assert.equal(await page.locator('[data-ticker]').count(), 0)

  const { data } = await read<{ data: Row[] }>('/account/usage')
  assert.deepEqual(
    [await exactOf(page, 1), await exactOf(page, 0)],
    data.map((row) => row['credits_used']),
  )
  const { balance } = await read<{ balance: number }>('/account')
  const said = await page.locator('.cost').nth(1).innerText()
  assert.ok(said.includes(`→ ${balance.toLocaleString('en-US')}`), said)
  assert.match(said, /First token after [\d,]+ ms/)
  await page.getByRole('link', { name: 'Receipt' }).nth(1).click()
  await page.locator('[data-line="total"]').waitFor()
  assert.equal(
    await page.locator('[data-line="total"]').innerText(),
    String(data[0]?.['credits_used']),
  )
  assert.deepEqual(complaints, [])
})

test('an answer is text: no HTML, no picture from elsewhere, no link that runs code; its code has colours', {
  skip,
}, async () => {
  const { page, complaints } = await arrive()
  await say(page, 'x')
  await page.locator('[data-exact]').waitFor()
  const prompt = `[[sandbox:echo]]
# Head
<img src=x onerror=alert(1)> **bold** [bad](javascript:alert(1)) [good](https://example.com/)
![picture](https://example.com/a.png)

\`\`\`js
const answer = 42 // yes
\`\`\`

| A | B |
|---|--:|
| 1 | 2 |`
  await page.getByLabel('Message').fill(prompt)
  await page.getByRole('button', { name: 'Send' }).click()
  const answer = page.locator('.answer').nth(1)
  await answer.locator('.hljs-keyword', { hasText: 'const' }).waitFor()
  assert.equal(await page.locator('main img, main script').count(), 0)
  assert.equal(await answer.getByText('<img src=x onerror=alert(1)>').count(), 1)
  assert.deepEqual(
    await page.evaluate<string[]>(
      `Array.from(document.querySelectorAll('.answer .markdown a'), (link) => link.href)`,
    ),
    ['https://example.com/', 'https://example.com/a.png'],
  )
  assert.equal(await answer.locator('td').nth(1).innerText(), '2')
  assert.equal(await page.locator('h1').count(), 1)
  await page.locator('[data-exact]').nth(1).waitFor()
  await audit(page, 'markdown')
  assert.deepEqual(complaints, [])
})

test('code that is longer than the window scrolls in its own place, and can be reached and copied', {
  skip,
}, async () => {
  const { page, complaints } = await arrive()
  const line = `const words = [${'"a word of many", '.repeat(20)}]`
  const code = Array.from({ length: 80 }, () => line).join('\n')
  await page.getByLabel('Message').fill(`[[sandbox:echo]]\n\`\`\`js\n${code}\n\`\`\``)
  await page.getByRole('button', { name: 'Send' }).click()
  await page.locator('[data-exact]').waitFor()
  await page.locator('.hljs-keyword').first().waitFor()
  const [shown = 0, whole = 0] = await page.evaluate<number[]>(
    `(({ clientHeight, scrollHeight }) => [clientHeight, scrollHeight])(
      document.querySelector('.answer .snippet .scroll-area'))`,
  )
  assert.ok(shown < whole, `${shown} of ${whole}`)
  await audit(page, 'long code')
  await page.locator('.answer').getByRole('button', { name: 'Copy' }).click()
  assert.equal(await page.evaluate<string>('navigator.clipboard.readText()'), code)
  assert.deepEqual(complaints, [])
})

test('a call of a tool is shown as it came; tools that are no JSON are refused before anything is sent', {
  skip,
}, async () => {
  const { page, calls, complaints } = await arrive()
  await page.getByRole('button', { name: 'Sandbox prompts' }).click()
  await page.getByRole('button', { name: 'A tool call' }).click()
  await page.getByRole('button', { name: 'Send' }).click()
  await page.locator('[data-exact]').waitFor()
  assert.match(await page.locator('.tool-call').innerText(), /"name": "get_weather"[^]*"city":/)
  await audit(page, 'a tool call as it came')
  await page.getByLabel('Tools (JSON)').fill('[{')
  await page.getByText('The tools are no list in JSON.').waitFor()
  const before = calls.length
  await say(page, 'Hello.')
  assert.equal(calls.slice(before).filter((call) => call.startsWith('POST')).length, 0)
  assert.deepEqual(complaints, [])
})

test('what is stopped is charged for what was used, and says so to the credit', {
  skip,
}, async () => {
  const { page, read } = await arrive()
  await say(page, '[[sandbox:tokens=4000]] [[sandbox:pace=20]] A long story.')
  await page.locator('.markdown p').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByText('You stopped it.').waitFor()
  await page.locator('[data-exact]').waitFor()
  const { data } = await read<{ data: Row[] }>('/account/usage')
  assert.deepEqual(
    data.map((row) => [row['status'], row['credits_used']]),
    [['cut', await exactOf(page)]],
  )
})

test('a rate limit says when to send again, and sends again; an error on the way is said', {
  skip,
}, async () => {
  const { page } = await arrive()
  await say(page, '[[sandbox:429=2]] Hello.')
  await page.getByRole('alert').getByText('provider_rate_limited').waitFor()
  await page.getByRole('button', { name: /Send again in \d s/ }).waitFor()
  await audit(page, 'rate limit')
  await page.getByRole('button', { name: 'Send again', exact: true }).click()
  await page.getByRole('button', { name: /Send again in \d s/ }).waitFor()
  assert.equal(await page.locator('.turn').count(), 1)
  await say(page, '[[sandbox:error_mid_stream]] Hello.')
  await page.getByRole('alert').nth(1).waitFor()
  assert.notEqual(await page.locator('.markdown').nth(1).innerText(), '')
})

test('an empty wallet is told to top up, and led there', { skip }, async () => {
  const poor = await openConsole({ WELCOME_CREDITS: '2' })
  const { page, open } = await poor.visit(await poor.register())
  await open('/playground?model=gpt-4')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('alert').getByText('insufficient_credits').waitFor()
  await audit(page, 'out of credits')
  await page.getByRole('link', { name: 'Top up' }).click()
  await page.waitForURL('**/console/topups')
})

test('audio models speak, sound and write down, each with its exact cost', { skip }, async () => {
  const { page, open, read, complaints } = await arrive(
    '/playground?model=elevenlabs%2Feleven_flash_v2_5',
  )
  await page.getByRole('button', { name: 'Make the sound' }).click()
  await page.locator('audio').waitFor()
  const has_sound = `document.querySelector('audio').duration > 0`
  await eventually('the sound is read', () => page.evaluate<boolean>(has_sound))
  const speech = await exactOf(page)
  await audit(page, 'speech')
  await open('/playground?model=elevenlabs%2Feleven_text_to_sound_v2')
  await page.getByRole('button', { name: 'Make the sound' }).click()
  await page.locator('audio').waitFor()
  const sound = await exactOf(page)
  await open('/playground?model=elevenlabs%2Fscribe_v1')
  const file = { name: 'a.wav', mimeType: 'audio/wav', buffer: Buffer.from(wav(2)) }
  await page.getByLabel('File with speech').setInputFiles(file)
  await page.getByRole('button', { name: 'Write it down' }).click()
  await page.locator('.answer .said').waitFor()
  await audit(page, 'transcription')
  const { data } = await read<{ data: Row[] }>('/account/usage')
  assert.deepEqual(
    new Set(data.map((row) => `${row['source']} ${row['credits_used']}`)),
    new Set([speech, sound, await exactOf(page)].map((credits) => `playground ${credits}`)),
  )
  assert.deepEqual(complaints, [])
})

test('the same call in code works as it is copied, once there is a key', { skip }, async () => {
  const { page, person, read } = await arrive('/playground?model=anthropic%2Fclaude-haiku-3.5')
  await page.getByLabel('System text').fill("Don't explain.")
  await page.getByLabel('Max tokens').fill('20')
  await page.getByLabel('Message').fill('It\'s "quoted" and $HOME stays.')
  await page.getByText('The same call in code').click()
  await page.getByRole('button', { name: 'Copy', exact: true }).click()
  const curl = await page.evaluate<string>('navigator.clipboard.readText()')
  const key = await stage?.createKey(person.bearer)
  const { stdout } = await promisify(execFile)('bash', ['-c', curl], {
    env: { ...process.env, SVC_API_KEY: key?.key },
  })
  assert.equal(JSON.parse(stdout).model, 'anthropic/claude-haiku-3.5')
  const { data } = await read<{ data: Row[] }>('/account/usage')
  assert.deepEqual([data.length, data[0]?.['output_tokens']], [1, 20])
  await page.getByRole('tab', { name: 'Python' }).click()
  const python = await page.locator('.fold .snippet').innerText()
  assert.match(python, /max_tokens=20,/)
  assert.match(python, /api_key="\$SVC_API_KEY"/)
})
