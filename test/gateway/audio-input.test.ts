// Sound in a prompt: Gemini's Flash models take more for it than for text, and the hold covers it beforehand.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../support/database.ts'
import { assertBooksClosed, chat, startGateway, svcOf } from '../support/gateway.ts'

const gateway = await startGateway()

/** Credits per million tokens, as Google publishes them: text, sound, output. */
const PRICES = {
  'google/gemini-2.5-pro': [1_250_000, 1_250_000, 10_000_000],
  'google/gemini-2.5-flash': [300_000, 1_000_000, 2_500_000],
  'google/gemini-2.0-flash': [100_000, 700_000, 400_000],
} as const

const content = [
  { type: 'text', text: 'What is said here? [[sandbox:reasoning=0]] [[sandbox:tokens=20]]' },
  { type: 'input_audio', input_audio: { format: 'mp3', data: 'AAAA'.repeat(40_000) } },
]

for (const [model, [text, sound, output]] of Object.entries(PRICES)) {
  for (const stream of [false, true]) {
    test(`sound costs its own price on ${model}${stream ? ', streamed' : ''}`, async () => {
      const customer = await gateway.customer(1_000_000n)
      const key = await customer.newKey()
      const extra = {
        messages: [{ role: 'user', content }],
        ...(stream && { stream_options: { include_usage: true } }),
      }
      const ask = { key: key.key, model, prompt: '', stream, max_tokens: 100, extra }
      const reply = await chat(gateway.url, ask)
      assert.equal(reply.status, 200, reply.text)
      const [row] = await sql<{
        input_tokens: string
        output_tokens: string
        details: { audio_input_tokens: number }
      }>(
        gateway.database_url,
        'select input_tokens, output_tokens, details from usage_event where key_id = $1',
        [key.id],
      )
      assert.ok(row)
      const heard = row.details.audio_input_tokens
      assert.ok(heard > 100, `${heard} tokens of sound`)
      assert.match(reply.text, new RegExp(`"audio_tokens":${heard}`))
      const read = Number(row.input_tokens) - heard
      const millionths = read * text + heard * sound + Number(row.output_tokens) * output
      assert.equal(svcOf(reply).credits_used, Math.ceil(millionths / 1_000_000))
    })
  }
}

test('a wallet that covers the sound as text, but not as sound, is refused beforehand', async () => {
  const model = 'google/gemini-2.0-flash'
  const tokens_at_most = 120_000 / 24
  const customer = await gateway.customer(BigInt(tokens_at_most * 0.2))
  const key = await customer.newKey()
  const extra = { messages: [{ role: 'user', content }] }
  const reply = await chat(gateway.url, { key: key.key, model, prompt: '', max_tokens: 20, extra })
  assert.equal(reply.status, 402, reply.text)
})

test('after all of this the ledger proves itself', () => assertBooksClosed(gateway))
