// Clients that leave, at any point, in any way. Models that are cancelled end their provider's work at once and
// charge what came; models that are drained are read to the end and charge exactly what the provider reported.
// An abort is never free, never above the hold, and never leaves one open.

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { CallLifetime } from '../../src/gateway/call-lifetime.ts'
import { eventually } from '../support/eventually.ts'
import {
  assertBooksClosed,
  chat,
  costOf,
  DIALECTS,
  type DialectName,
  LONG,
  type ModelName,
  mark,
  onlyUsageOf,
  openChat,
  PRICES,
  promptTokensOf,
  startGateway,
  upstreamCalls,
  usageOf,
} from '../support/gateway.ts'

const ROUNDS = LONG ? 1_000 : 105
const AT_ONCE = 12
const OUTPUT_TOKENS = 120
const REASONING_TOKENS = 40
const MAX_TOKENS = 2_000
const SOON_MS = 2_000

const gateway = await startGateway()
const customer = await gateway.customer(10_000_000_000n)

type Kind = {
  model: ModelName
  policy: 'cancel' | 'drain'
  /** Hidden tokens that are billed, where the model reasons. */
  reasons?: true
  extra?: Record<DialectName, object>
}

const THINKING = {
  openai: { reasoning_effort: 'low' },
  anthropic: { thinking: { type: 'enabled', budget_tokens: 1_024 } },
}

const KINDS: Kind[] = [
  { model: 'gpt-4o-mini', policy: 'cancel' },
  { model: 'anthropic/claude-haiku-3.5', policy: 'cancel' },
  { model: 'anthropic/claude-sonnet-4', policy: 'cancel' },
  { model: 'google/gemini-2.0-flash', policy: 'drain' },
  { model: 'google/gemini-2.5-flash', policy: 'drain', reasons: true },
  { model: 'gpt-5-mini', policy: 'drain', reasons: true },
  { model: 'anthropic/claude-sonnet-4', policy: 'drain', reasons: true, extra: THINKING },
]

type Visit = Kind & {
  dialect: DialectName
  stream: boolean
  /** When it leaves: after this many bytes of the body, or after this time, whichever comes first. */
  after_bytes: number
  after_ms: number
}

describe('a client that leaves at a random point', () => {
  for (const kind of KINDS) {
    const how = kind.reasons ? 'while it reasons' : 'without reasoning'
    test(`of ${kind.model}, ${how}, is charged as ${kind.policy} says`, async (t) => {
      let seed = 12_345
      const random = (limit: number) => {
        seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
        return seed % limit
      }
      const outcomes = new Map<string, number>()
      const rounds = Math.ceil(ROUNDS / KINDS.length)
      let next = 0
      const worker = async () => {
        while (next < rounds) {
          const round = next++
          const outcome = await visit({
            ...kind,
            dialect: round % 2 === 0 ? 'openai' : 'anthropic',
            stream: round % 3 !== 0,
            after_bytes: random(9_000),
            after_ms: 5 + random(220),
          })
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, worker))
      assert.ok((outcomes.get('client_left') ?? 0) > 0, 'some left in the middle')
      t.diagnostic(JSON.stringify(Object.fromEntries(outcomes)))
    })
  }
})

async function visit(given: Visit): Promise<string> {
  const { model, dialect, stream } = given
  // What comes in one piece cannot be counted before it is there.
  const policy = stream ? given.policy : 'drain'
  const what = JSON.stringify(given)
  const key = await customer.newKey()
  const marker = mark()
  // About 200 ms from the first byte to the last.
  const prompt = `Hello ${marker} [[sandbox:tokens=${OUTPUT_TOKENS}]] [[sandbox:reasoning=${REASONING_TOKENS}]] [[sandbox:slow=30]] [[sandbox:pace=4]]`
  const request = openChat(gateway.url, {
    key: key.key,
    model,
    prompt,
    dialect,
    stream,
    max_tokens: MAX_TOKENS,
    ...(given.extra && { extra: given.extra[dialect] }),
  })
  await leaveAfter(request, given)
  const wasAsked = () => upstreamCalls(gateway, marker).length > 0
  // It can have left before its request was read, which is free, or while ours was on its way to the provider,
  // which nobody can tell from one that arrived: then the prompt is charged.
  if (!(await eventually('the provider is asked', wasAsked, 400).catch(() => false))) {
    for (const row of await usageOf(gateway, key.id)) {
      assert.deepEqual([row.estimated, row.outcome, row.output_tokens], [true, 'client_left', 0])
      assert.equal(policy, 'cancel', what)
    }
    return 'never_asked'
  }
  const row = await onlyUsageOf(gateway, key.id, SOON_MS)
  const isOver = () => upstreamCalls(gateway, marker)[0]?.ending !== 'open'
  await eventually('the call upstream has ended', isOver, SOON_MS)
  const [upstream, ...more] = upstreamCalls(gateway, marker)
  assert.deepEqual(more, [], what)
  const exact = costOf(model, {
    input: promptTokensOf(prompt),
    output: OUTPUT_TOKENS + (given.reasons ? REASONING_TOKENS : 0),
  })
  const { input, output } = PRICES[model]
  // At most the hold: a generous bound of the prompt at the dearest price, and all of the output.
  const hold =
    (BigInt(8 * promptTokensOf(prompt) + 200) * input * 2n + 2_000n * output) / 1_000_000n
  assert.ok(row.credits_used > 0n && row.credits_used <= hold, `${row.credits_used}: ${what}`)
  if (row.outcome === 'complete' || policy === 'drain') {
    assert.equal(upstream?.ending, 'answered', what)
    assert.equal(row.estimated, false, what)
    assert.equal(row.credits_used, exact, what)
  } else {
    assert.equal(row.outcome, 'client_left', what)
    assert.ok(row.credits_used <= 2n * exact, what)
    // It can leave when everything has come but the end.
    if (!row.estimated) assert.equal(row.credits_used, exact, what)
  }
  return row.outcome
}

async function leaveAfter(
  request: ReturnType<typeof openChat>,
  when: { after_bytes: number; after_ms: number },
): Promise<void> {
  const timer = setTimeout(() => request.destroy(), when.after_ms)
  let bytes = 0
  request.on('response', (response) => {
    response.on('error', () => {})
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes >= when.after_bytes) request.destroy()
    })
  })
  await new Promise((resolve) => request.once('close', resolve))
  clearTimeout(timer)
}

describe('a client that leaves in the middle of a long answer', () => {
  for (const [model, dialect] of [
    ['gpt-4o-mini', 'openai'],
    ['gpt-4o-mini', 'anthropic'],
    ['anthropic/claude-haiku-3.5', 'openai'],
    ['anthropic/claude-haiku-3.5', 'anthropic'],
  ] as const) {
    test(`ends the work of ${model} at once and pays for what came (${dialect})`, async () => {
      const key = await customer.newKey()
      const marker = mark()
      const prompt = `Hello ${marker} [[sandbox:tokens=2000]] [[sandbox:pace=20]]`
      const ask = { key: key.key, model, prompt, dialect, stream: true, max_tokens: 2_000 }
      const request = openChat(gateway.url, ask)
      await leaveAfter(request, { after_bytes: 3_000, after_ms: 5_000 })
      const hasEnded = () => upstreamCalls(gateway, marker)[0]?.ending === 'client_left'
      await eventually('the provider stops', hasEnded, SOON_MS)
      const row = await onlyUsageOf(gateway, key.id)
      assert.deepEqual([row.estimated, row.outcome], [true, 'client_left'])
      assert.ok(row.output_tokens > 0 && row.output_tokens < 500, `${row.output_tokens} tokens`)
      // Anthropic has said what the prompt was before it wrote a word.
      if (model !== 'gpt-4o-mini') assert.equal(row.input_tokens, promptTokensOf(prompt))
      const tokens = { input: row.input_tokens, output: row.output_tokens }
      assert.equal(row.credits_used, costOf(model, tokens))
    })
  }

  test('of a model that is drained pays for all of it, exactly', async () => {
    const key = await customer.newKey()
    const marker = mark()
    const prompt = `Hello ${marker} [[sandbox:tokens=300]] [[sandbox:pace=5]]`
    const model = 'google/gemini-2.0-flash'
    const request = openChat(gateway.url, { key: key.key, model, prompt, stream: true })
    await leaveAfter(request, { after_bytes: 1_000, after_ms: 5_000 })
    const row = await onlyUsageOf(gateway, key.id)
    assert.equal(upstreamCalls(gateway, marker)[0]?.ending, 'answered')
    assert.deepEqual([row.estimated, row.outcome], [false, 'client_left'])
    assert.equal(row.credits_used, costOf(model, { input: promptTokensOf(prompt), output: 300 }))
    assert.equal(gateway.parts.drains.open, 0)
  })

  test('of a model that may think as it likes is read to its end', async () => {
    const file = path.join(await mkdtemp(path.join(tmpdir(), 'svc-catalog-')), 'catalog.json')
    const model = 'anthropic/claude-sonnet-4'
    const models = { [model]: { upstream_id: 'claude-sonnet-4-6' } }
    await writeFile(file, JSON.stringify({ models }))
    const later = await startGateway({ CATALOG_FILE: file })
    const key = await (await later.customer(1_000_000_000n)).newKey()
    const prompt = `Hello ${mark()} [[sandbox:tokens=100]] [[sandbox:reasoning=40]] [[sandbox:pace=5]]`
    const request = openChat(later.url, {
      key: key.key,
      model,
      prompt,
      dialect: 'anthropic',
      stream: true,
      max_tokens: MAX_TOKENS,
      extra: { thinking: { type: 'adaptive' } },
    })
    await leaveAfter(request, { after_bytes: 1_000, after_ms: 5_000 })
    const row = await onlyUsageOf(later, key.id)
    assert.deepEqual([row.estimated, row.outcome], [false, 'client_left'])
    assert.equal(row.credits_used, costOf(model, { input: promptTokensOf(prompt), output: 140 }))
    await later.close()
    await rm(path.dirname(file), { recursive: true })
  })

  test('of a model that is drained, while too many are drained already, is cancelled', async () => {
    const key = await customer.newKey()
    const marker = mark()
    gateway.parts.drains.open += 200
    try {
      const prompt = `Hello ${marker} [[sandbox:tokens=2000]] [[sandbox:pace=20]]`
      const model = 'google/gemini-2.0-flash'
      const request = openChat(gateway.url, { key: key.key, model, prompt, stream: true })
      await leaveAfter(request, { after_bytes: 1_000, after_ms: 5_000 })
      const row = await onlyUsageOf(gateway, key.id)
      assert.deepEqual([row.estimated, row.outcome], [true, 'client_left'])
      assert.equal(upstreamCalls(gateway, marker)[0]?.ending, 'client_left')
    } finally {
      gateway.parts.drains.open -= 200
    }
  })
})

describe('whoever is to blame:', () => {
  test('a provider that fails by itself after the client left is not paid', async () => {
    for (const prompt of ['500', '429', 'hangup']) {
      const key = await customer.newKey()
      const marker = mark()
      const request = openChat(gateway.url, {
        key: key.key,
        model: 'gpt-5-mini',
        prompt: `Hello ${marker} [[sandbox:slow=150]] [[sandbox:${prompt}]]`,
        stream: true,
        max_tokens: 1_000,
      })
      await eventually('the provider is asked', () => upstreamCalls(gateway, marker).length > 0)
      request.destroy()
      const hasFailed = () => upstreamCalls(gateway, marker)[0]?.ending !== 'open'
      await eventually('the provider fails', hasFailed)
      await assertBooksClosed(gateway)
      assert.deepEqual(await usageOf(gateway, key.id), [], prompt)
    }
  })

  test('a client that left before the provider was asked pays nothing, and nobody is asked', async () => {
    const small = await gateway.customer(3_000n)
    const marker = mark()
    // It holds in full.
    const model = 'google/gemini-2.0-flash'
    const [first, second] = [await small.newKey(), await small.newKey()]
    // The first call holds the whole wallet, so that the second waits for its hold.
    const long = chat(gateway.url, {
      key: first.key,
      model,
      prompt: `Hello ${mark()} [[sandbox:slow=500]] [[sandbox:tokens=5]]`,
    })
    await wait(150)
    const request = openChat(gateway.url, { key: second.key, model, prompt: `Hello ${marker}` })
    await wait(100)
    request.destroy()
    assert.equal((await long).status, 200)
    await wait(300)
    await assertBooksClosed(gateway)
    assert.deepEqual(upstreamCalls(gateway, marker), [])
    assert.deepEqual(await usageOf(gateway, second.id), [])
  })

  test('a client that never left but lost its connection before an answer pays for the prompt', async () => {
    const key = await customer.newKey()
    const marker = mark()
    const prompt = `Hello ${marker} [[sandbox:timeout]]`
    const ask = { key: key.key, model: 'gpt-4o-mini', prompt, stream: true } as const
    const request = openChat(gateway.url, ask)
    await eventually('the provider is asked', () => upstreamCalls(gateway, marker).length > 0)
    request.destroy()
    const row = await onlyUsageOf(gateway, key.id)
    assert.deepEqual([row.estimated, row.outcome, row.output_tokens], [true, 'client_left', 0])
    assert.ok(row.credits_used > 0n)
    assert.equal(upstreamCalls(gateway, marker)[0]?.ending, 'client_left')
  })
})

describe('a client that closes as soon as it has seen the end', () => {
  for (const model of [
    'gpt-4o-mini',
    'anthropic/claude-haiku-3.5',
    'google/gemini-2.0-flash',
  ] as const) {
    test(`of ${model} was served in full`, async () => {
      for (const dialect of DIALECTS) {
        for (let round = 0; round < 3; round++) {
          const key = await customer.newKey()
          const prompt = `Hello ${mark()} [[sandbox:tokens=50]]`
          await readUntil(dialect === 'openai' ? 'data: [DONE]\n\n' : 'event: message_stop\n', {
            key: key.key,
            path: dialect === 'openai' ? '/v1/chat/completions' : '/v1/messages',
            body: {
              model,
              stream: true,
              max_tokens: 500,
              messages: [{ role: 'user', content: prompt }],
            },
          })
          // Charged before the end is said: it is there at once, without a wait.
          const [row] = await usageOf(gateway, key.id)
          assert.ok(row, 'settled before the end was told')
          assert.deepEqual([row.estimated, row.outcome], [false, 'complete'])
          const tokens = { input: promptTokensOf(prompt), output: 50 }
          assert.equal(row.credits_used, costOf(model, tokens))
        }
      }
    })
  }
})

/** Reads byte by byte and resets the connection the moment `end` was seen. */
async function readUntil(
  end: string,
  given: { key: string; path: string; body: object },
): Promise<void> {
  const { port } = new URL(gateway.url)
  const socket = connect(Number(port), '127.0.0.1')
  const body = JSON.stringify(given.body)
  socket.write(
    `POST ${given.path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${given.key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  let received = ''
  for await (const chunk of socket.setEncoding('utf8')) {
    received += chunk
    if (received.replaceAll(/\r\n[0-9a-f]+\r\n/g, '').includes(end)) break
  }
  socket.resetAndDestroy()
}

test('a drain ends after two minutes, whatever the provider does', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const drains = { open: 0 }
  const lifetime = new CallLifetime({ policy: 'drain', drains })
  lifetime.leave()
  assert.deepEqual([drains.open, lifetime.signal.aborted], [1, false])
  t.mock.timers.tick(119_999)
  assert.equal(lifetime.signal.aborted, false)
  t.mock.timers.tick(1)
  assert.equal(lifetime.signal.aborted, true)
  lifetime.close()
  lifetime.close()
  assert.equal(drains.open, 0)
})

test('after all of this no hold is open and the ledger proves itself', () =>
  assertBooksClosed(gateway))
