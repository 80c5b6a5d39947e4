// Real processes on one database: calls that interleave on one wallet, a stop in the middle of streams, and a
// process that is killed.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { createDatabase, sql } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import {
  assertBooksClosed,
  balanceOf,
  chat,
  costOf,
  DIALECTS,
  LONG,
  mark,
  onlyUsageOf,
  openChat,
  PROVIDER_MODELS,
  promptTokensOf,
  readReply,
  startGateway,
  svcOf,
  upstreamCalls,
  usageOf,
} from '../support/gateway.ts'
import { startServer } from '../support/service.ts'
import { sharedSandbox } from '../support/shared-sandbox.ts'

const CREDITS = 1_000_000n
/** A dead process is noticed within fifteen seconds, and swept within four more. */
const SWEPT_WITHIN_MS = 20_000

const sandbox = await sharedSandbox()
const SETTINGS = {
  DATABASE_URL: await createDatabase(),
  OPENAI_API_KEY: 'sandbox',
  OPENAI_BASE_URL: sandbox.urls.openai,
  ANTHROPIC_API_KEY: 'sandbox',
  ANTHROPIC_BASE_URL: sandbox.urls.anthropic,
  GOOGLE_API_KEY: 'sandbox',
  GOOGLE_BASE_URL: sandbox.urls.google,
}
const books = { database_url: SETTINGS.DATABASE_URL, sandbox }

describe('processes that share a database', { concurrency: true }, () => {
  test('charge one wallet in a chain without a gap, whichever of them is asked', async (t) => {
    const [left, right] = await Promise.all([startServer(SETTINGS), startServer(SETTINGS)])
    t.after(() => Promise.all([left.kill(), right.kill()]))
    const customer = await makeCustomer()
    const count = LONG ? 600 : 80
    const replies = await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const server = index % 2 === 0 ? left : right
        const model = PROVIDER_MODELS[index % 3] ?? 'gpt-4o-mini'
        const dialect = DIALECTS[Math.floor(index / 2) % 2] ?? 'openai'
        const stream = index % 5 < 2
        const prompt = `${mark()} [[sandbox:tokens=${10 + index}]]`
        // As long as the longest answer asked for: a shorter limit would be what is charged.
        const max_tokens = 10 + count
        const ask = { key: customer.key, model, prompt, dialect, stream, max_tokens }
        const reply = await chat(server.url, ask)
        assert.equal(reply.status, 200, reply.text)
        const exact = costOf(model, { input: promptTokensOf(prompt), output: 10 + index })
        assert.equal(BigInt(svcOf(reply).credits_used), exact)
        return svcOf(reply)
      }),
    )
    const sum = replies.reduce((total, { credits_used }) => total + BigInt(credits_used), 0n)
    const { posted } = await balanceOf(books, customer.account_id)
    assert.equal(posted, CREDITS - sum)
    const chain = await sql<{ wallet_seq: string; amount: string; balance_after: string }>(
      books.database_url,
      'select wallet_seq, amount, balance_after from journal where owner = $1 order by wallet_seq',
      [customer.account_id],
    )
    assert.equal(chain.length, count + 1, 'one line for each call, one for the grant')
    let balance = 0n
    chain.forEach((line, index) => {
      balance += BigInt(line.amount)
      assert.deepEqual(
        [BigInt(line.wallet_seq), BigInt(line.balance_after)],
        [BigInt(index + 1), balance],
      )
    })
  })

  test('a stop completes the streams that run, and charges them', async (t) => {
    const server = await startServer(SETTINGS)
    t.after(() => server.kill())
    const customer = await makeCustomer()
    const prompt = `${mark()} [[sandbox:tokens=120]] [[sandbox:pace=30]]`
    const running = PROVIDER_MODELS.flatMap((model) =>
      DIALECTS.map((dialect) => {
        const ask = { key: customer.key, model, prompt, dialect, stream: true, max_tokens: 500 }
        const request = openChat(server.url, ask)
        return { model, request, reply: readReply(request) }
      }),
    )
    await Promise.all(running.map(({ request }) => once(request, 'response')))
    const stopped = server.stop()
    for (const { model, reply } of running) {
      const exact = costOf(model, { input: promptTokensOf(prompt), output: 120 })
      assert.equal(BigInt(svcOf(await reply).credits_used), exact)
    }
    assert.equal((await stopped).code, 0)
    assert.equal((await usageOf(books, customer.key_id)).length, running.length)
    assert.equal((await balanceOf(books, customer.account_id)).held, 0n)
  })

  test('a stop waits for calls whose client has left, and ends in time what takes too long', async (t) => {
    const server = await startServer(SETTINGS)
    t.after(() => server.kill())
    const model = 'google/gemini-2.0-flash'
    const [short, long] = [await makeCustomer(), await makeCustomer()]
    const prompts = {
      short: `${mark()} [[sandbox:tokens=60]] [[sandbox:pace=60]]`,
      long: `${mark()} [[sandbox:tokens=2000]] [[sandbox:pace=60]]`,
    }
    for (const [customer, prompt] of [
      [short, prompts.short],
      [long, prompts.long],
    ] as const) {
      const request = openChat(server.url, { key: customer.key, model, prompt, stream: true })
      const [response] = await once(request, 'response')
      await once(response, 'data')
      request.destroy()
    }
    const ended = await server.stop()
    assert.equal(ended.code, 0)
    const drained = await onlyUsageOf(books, short.key_id)
    assert.deepEqual([drained.estimated, drained.outcome], [false, 'client_left'])
    const exact = costOf(model, { input: promptTokensOf(prompts.short), output: 60 })
    assert.equal(drained.credits_used, exact)
    const cut = await onlyUsageOf(books, long.key_id)
    assert.deepEqual([cut.estimated, cut.outcome], [true, 'client_left'])
    assert.ok(cut.credits_used > 0n)
    assert.equal((await balanceOf(books, long.account_id)).held, 0n)
  })

  test('what a killed process held is given back by another within 20 s, and nothing is charged twice', async (t) => {
    const [victim, witness] = await Promise.all([startServer(SETTINGS), startServer(SETTINGS)])
    t.after(() => Promise.all([victim.kill(), witness.kill()]))
    const customer = await makeCustomer()
    const served = `${mark()} [[sandbox:tokens=30]]`
    const ask = { key: customer.key, model: 'gpt-4o-mini', stream: true, max_tokens: 500 }
    const before = await chat(victim.url, { ...ask, prompt: served })
    const marker = mark()
    const prompt = `${marker} [[sandbox:tokens=400]] [[sandbox:pace=50]]`
    const streams = Array.from({ length: 5 }, () => openChat(victim.url, { ...ask, prompt }))
    await Promise.all(streams.map((request) => once(request, 'response')))
    assert.ok((await balanceOf(books, customer.account_id)).held > 0n)
    await victim.kill()
    const isSwept = async () => (await balanceOf(books, customer.account_id)).held === 0n
    const took_ms = await eventually('the holds are given back', isSwept, SWEPT_WITHIN_MS)
    t.diagnostic(`after ${Math.round(took_ms)} ms`)
    const [row, ...more] = await usageOf(books, customer.key_id)
    assert.deepEqual(more, [], 'calls that nobody finished are not charged')
    assert.equal(row?.credits_used, BigInt(svcOf(before).credits_used))
    const isOver = () => upstreamCalls(books, marker).every((call) => call.ending === 'client_left')
    await eventually('the providers stop', isOver)
    const after_it = await chat(witness.url, { ...ask, prompt: served })
    assert.equal(svcOf(after_it).balance_before, svcOf(before).balance_after)
  })
})

test('after all of this no hold is open and the ledger proves itself', () =>
  assertBooksClosed(books))

/** Made by an app of this process on the same database: only its keys are used elsewhere. */
async function makeCustomer() {
  const customer = await (await maker()).customer(CREDITS)
  const { key, id } = await customer.newKey()
  return { account_id: customer.account_id, key, key_id: id }
}

let making: ReturnType<typeof startGateway> | undefined

function maker() {
  making ??= startGateway({}, { database_url: SETTINGS.DATABASE_URL })
  return making
}
