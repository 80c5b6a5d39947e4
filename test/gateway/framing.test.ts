// However the provider's bytes are cut, the client gets the same answer and pays the same.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { countTokens } from '../../sandbox/tokens.ts'
import {
  assertBooksClosed,
  chat,
  costOf,
  DIALECTS,
  mark,
  onlyUsageOf,
  PROVIDER_MODELS,
  promptTokensOf,
  recordsOf,
  saidIn,
  startGateway,
  svcOf,
} from '../support/gateway.ts'
import { startScriptedProvider } from '../support/scripted-provider.ts'

const FRAMINGS = [
  'split',
  'crlf',
  'comments',
  'big_event',
  'split]] [[sandbox:crlf]] [[sandbox:comments',
]

const gateway = await startGateway()
const customer = await gateway.customer(1_000_000_000n)

for (const model of PROVIDER_MODELS) {
  for (const dialect of DIALECTS) {
    describe(`${model} for ${dialect} clients`, () => {
      for (const framing of FRAMINGS) {
        test(`says and costs the same with ${framing.replaceAll(/\W+(sandbox)?\W*/g, '+')}`, async () => {
          const said = `Grüße 你好 Привет 👩‍🚀 ${mark()} `.repeat(8).trim()
          const prompt = `${said} [[sandbox:echo]] [[sandbox:${framing}]]`
          const key = await customer.newKey()
          const ask = { key: key.key, model, dialect, stream: true, max_tokens: 1_000 }
          const reply = await chat(gateway.url, { ...ask, prompt })
          assert.ok(reply.complete)
          assert.equal(saidIn(reply).trim(), said)
          const row = await onlyUsageOf(gateway, key.id)
          assert.deepEqual([row.estimated, row.outcome], [false, 'complete'])
          const tokens = { input: promptTokensOf(prompt), output: countTokens(saidIn(reply)) }
          assert.equal(row.credits_used, costOf(model, tokens))
          assert.equal(BigInt(svcOf(reply).credits_used), row.credits_used)
          for (const { data } of recordsOf(reply.text)) {
            if (data !== '[DONE]') JSON.parse(data)
          }
        })
      }
    })
  }
}

test('a chunk boundary at every single byte changes nothing', async () => {
  const script = await startScriptedProvider()
  const cut = await startGateway(
    { OPENAI_BASE_URL: `${script.url}/v1` },
    { database_url: gateway.database_url },
  )
  const chunk = (fields: string) => `data: {"id":"c","model":"m","choices":[${fields}]}\r\n\r\n`
  const body = Buffer.from(
    chunk('{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}') +
      chunk('{"index":0,"delta":{"content":"Grüße 你好 😀"},"finish_reason":null}') +
      chunk('{"index":0,"delta":{},"finish_reason":"stop"}') +
      'data: {"id":"c","model":"m","choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100}}\n\n' +
      'data: [DONE]\n\n',
  )
  const head =
    'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n'
  const piece = (bytes: Buffer) => `${bytes.length.toString(16)}\r\n${bytes.toString('latin1')}\r\n`
  const key = await customer.newKey()
  const answers = new Set<string>()
  for (let at = 1; at < body.length; at++) {
    const pieces = piece(body.subarray(0, at)) + piece(body.subarray(at))
    script.say({ bytes: Buffer.from(`${head}${pieces}0\r\n\r\n`, 'latin1').toString('latin1') })
    const ask = {
      key: key.key,
      model: 'gpt-4o-mini',
      prompt: 'Hello',
      stream: true,
      max_tokens: 200,
    }
    const reply = await chat(cut.url, ask)
    assert.equal(svcOf(reply).credits_used, 210, `cut at ${at}`)
    answers.add(saidIn(reply))
  }
  assert.deepEqual([...answers], ['Grüße 你好 😀'])
})

test('after all of this no hold is open and the ledger proves itself', () =>
  assertBooksClosed(gateway))
