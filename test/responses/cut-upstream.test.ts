// OpenAI's Responses API breaks off at every byte of its stream: whoever reads is told once how it ended, pays once or not
// at all, and the wallet agrees.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../support/database.ts'
import { LONG } from '../support/gateway.ts'
import { addResponder, openResponder } from '../support/responses.ts'
import { checkResponsesStream } from '../support/responses-stream.ts'
import { startScriptedProvider } from '../support/scripted-provider.ts'

const model = 'gpt-5-mini'
/** A prime, so that the cuts fall on all kinds of places. */
const STEP = LONG ? 1 : 701
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n'

const script = await startScriptedProvider()
const { service } = await openResponder({
  OPENAI_BASE_URL: `${script.url}/v1`,
  OPENAI_API_KEY: 'sk-test',
  PUBLIC_URL: 'https://svc.example',
})
const tool = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }

/** What the stand-in says, byte for byte. */
async function listen(): Promise<Buffer[]> {
  const url = `${service.sandbox.urls.openai}/responses`
  const ask = async (input: string) => {
    const reasoning = { effort: 'low', summary: 'auto' }
    const include = ['reasoning.encrypted_content']
    const asked = { model, input, tools: [tool], reasoning, include, store: false, stream: true }
    const headers = { authorization: 'Bearer sk-test', 'content-type': 'application/json' }
    const reply = await fetch(url, { method: 'POST', headers, body: JSON.stringify(asked) })
    assert.equal(reply.status, 200)
    return Buffer.from(await reply.arrayBuffer())
  }
  return [
    await ask('Think and say. [[sandbox:reasoning=40]] [[sandbox:tokens=12]]'),
    await ask('Think and call. [[sandbox:reasoning=40]] [[sandbox:tool]]'),
  ]
}

const said = await listen()
const messages = [{ role: 'user', content: 'Hello' }]
const CLIENTS = [
  {
    name: 'responses',
    path: '/v1/responses',
    body: { model, input: 'Hello', tools: [tool], stream: true },
    ends: (text: string) => checkResponsesStream(text).response.status !== 'failed',
  },
  {
    name: 'chat completions',
    path: '/v1/chat/completions',
    body: { model, messages, stream: true },
    ends: (text: string) => text.includes('[DONE]'),
  },
  {
    name: 'messages',
    path: '/v1/messages',
    body: { model, messages, max_tokens: 500, stream: true },
    ends: (text: string) => text.includes('event: message_stop'),
  },
]

type Wallet = { balance: number; held: number; calls: number; charged: number }

async function walletOf({ user_id, key }: { user_id: string; key: string }): Promise<Wallet> {
  const reply = await service.request({ url: '/v1/balance', headers: { 'x-api-key': key } })
  const [row] = await sql<{ calls: number; charged: number }>(
    service.database_url,
    `select count(*)::int as calls, coalesce(sum(credits_used), 0)::int as charged
     from usage_event where wallet_id = $1`,
    [user_id],
  )
  const { balance, held } = reply.json<{ balance: number; held: number }>()
  return { balance, held, calls: row?.calls ?? 0, charged: row?.charged ?? 0 }
}

/** The numbers at the end of a stream, in whichever format. */
function numbersIn(text: string): unknown[] {
  const numbers = ['balance_before', 'credits_used', 'balance_after']
  return numbers.map((name) => Number(new RegExp(`"${name}":(\\d+)`).exec(text)?.[1]))
}

for (const client of CLIENTS) {
  test(`a client of ${client.name} is told one end and pays once, wherever the stream breaks`, async () => {
    const payer = await addResponder(service)
    let before = await walletOf(payer)
    for (const bytes of said) {
      const { length } = bytes
      const places = new Set([0, length - 2, length - 1, length])
      for (let place = 1; place < length; place += STEP) places.add(place)
      for (const place of places) {
        script.say({ bytes: HEAD + bytes.subarray(0, place).toString('latin1') })
        const reply = await payer.post(client.body, { path: client.path })
        const after = await walletOf(payer)
        const used = before.balance - after.balance
        const label = `cut at ${place} of ${length}`
        assert.equal(after.held, 0, label)
        assert.equal(after.charged - before.charged, used, label)
        assert.equal(after.calls - before.calls, used > 0 ? 1 : 0, label)
        const is_whole = reply.statusCode === 200 && client.ends(reply.body)
        assert.equal(is_whole, place === length, label)
        if (is_whole) {
          assert.deepEqual(numbersIn(reply.body), [before.balance, used, after.balance], label)
        } else if (reply.statusCode !== 200) assert.equal(used, 0, label)
        before = after
      }
    }
  })
}
