// What a stranger copies from the pages about accounts, embeddings, audio, top-ups and payouts works.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { startSandbox } from '../../sandbox/main.ts'
import { openShop } from '../payouts/shop.ts'
import { atEnd } from '../support/cleanup.ts'
import { followPage } from '../support/documented-commands.ts'

const shop = await openShop()
const addresses = { 'http://localhost:8080': shop.base }

test('docs/accounts.md: every command runs, from the registration to the logout', async () => {
  const lines = (await followPage({ file: 'docs/accounts.md', addresses })).flat()
  assert.equal(lines.filter((line) => line === '{"success":true}').length, 3)
  assert.ok(lines.includes('data: [DONE]'))
  assert.ok(lines.some((line) => line.startsWith('id,created_at,kind')))
})

test('docs/embeddings.md: every command runs, and every vector is as long as was asked for', async () => {
  const lines = (await followPage({ file: 'docs/embeddings.md', addresses })).flat()
  const [openai, google] = lines
    .slice(-2)
    .map((line) => JSON.parse(line) as { data: { embedding: string | number[] }[] })
  assert.deepEqual(
    openai?.data.map(({ embedding }) => embedding.length),
    [8, 8],
  )
  const packed = google?.data[0]?.embedding
  assert.ok(typeof packed === 'string')
  assert.equal(Buffer.from(packed, 'base64').length, 128 * 4)
})

test('docs/audio.md: every command runs, and what was said is heard again', async () => {
  const lines = (await followPage({ file: 'docs/audio.md', addresses })).flat()
  assert.ok(lines.some((line) => line.includes('speech.audio.done')))
  const transcript = lines.find((line) => line.startsWith('{"text":')) ?? ''
  assert.ok((JSON.parse(transcript) as { text: string }).text.length > 0)
  assert.ok(lines.some((line) => line.includes(' --> ')))
})

test('docs/topups.md: every command runs, once the reader has paid', async () => {
  const readFields = async (line: string) => {
    const fields = JSON.parse(line) as Record<string, string>
    const checkout = fields['checkout_url']?.split('/').at(-1)
    if (checkout !== undefined) {
      await shop.control('POST', `/checkout/${checkout}/pay`, { card: 'visa' })
      await shop.settle()
    }
    return fields
  }
  const lines = (await followPage({ file: 'docs/topups.md', addresses, readFields })).flat()
  assert.ok(lines.some((line) => /"state":"paid"/.test(line)))
  assert.ok(lines.some((line) => /"enabled":true/.test(line)))
})

test('docs/payouts.md: every request runs, once the reader has answered the questions', async () => {
  const readFields = async (line: string) => {
    const fields = JSON.parse(line) as Record<string, string>
    const account = fields['stripe_account_id']
    if (account !== undefined) {
      await shop.control('POST', `/accounts/${account}`, { outcome: 'complete' })
    }
    return fields
  }
  const isWanted = (block: string) => block.includes('curl')
  const file = 'docs/payouts.md'
  const lines = (await followPage({ file, addresses, readFields, isWanted })).flat()
  assert.ok(lines.some((line) => /"onboarding_completed":true/.test(line)))
  assert.ok(lines.some((line) => /"dashboard_url"/.test(line)))
})

test('docs/sandbox.md: every command runs', async () => {
  const sandbox = await startSandbox({ port: 0 })
  atEnd(() => sandbox.close())
  const { origin } = new URL(sandbox.urls.stripe)
  const file = 'docs/sandbox.md'
  const blocks = await followPage({ file, addresses: { 'http://127.0.0.1:8090': origin } })
  assert.equal(blocks.length, 2)
})

test('every page with a request is run by a test', () => {
  const pages = readdirSync('docs').filter((file) => {
    if (!file.endsWith('.md')) return false
    const blocks = readFileSync(`docs/${file}`, 'utf8').matchAll(/^ *```sh\n(.*?)^ *```$/gms)
    return [...blocks].some(([, block = '']) => /^\s*curl\b/m.test(block))
  })
  const runners = [
    'test/contract/documentation.test.ts',
    'test/gateway/documentation.test.ts',
    'test/oauth/documentation.test.ts',
    'test/usage/documentation.test.ts',
    'test/webhooks/documentation.test.ts',
  ]
  const run = runners.map((file) => readFileSync(file, 'utf8')).join('')
  assert.deepEqual(
    pages.filter((file) => !run.includes(`docs/${file}`)),
    [],
  )
})
