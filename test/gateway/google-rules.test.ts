// What is special about Google's models, seen by a client: what they cannot do is named, an answer that is empty
// for a reason unheard of costs nothing, and what they sign comes back.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertBooksClosed,
  balanceOf,
  chat,
  codeOf,
  DIALECTS,
  mark,
  startGateway,
  upstreamCalls,
  usageOf,
} from '../support/gateway.ts'
import { eventStream, jsonBody, startScriptedProvider } from '../support/scripted-provider.ts'

const gateway = await startGateway()
const scripted = await startScriptedProvider()
const scripted_gateway = await startGateway(
  { GOOGLE_BASE_URL: scripted.url },
  { database_url: gateway.database_url },
)
const customer = await gateway.customer(1_000_000_000n)

const model = 'google/gemini-2.5-flash'
const USAGE = { promptTokenCount: 9, candidatesTokenCount: 5, totalTokenCount: 14 }

/** One answer of Google, as a stream or whole. */
function answer(parts: object[], finishReason: string, stream: boolean): string {
  const candidates = [{ content: { role: 'model', parts }, finishReason, index: 0 }]
  const body = JSON.stringify({ candidates, usageMetadata: USAGE, responseId: 'r1' })
  return stream ? eventStream(body) : jsonBody(body)
}

test('what Gemini has no word for is named in the reply, and not sent', async () => {
  const own = await customer.newKey()
  const cases = {
    openai: {
      extra: { frequency_penalty: 0.5, presence_penalty: 0, logit_bias: { 7: 1 } },
      named: ['frequency_penalty', 'logit_bias'],
    },
    anthropic: {
      extra: { stop_sequences: ['1', '2', '3', '4', '5', 'sixth'], service_tier: 'auto' },
      named: ['service_tier', 'stop_sequences'],
    },
  }
  for (const dialect of DIALECTS) {
    const { extra, named } = cases[dialect]
    const prompt = mark()
    const reply = await chat(gateway.url, { key: own.key, model, prompt, dialect, extra })
    assert.equal(reply.status, 200, reply.text)
    const told = String(reply.headers['x-svc-ignored-fields']).split(', ')
    assert.deepEqual(told.sort(), named)
    const [call] = upstreamCalls(gateway, prompt)
    assert.doesNotMatch(JSON.stringify(call?.body), /enalty|sixth/)
  }
})

test('an answer without content that ended for an unknown reason is filtered, and free', async () => {
  const before = await balanceOf(gateway, customer.account_id)
  const own = await customer.newKey()
  for (const dialect of DIALECTS) {
    for (const stream of [true, false]) {
      scripted.say({ bytes: answer([], 'SOMETHING_NEW', stream) })
      const ask = { key: own.key, model, prompt: 'Hello', dialect, stream }
      const reply = await chat(scripted_gateway.url, ask)
      assert.deepEqual([reply.status, codeOf(reply)], [400, 'content_filtered'], reply.text)
      assert.match(reply.text, /"provider_code":"SOMETHING_NEW"/)
    }
  }
  assert.deepEqual(await usageOf(gateway, own.id), [])
  assert.deepEqual(await balanceOf(gateway, customer.account_id), before)
})

test('the same reason after some content ends a paid answer in good order', async () => {
  for (const dialect of DIALECTS) {
    for (const stream of [true, false]) {
      const own = await customer.newKey()
      scripted.say({ bytes: answer([{ text: 'Well.' }], 'SOMETHING_NEW', stream) })
      const ask = { key: own.key, model, prompt: 'Hello', dialect, stream }
      const reply = await chat(scripted_gateway.url, ask)
      assert.equal(reply.status, 200, reply.text)
      assert.match(reply.text, /"(finish_reason":"stop|stop_reason":"end_turn)"/)
      const [row] = await usageOf(gateway, own.id)
      assert.deepEqual([row?.output_tokens, row?.estimated], [5, false])
    }
  }
})

test('the signature of a text reaches the client, in both formats', async () => {
  const own = await customer.newKey()
  for (const dialect of DIALECTS) {
    for (const stream of [true, false]) {
      const parts = [{ text: 'Well.', thoughtSignature: 'c2lnbmVk' }]
      scripted.say({ bytes: answer(parts, 'STOP', stream) })
      const ask = { key: own.key, model, prompt: 'Hello', dialect, stream }
      const reply = await chat(scripted_gateway.url, ask)
      const place =
        dialect === 'openai'
          ? /"extra_content":\{"google":\{"thought_signature":"c2lnbmVk"\}\}/
          : /"signature":"google\.text:c2lnbmVk"/
      assert.match(reply.text, place)
    }
  }
})

test('after all of this the ledger proves itself', () => assertBooksClosed(gateway))
