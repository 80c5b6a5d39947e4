// Wallets and keys that cover only part of what is asked: never a credit more than there is, however many ask
// at once. Many at once, here, of a model that holds in full; growth.test.ts has those whose holds grow.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import {
  assertBooksClosed,
  balanceOf,
  type ChatReply,
  chat,
  codeOf,
  costOf,
  DIALECTS,
  LONG,
  type ModelName,
  mark,
  openChat,
  PRICES,
  promptTokensOf,
  readReply,
  startGateway,
  svcOf,
  upstreamCalls,
  usageOf,
} from '../support/gateway.ts'

const gateway = await startGateway()
const MODEL = 'google/gemini-2.0-flash'
/** Much longer than a hold waits for others to end, also on a busy machine. */
const SLOW = '[[sandbox:slow=4000]]'

describe('a wallet that covers only part of an answer', () => {
  const models: ModelName[] = [
    'gpt-4o-mini',
    'gpt-5-mini',
    'anthropic/claude-haiku-3.5',
    'anthropic/claude-sonnet-4',
    'google/gemini-2.0-flash',
    'google/gemini-2.5-flash',
  ]
  for (const model of models) {
    test(`lowers the limit that ${model} is sent to what it covers`, async () => {
      // The price of 400 tokens of output: a part of it goes to the prompt.
      const credits = (PRICES[model].output * 400n) / 1_000_000n
      for (const dialect of DIALECTS) {
        for (const stream of [true, false]) {
          const customer = await gateway.customer(credits)
          const key = await customer.newKey()
          const marker = mark()
          const prompt = `${marker} [[sandbox:tokens=900]] [[sandbox:reasoning=0]]`
          const ask = { key: key.key, model, prompt, dialect, stream, max_tokens: 900 }
          const reply = await chat(gateway.url, ask)
          assert.equal(reply.status, 200, reply.text)
          const limit = outputLimit(upstreamCalls(gateway, marker)[0]?.body)
          assert.ok(limit >= 16 && limit < 400, `${limit} of 400`)
          assert.match(reply.text, /"(finish_reason":"length|stop_reason":"max_tokens)"/)
          const svc = svcOf(reply)
          const exact = costOf(model, { input: promptTokensOf(prompt), output: limit })
          assert.deepEqual(
            [BigInt(svc.credits_used), BigInt(svc.balance_before), BigInt(svc.balance_after)],
            [exact, credits, credits - exact],
          )
          assert.ok(exact <= credits)
          const left = { posted: credits - exact, held: 0n }
          assert.deepEqual(await balanceOf(gateway, customer.account_id), left)
        }
      }
    })
  }

  test('shares the limit among the answers that were asked for', async () => {
    const customer = await gateway.customer(300n)
    const key = await customer.newKey()
    const marker = mark()
    const prompt = `${marker} [[sandbox:tokens=900]]`
    const model = 'gpt-4o-mini'
    const reply = await chat(gateway.url, { key: key.key, model, prompt, extra: { n: 3 } })
    assert.equal(reply.status, 200, reply.text)
    const limit = outputLimit(upstreamCalls(gateway, marker)[0]?.body)
    assert.ok(limit >= 16 && limit * 3 <= 500, `${limit} of 500`)
    const exact = costOf(model, { input: promptTokensOf(prompt), output: 3 * limit })
    assert.equal(BigInt(svcOf(reply).credits_used), exact)
  })

  test('also where the model is to think first: the budget shrinks with the limit', async () => {
    const credits = 30_000n
    for (const dialect of DIALECTS) {
      const customer = await gateway.customer(credits)
      const key = await customer.newKey()
      const thinking = { type: 'enabled', budget_tokens: 3_000 }
      const reply = await chat(gateway.url, {
        key: key.key,
        model: 'anthropic/claude-sonnet-4',
        prompt: `${mark()} [[sandbox:tokens=5000]] [[sandbox:reasoning=3000]]`,
        dialect,
        max_tokens: 8_000,
        extra: dialect === 'openai' ? { reasoning_effort: 'high' } : { thinking },
      })
      assert.equal(reply.status, 200, reply.text)
      const { credits_used, balance_after } = svcOf(reply)
      assert.ok(credits_used > 0 && balance_after >= 0)
    }
  })
})

describe('many calls at once on one small wallet', { concurrency: true }, () => {
  test('exactly as many are served as the wallet covers, the others are 402 and never reach a provider', async () => {
    const held = await holdOfOne()
    const customer = await gateway.customer(3n * held)
    const key = await customer.newKey()
    const markers = Array.from({ length: 12 }, mark)
    const replies = await Promise.all(
      markers.map((marker) => chat(gateway.url, askOf(key.key, marker, SLOW))),
    )
    assert.deepEqual(countStatuses(replies), { 200: 3, 402: 9 })
    const reached = markers.filter((marker) => upstreamCalls(gateway, marker).length > 0)
    assert.equal(reached.length, 3)
    await assertDrop(customer.account_id, key.id, { before: 3n * held, replies })
  })

  test('the sum of the charges is the drop of the balance, and the balance is never negative', async () => {
    const credits = 600n
    const customer = await gateway.customer(credits)
    const key = await customer.newKey()
    const count = LONG ? 400 : 60
    const replies = await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const prompt = `${mark()} [[sandbox:tokens=${20 + ((index * 37) % 200)}]]`
        const dialect = DIALECTS[index % 2] ?? 'openai'
        const stream = index % 3 === 0
        return await chat(gateway.url, {
          key: key.key,
          model: MODEL,
          prompt,
          dialect,
          stream,
          max_tokens: 400,
        })
      }),
    )
    for (const reply of replies) assert.ok([200, 402].includes(reply.status), reply.text)
    assert.ok(
      replies.some((reply) => reply.status === 402),
      'not all of them fit',
    )
    await assertDrop(customer.account_id, key.id, { before: credits, replies })
  })

  for (const period of ['day', 'month', 'total']) {
    test(`a key with a limit for the ${period} spends no credit more`, async () => {
      const held = await holdOfOne()
      const customer = await gateway.customer(1_000_000n)
      const limit = 2n * held
      const key = await customer.newKey({
        spend_limit_credits: Number(limit),
        spend_limit_period: period,
      })
      const replies = await Promise.all(
        Array.from({ length: 8 }, () => chat(gateway.url, askOf(key.key, mark(), SLOW))),
      )
      assert.deepEqual(countStatuses(replies), { 200: 2, 402: 6 })
      // What is left of the limit is spent to the last call that fits, by many at once again.
      const more = await Promise.all(
        Array.from({ length: 10 }, () => chat(gateway.url, askOf(key.key, mark(), ''))),
      )
      const rows = await usageOf(gateway, key.id)
      const spent = rows.reduce((sum, row) => sum + row.credits_used, 0n)
      assert.ok(spent <= limit, `${spent} of ${limit}`)
      assert.equal(rows.length, countStatuses([...replies, ...more])[200])
      const refused = more.find((reply) => reply.status === 402)
      if (refused) assert.equal(codeOf(refused), 'insufficient_credits')
      const left = { posted: 1_000_000n - spent, held: 0n }
      assert.deepEqual(await balanceOf(gateway, customer.account_id), left)
    })
  }
})

test('a limit for the day is whole again on the next day, one for all time is not', async () => {
  const customer = await gateway.customer(1_000_000n)
  const held = await holdOfOne()
  const limits = { spend_limit_credits: Number(held) }
  const daily = await customer.newKey({ ...limits, spend_limit_period: 'day' })
  const total = await customer.newKey({ ...limits, spend_limit_period: 'total' })
  for (const key of [daily, total]) {
    for (let i = 0; i < 10; i++) await chat(gateway.url, askOf(key.key, mark(), ''))
    assert.equal((await chat(gateway.url, askOf(key.key, mark(), ''))).status, 402)
  }
  gateway.clock.advance(24 * 3_600_000)
  assert.equal((await chat(gateway.url, askOf(daily.key, mark(), ''))).status, 200)
  assert.equal((await chat(gateway.url, askOf(total.key, mark(), ''))).status, 402)
})

test('a key that is revoked in the middle of its stream pays for the stream, and no other call', async () => {
  const customer = await gateway.customer(1_000_000n)
  for (const dialect of DIALECTS) {
    const key = await customer.newKey()
    const prompt = `${mark()} [[sandbox:tokens=60]] [[sandbox:pace=15]]`
    const ask = { key: key.key, model: MODEL, prompt, dialect, stream: true }
    const request = openChat(gateway.url, ask)
    const answered = readReply(request)
    await once(request, 'response')
    const revoked = await gateway.request({
      method: 'DELETE',
      url: `/developers/keys/${key.id}`,
      headers: customer.bearer,
    })
    assert.equal(revoked.statusCode, 200)
    await eventually(
      'the key is refused',
      async () => (await chat(gateway.url, { ...ask, prompt: 'Hello' })).status === 401,
      1_000,
    )
    const reply = await answered
    const exact = costOf(MODEL, { input: promptTokensOf(prompt), output: 60 })
    assert.equal(BigInt(svcOf(reply).credits_used), exact)
    assert.equal((await usageOf(gateway, key.id)).length, 1)
  }
})

test('after all of this no hold is open and the ledger proves itself', () =>
  assertBooksClosed(gateway))

function askOf(key: string, marker: string, more: string) {
  const prompt = `${marker.padEnd(16, '.')} [[sandbox:tokens=50]] ${more}`
  return { key, model: MODEL, prompt, max_tokens: 100 }
}

let hold: Promise<bigint> | undefined

/** What one such call holds while it runs. */
function holdOfOne(): Promise<bigint> {
  hold ??= measureHold()
  return hold
}

async function measureHold(): Promise<bigint> {
  const customer = await gateway.customer(1_000_000n)
  const key = await customer.newKey()
  const request = openChat(gateway.url, askOf(key.key, mark(), SLOW))
  let held = 0n
  const isHeld = async () => {
    held = (await balanceOf(gateway, customer.account_id)).held
    return held > 0n
  }
  await eventually('the credits are held', isHeld)
  request.destroy()
  return held
}

function countStatuses(replies: readonly ChatReply[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** Each served call has one row, the rows chain without a gap, and their sum is what is missing. */
async function assertDrop(
  account_id: string,
  key_id: string,
  { before, replies }: { before: bigint; replies: readonly ChatReply[] },
): Promise<void> {
  const rows = await usageOf(gateway, key_id)
  const charges = replies
    .filter((reply) => reply.status === 200)
    .map((reply) => BigInt(svcOf(reply).credits_used))
  const sum = (values: readonly bigint[]) => values.reduce((total, value) => total + value, 0n)
  assert.equal(rows.length, charges.length)
  assert.equal(sum(rows.map((row) => row.credits_used)), sum(charges))
  const { posted, held } = await balanceOf(gateway, account_id)
  assert.deepEqual([posted, held], [before - sum(charges), 0n])
  assert.ok(posted >= 0n)
  const chain = rows.toSorted((a, b) => Number(b.balance_before - a.balance_before))
  let expected = before
  for (const row of chain) {
    assert.equal(row.balance_before, expected)
    assert.equal(row.shortfall_credits, 0n)
    expected = row.balance_after
  }
}

function outputLimit(body: unknown): number {
  const sent = body as {
    max_completion_tokens?: number
    max_output_tokens?: number
    max_tokens?: number
    generationConfig?: { maxOutputTokens?: number }
  }
  const openai = sent.max_completion_tokens ?? sent.max_output_tokens
  const limit = openai ?? sent.max_tokens ?? sent.generationConfig?.maxOutputTokens
  assert.ok(limit !== undefined, 'a limit is always sent')
  return limit
}
