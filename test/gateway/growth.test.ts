// Dear calls beside each other on a small wallet: holds that begin with a part of what is free and grow while the
// answers come. All are served whose true cost fits, none is cut while the wallet could pay, and it is never negative.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { GROWTH_WAIT_MS } from '../../src/gateway/hold-growth.ts'
import { eventually } from '../support/eventually.ts'
import {
  assertBooksClosed,
  balanceOf,
  type ChatReply,
  chat,
  codeOf,
  costOf,
  DIALECTS,
  type DialectName,
  type ModelName,
  mark,
  onlyUsageOf,
  openChat,
  PRICES,
  promptTokensOf,
  readReply,
  saidIn,
  startGateway,
  svcOf,
  upstreamCalls,
  usageOf,
} from '../support/gateway.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { holdOf } from '../wallet/support.ts'

const gateway = await startGateway()
const MODEL = 'anthropic/claude-opus-4'
const DOLLAR = 1_000_000n
const SHAPES = DIALECTS.flatMap((dialect) =>
  [true, false].map((stream) => ({
    dialect,
    stream,
    name: `${dialect}, ${stream ? 'streamed' : 'whole'}`,
  })),
)

type Given = {
  key: string
  dialect: DialectName
  stream: boolean
  prompt: string
  model?: ModelName
}

function ask(url: string, { dialect, model = MODEL, ...rest }: Given): Promise<ChatReply> {
  const longest = dialect === 'anthropic' && { max_tokens: model === MODEL ? 32_000 : 16_384 }
  const usage = rest.stream && dialect === 'openai' && { stream_options: { include_usage: true } }
  return chat(url, { ...rest, dialect, model, extra: { ...longest, ...usage } })
}

function endOf(reply: ChatReply): string | undefined {
  const ends = [...reply.text.matchAll(/"(?:finish_reason|stop_reason)":\s*"([a-z_]+)"/g)]
  assert.ok(ends.length <= 1, 'an answer ends once')
  return ends[0]?.[1]
}

/** The last word on it: a stream of Anthropic's begins with another. */
function usageIn(reply: ChatReply): number | undefined {
  const counts = [...reply.text.matchAll(/"(?:completion_tokens|output_tokens)":\s*(\d+)/g)]
  const count = counts.at(-1)?.[1]
  return count === undefined ? undefined : Number(count)
}

describe('ten calls at once without a limit on a wallet of one dollar', () => {
  for (const { dialect, stream, name } of SHAPES) {
    test(`are all served in full where their true cost is 90 % of it (${name})`, async () => {
      const customer = await gateway.customer(DOLLAR)
      const key = await customer.newKey()
      const prompts = Array.from({ length: 10 }, () => {
        return `${mark()} [[sandbox:tokens=1190]] [[sandbox:pace=1]]`
      })
      const replies = await Promise.all(
        prompts.map((prompt) => ask(gateway.url, { key: key.key, dialect, stream, prompt })),
      )
      let spent = 0n
      for (const [index, reply] of replies.entries()) {
        assert.equal(reply.status, 200, reply.text.slice(0, 500))
        assert.match(endOf(reply) ?? '', /^(stop|end_turn)$/)
        const input = promptTokensOf(prompts[index] ?? '')
        const exact = costOf(MODEL, { input, output: 1_190 })
        assert.equal(BigInt(svcOf(reply).credits_used), exact)
        spent += exact
      }
      assert.ok(spent > 890_000n && spent < 910_000n, `${spent}`)
      const left = { posted: DOLLAR - spent, held: 0n }
      assert.deepEqual(await balanceOf(gateway, customer.account_id), left)
      for (const row of await usageOf(gateway, key.id)) {
        assert.deepEqual(
          [row.shortfall_credits, row.outcome, row.estimated],
          [0n, 'complete', false],
        )
      }
    })
  }
})

describe('a call whose hold cannot grow any more', () => {
  const kinds = SHAPES.flatMap((shape) =>
    (['gpt-4o', MODEL] as const).map((model) => ({ ...shape, model })),
  )
  test('ends as at its limit and costs what it held', async () => {
    gateway.parts.growth.wait_ms = 300
    await Promise.all(
      kinds.map(async ({ model, dialect, stream, name }) => {
        const what = `${model}, ${name}`
        const { customer, key, blockage, room } = await blockedWallet(model)
        const prompt = `${mark()} [[sandbox:tokens=900]]`
        const reply = await ask(gateway.url, { key: key.key, dialect, stream, prompt, model })
        assert.equal(reply.status, 200, reply.text)
        assert.match(endOf(reply) ?? '', /^(length|max_tokens)$/, what)
        const used = BigInt(svcOf(reply).credits_used)
        assert.ok(used <= room && used > (room * 95n) / 100n, `${used} of ${room}: ${what}`)
        const [row] = await usageOf(gateway, key.id)
        assert.deepEqual([row?.outcome, row?.estimated], ['out_of_credits', true], what)
        assert.equal(usageIn(reply), row?.output_tokens, what)
        await gateway.parts.call_ledger.release(blockage)
        assert.equal((await balanceOf(gateway, customer.account_id)).held, 0n)
      }),
    ).finally(() => {
      gateway.parts.growth.wait_ms = GROWTH_WAIT_MS
    })
  })

  test('waits for room and goes on when others give it back', async () => {
    await Promise.all(
      kinds.map(async ({ model, dialect, stream, name }) => {
        const { customer, key, blockage, room } = await blockedWallet(model)
        const prompt = `${mark()} [[sandbox:tokens=900]]`
        const answered = ask(gateway.url, { key: key.key, dialect, stream, prompt, model })
        await isStuck(customer.account_id, blockage.amount + room)
        await gateway.parts.call_ledger.release(blockage)
        const reply = await answered
        assert.match(endOf(reply) ?? '', /^(stop|end_turn)$/, `${model}, ${name}`)
        const exact = costOf(model, { input: promptTokensOf(prompt), output: 900 })
        assert.equal(BigInt(svcOf(reply).credits_used), exact)
      }),
    )
  })

  test('is given up at once when its client leaves while it waits', async () => {
    const { customer, key, blockage, room } = await blockedWallet(MODEL)
    const prompt = `${mark()} [[sandbox:tokens=900]]`
    const request = openChat(gateway.url, { key: key.key, model: MODEL, prompt, stream: true })
    await isStuck(customer.account_id, blockage.amount + room)
    request.destroy()
    const row = await onlyUsageOf(gateway, key.id)
    assert.deepEqual([row.outcome, row.estimated], ['client_left', true])
    assert.ok(row.credits_used <= room)
    await gateway.parts.call_ledger.release(blockage)
  })
})

test('a whole answer that the provider breaks off, or our own stop while it waits, costs nothing', async () => {
  const { customer, key, blockage } = await blockedWallet(MODEL)
  const before = await balanceOf(gateway, customer.account_id)
  const prompt = `${mark()} [[sandbox:tokens=200]] [[sandbox:cut]]`
  const broken = await chat(gateway.url, { key: key.key, model: MODEL, prompt })
  assert.deepEqual([broken.status, broken.headers['x-should-retry']], [503, undefined])
  assert.deepEqual(await balanceOf(gateway, customer.account_id), before)

  await gateway.parts.call_ledger.release(blockage)

  const stopping = await startGateway({}, { database_url: gateway.database_url })
  const waiting = await Promise.all(
    [false, true].map(async (stream) => {
      const small = await blockedWallet(MODEL)
      const long = `${mark()} [[sandbox:tokens=900]]`
      const ask = { key: small.key.key, model: MODEL, prompt: long, stream }
      const reply = chat(stopping.url, ask)
      await isStuck(small.customer.account_id, small.blockage.amount + small.room)
      return { ...small, stream, reply }
    }),
  )
  await stopping.parts.running.finish(0)
  for (const { stream, reply, ...small } of waiting) {
    const told = await reply
    assert.deepEqual([told.status, codeOf(told)], [stream ? 200 : 503, 'service_unavailable'])
    const rows = await usageOf(gateway, small.key.id)
    const outcomes = rows.map(({ outcome }) => outcome)
    assert.deepEqual(outcomes, stream ? ['service_stopped'] : [])
    await gateway.parts.call_ledger.release(small.blockage)
  }
  await stopping.close()
})

/** Waits until nearly all of it is held. */
async function isStuck(account_id: string, credits: bigint): Promise<void> {
  const isHeld = async () => (await balanceOf(gateway, account_id)).held > (credits * 99n) / 100n
  await eventually('the hold has grown as far as it can', isHeld)
}

/** Another call holds most of the wallet, and the answer would need more than is left. */
async function blockedWallet(model: ModelName) {
  const price = PRICES[model].output / 1_000_000n
  const customer = await gateway.customer(price * 1_300n)
  const key = await customer.newKey()
  const wallet_id = customer.account_id
  const blockage = await gateway.parts.call_ledger.hold(holdOf(wallet_id, price * 900n))
  return { customer, key, blockage, room: price * 400n }
}

describe('thirty calls at once on a wallet that cannot pay for all', () => {
  test('each end whole, at a limit or as 402, and the wallet is spent and never negative', async (t) => {
    const customer = await gateway.customer(DOLLAR)
    const key = await customer.newKey()
    let answered = 0
    const replies = Promise.all(
      Array.from({ length: 30 }, async (_, index) => {
        const { dialect, stream } = SHAPES[index % 4] ?? { dialect: 'openai', stream: true }
        const prompt = `${mark()} [[sandbox:tokens=${100 + ((index * 397) % 1_700)}]] [[sandbox:pace=1]]`
        const reply = await ask(gateway.url, { key: key.key, dialect, stream, prompt })
        answered += 1
        return reply
      }),
    )
    const isOver = async () => {
      const { posted, held } = await balanceOf(gateway, customer.account_id)
      assert.ok(posted >= 0n && held >= 0n && held <= posted, `${held} of ${posted}`)
      return answered === 30
    }
    await eventually('all are answered', isOver, 30_000)
    const ends = new Map<string, number>()
    let spent = 0n
    for (const reply of await replies) {
      const end = reply.status === 200 ? (endOf(reply) ?? 'none') : codeOf(reply)
      assert.match(end, /^(stop|end_turn|length|max_tokens|insufficient_credits)$/)
      ends.set(end, (ends.get(end) ?? 0) + 1)
      if (reply.status === 200) spent += BigInt(svcOf(reply).credits_used)
    }
    const rows = await usageOf(gateway, key.id)
    const unpaid = rows.reduce((sum, row) => sum + row.shortfall_credits, 0n)
    t.diagnostic(`${JSON.stringify(Object.fromEntries(ends))}, ${unpaid} credits written off`)
    const { posted, held } = await balanceOf(gateway, customer.account_id)
    assert.deepEqual([posted, held], [DOLLAR - spent, 0n])
    assert.ok(posted < DOLLAR / 20n, `${posted} are left though answers were cut`)
  })
})

describe('a key with a spend limit', () => {
  test('runs calls beside each other that fit under it, and spends no credit more', async () => {
    const customer = await gateway.customer(20n * DOLLAR)
    const limit = 400_000n
    const key = await customer.newKey({
      spend_limit_credits: Number(limit),
      spend_limit_period: 'total',
    })
    const askAll = (count: number, tokens: number) =>
      Promise.all(
        Array.from({ length: count }, (_, index) => {
          const { dialect, stream } = SHAPES[index % 4] ?? { dialect: 'openai', stream: true }
          const prompt = `${mark()} [[sandbox:tokens=${tokens}]] [[sandbox:pace=1]]`
          return ask(gateway.url, { key: key.key, dialect, stream, prompt })
        }),
      )
    for (const reply of await askAll(5, 600)) {
      assert.match(endOf(reply) ?? '', /^(stop|end_turn)$/)
    }
    const more = await askAll(6, 600)
    assert.ok(
      more.some((reply) => reply.status === 402 || /length|max_tokens/.test(endOf(reply) ?? '')),
    )
    const rows = await usageOf(gateway, key.id)
    const spent = rows.reduce((sum, row) => sum + row.credits_used, 0n)
    assert.ok(spent <= limit && spent > (limit * 9n) / 10n, `${spent} of ${limit}`)
    const left = { posted: 20n * DOLLAR - spent, held: 0n }
    assert.deepEqual(await balanceOf(gateway, customer.account_id), left)
  })
})

describe('what is asked of the provider', () => {
  test('is a stream only where the hold grows, and the whole answer is the same', async () => {
    const prompt = `${mark()} [[sandbox:tokens=200]]`
    const bodies: unknown[] = []
    for (const credits of [20n * DOLLAR, DOLLAR / 10n]) {
      for (const [dialect, model] of [
        ['openai', 'gpt-4o'],
        ['anthropic', MODEL],
      ] as const) {
        const customer = await gateway.customer(credits)
        const key = await customer.newKey()
        const reply = await ask(gateway.url, {
          key: key.key,
          dialect,
          stream: false,
          prompt,
          model,
        })
        const sent = upstreamCalls(gateway, prompt).at(-1)?.body as { stream: boolean }
        assert.equal(sent.stream, credits < DOLLAR)
        bodies.push([saidIn(reply), endOf(reply), usageIn(reply)])
      }
    }
    assert.deepEqual(bodies.slice(0, 2), bodies.slice(2))
  })

  test('is the whole answer where only the provider’s own JSON has all that was asked for', async () => {
    for (const extra of [
      { logprobs: true },
      { seed: 7 },
      { prediction: { type: 'content', content: 'x' } },
    ]) {
      const customer = await gateway.customer(10_000n)
      const key = await customer.newKey()
      const marker = mark()
      const prompt = `${marker} [[sandbox:tokens=100]]`
      const reply = await chat(gateway.url, { key: key.key, model: 'gpt-4o', prompt, extra })
      assert.equal(reply.status, 200, reply.text)
      const sent = upstreamCalls(gateway, marker)[0]?.body as { stream: boolean }
      assert.equal(sent.stream, false)
      assert.match(reply.text, /"system_fingerprint"/)
    }
  })
})

test('a database that is away for a while does not cut an answer', async () => {
  const proxy = await startTcpProxy(gateway.database_url)
  const remote = await startGateway({}, { database_url: proxy.url })
  const customer = await gateway.customer(DOLLAR / 10n)
  const key = await customer.newKey()
  const prompt = `${mark()} [[sandbox:tokens=1000]] [[sandbox:pace=2]]`
  const request = openChat(remote.url, { key: key.key, model: MODEL, prompt, stream: true })
  const answered = readReply(request)
  await once(request, 'response')
  proxy.cut()
  await wait(1_500)
  proxy.restore()
  const reply = await answered
  assert.match(endOf(reply) ?? '', /^(stop|end_turn)$/, reply.text.slice(-500))
  const exact = costOf(MODEL, { input: promptTokensOf(prompt), output: 1_000 })
  assert.equal(BigInt(svcOf(reply).credits_used), exact)
  const left = { posted: DOLLAR / 10n - exact, held: 0n }
  assert.deepEqual(await balanceOf(gateway, customer.account_id), left)
  await remote.close()
})

test('after all of this no hold is open and the ledger proves itself', () =>
  assertBooksClosed(gateway))
