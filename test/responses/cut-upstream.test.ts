// OpenAI's Responses API breaks off at every byte of its stream: whoever reads is told once how it ended, pays once or not
// at all, and the wallet agrees. Each cut is a call of its own; several payers make theirs at once.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import { atEnd } from '../support/cleanup.ts'
import { LONG } from '../support/gateway.ts'
import { addResponder, openResponder, type Responder } from '../support/responses.ts'
import { checkResponsesStream } from '../support/responses-stream.ts'
import { startScriptedProvider } from '../support/scripted-provider.ts'

const model = 'gpt-5-mini'
/** A prime, so that the cuts fall on all kinds of places. */
const STEP = LONG ? 1 : 701
const PAYERS = LONG ? 8 : 2
const SAID_EVERY = 1_000
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n'

const script = await startScriptedProvider()
const { service } = await openResponder({
  OPENAI_BASE_URL: `${script.url}/v1`,
  OPENAI_API_KEY: 'sk-test',
  PUBLIC_URL: 'https://svc.example',
})
// One connection for all that is read of the wallets: a new one costs more than the call.
const database = new Client({ connectionString: service.database_url })
await database.connect()
atEnd(() => database.end())
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
type Cut = { stream: number; place: number }

const cuts: Cut[] = said.flatMap(({ length }, stream) => {
  const places = new Set([0, length - 2, length - 1, length])
  for (let place = 1; place < length; place += STEP) places.add(place)
  return [...places].map((place) => ({ stream, place }))
})
script.sayByRequest((request) => {
  const [, stream, place] = /Cut (\d+) at (\d+)/.exec(request) ?? []
  const bytes = said[Number(stream)]?.subarray(0, Number(place)).toString('latin1')
  return { bytes: HEAD + bytes }
})

/** The prompt says where the answer breaks off. */
const promptOf = ({ stream, place }: Cut) => `Cut ${stream} at ${place}.`
const messagesOf = (cut: Cut) => [{ role: 'user', content: promptOf(cut) }]
const CLIENTS = [
  {
    name: 'responses',
    path: '/v1/responses',
    body: (cut: Cut) => ({ model, input: promptOf(cut), tools: [tool], stream: true }),
    ends: (text: string) => checkResponsesStream(text).response.status !== 'failed',
    fault: /^event: error$/gm,
  },
  {
    name: 'chat completions',
    path: '/v1/chat/completions',
    body: (cut: Cut) => ({ model, messages: messagesOf(cut), stream: true }),
    ends: (text: string) => text.includes('[DONE]'),
    fault: /^data: \{"error":/gm,
  },
  {
    name: 'messages',
    path: '/v1/messages',
    body: (cut: Cut) => ({ model, messages: messagesOf(cut), max_tokens: 500, stream: true }),
    ends: (text: string) => text.includes('event: message_stop'),
    fault: /^event: error$/gm,
  },
]
const payers: Responder[] = []
for (let number = 0; number < PAYERS; number++) payers.push(await addResponder(service))

type Wallet = { balance: number; held: number; calls: number; charged: number }

async function walletOf({ user_id, key }: Responder): Promise<Wallet> {
  const reply = await service.request({ url: '/v1/balance', headers: { 'x-api-key': key } })
  const { rows } = await database.query<{ calls: number; charged: number }>({
    name: 'calls',
    text: `select count(*)::int as calls, coalesce(sum(credits_used), 0)::int as charged
      from usage_event where wallet_id = $1`,
    values: [user_id],
  })
  const { balance, held } = reply.json<{ balance: number; held: number }>()
  return { balance, held, calls: rows[0]?.calls ?? 0, charged: rows[0]?.charged ?? 0 }
}

/** The numbers at the end of a stream, in whichever format. */
function numbersIn(text: string): unknown[] {
  const numbers = ['balance_before', 'credits_used', 'balance_after']
  return numbers.map((name) => Number(new RegExp(`"${name}":(\\d+)`).exec(text)?.[1]))
}

/** Answers the wallet as it is then. */
async function checkCut(
  client: (typeof CLIENTS)[number],
  payer: Responder,
  cut: Cut,
  before: Wallet,
): Promise<Wallet> {
  const reply = await payer.post(client.body(cut), { path: client.path })
  const after = await walletOf(payer)
  const used = before.balance - after.balance
  const length = said[cut.stream]?.length
  const label = `stream ${cut.stream} cut at ${cut.place} of ${length}`
  assert.equal(after.held, 0, label)
  assert.equal(after.charged - before.charged, used, label)
  assert.equal(after.calls - before.calls, used > 0 ? 1 : 0, label)
  const is_whole = reply.statusCode === 200 && client.ends(reply.body)
  assert.equal(is_whole, cut.place === length, label)
  if (reply.statusCode === 200) {
    assert.equal(reply.body.match(client.fault)?.length ?? 0, is_whole ? 0 : 1, label)
  }
  if (is_whole) {
    assert.deepEqual(numbersIn(reply.body), [before.balance, used, after.balance], label)
  } else if (reply.statusCode !== 200) assert.equal(used, 0, label)
  return after
}

for (const client of CLIENTS) {
  test(`a client of ${client.name} is told one end and pays once, wherever the stream breaks`, async () => {
    let made = 0
    const makeCuts = async (payer: Responder) => {
      try {
        let wallet = await walletOf(payer)
        for (let cut = cuts[made++]; cut !== undefined; cut = cuts[made++]) {
          wallet = await checkCut(client, payer, cut, wallet)
          if (made % SAID_EVERY === 0) console.log(`${client.name}: ${made} of ${cuts.length} cuts`)
        }
      } finally {
        // Where one has failed the others stop, too.
        made = cuts.length
      }
    }
    await Promise.all(payers.map(makeCuts))
  })
}
