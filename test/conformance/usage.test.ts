// Tokens and credits: what the provider counted is what the reply says and what the wallet pays. The caller of
// these tests recomputes every charge from the reply's usage with a price list of its own; here are the counts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addCaller, openCaller, PATHS, type Provider, priceOf } from '../support/gateway-caller.ts'
import { readReply, readStream } from '../support/gateway-formats.ts'

const gateway = await openCaller()

/** A token of the stand-ins is four bytes; a message is its role, a line break, its text and two more. */
function promptTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(`user\n${text}\n\n`) / 4)
}

let long_prompts = 0

/** At least 1,024 tokens that nobody sent before, so that nothing of it is cached yet. */
function longPrompt(): string {
  long_prompts += 1
  return `${process.pid}-${long_prompts} ${'All work and no play makes for a dull day. '.repeat(200)}`
}

/** Those that think before they answer; thoughts are output that is paid for. */
const THOUGHTS: Partial<Record<Provider, number>> = { responses: 128, google: 160 }

for (const path of PATHS) {
  test(`${path.name}: the tokens are the provider's own count`, async () => {
    const text = 'Count me. [[sandbox:tokens=120]]'
    const { tokens } = await gateway.ask(path, { text })
    const reasoning = THOUGHTS[path.provider] ?? 0
    assert.deepEqual(tokens, {
      input: promptTokens(text),
      cache_read: 0,
      cache_write_5m: 0,
      cache_write_1h: 0,
      output: 120 + reasoning,
      reasoning,
    })
  })

  test(`${path.name}: the usage row says what the reply said, in the provider's own numbers too`, async () => {
    const { tokens, svc } = await gateway.ask(path, { text: 'Row. [[sandbox:tokens=33]]' })
    const row = await gateway.lastUsage()
    assert.equal(row.model, path.model)
    assert.equal(row.credits_used, svc.credits_used)
    assert.deepEqual(
      [row.input_tokens, row.cached_input_tokens, row.cache_write_tokens, row.output_tokens],
      [tokens.input, tokens.cache_read, 0, tokens.output],
    )
    assert.equal(row.reasoning_tokens, tokens.reasoning)
    assert.equal(row.estimated, false)
    assert.ok(row.raw_usage)
    assert.ok(row.provider_request_id)
    assert.ok(row.prices)
  })

  test(`${path.name}: an answer without usage is charged by our own count, and the row says so`, async () => {
    const before = await gateway.balance()
    const response = await gateway.putQuestion(path, {
      text: 'No numbers. [[sandbox:no_usage]] [[sandbox:tokens=100]]',
    })
    assert.equal(response.statusCode, 200, response.body)
    const spent = before.balance - (await gateway.balance()).balance
    const row = await gateway.lastUsage()
    assert.deepEqual([row.estimated, row.credits_used], [true, spent])
    assert.ok(row.output_tokens > 0 && row.input_tokens > 0)
    const { input_tokens: input, output_tokens: output } = row
    const none = { cache_read: 0, cache_write_5m: 0, cache_write_1h: 0, reasoning: 0 }
    assert.equal(spent, priceOf(path.model, { input, output, ...none }))
  })
}

for (const path of PATHS.filter(({ provider }) => provider !== 'anthropic')) {
  test(`${path.name}: cached input is told apart and costs its own price`, async () => {
    const text = `${longPrompt()} [[sandbox:tokens=5]]`
    const first = await gateway.ask(path, { text })
    const second = await gateway.ask(path, { text })
    assert.equal(first.tokens.cache_read, 0)
    assert.ok(second.tokens.cache_read >= 1_024)
    assert.equal(second.tokens.cache_read % 128, 0)
    assert.equal(second.tokens.input + second.tokens.cache_read, first.tokens.input)
    assert.ok(second.svc.credits_used < first.svc.credits_used)
  })
}

for (const path of PATHS.filter((one) => one.format === 'anthropic')) {
  for (const ttl of ['5m', '1h'] as const) {
    const provider = path.provider
    test(`${path.name}: cache_control with ttl ${ttl} is ${provider === 'anthropic' ? 'priced' : 'harmless'}`, async () => {
      const before = await gateway.balance()
      const body = {
        model: path.model,
        max_tokens: 500,
        stream: path.stream,
        system: [{ type: 'text', text: longPrompt(), cache_control: { type: 'ephemeral', ttl } }],
        messages: [{ role: 'user', content: 'Hi. [[sandbox:tokens=5]]' }],
      }
      const response = await gateway.post('anthropic', body)
      assert.equal(response.statusCode, 200, response.body)
      const read = path.stream ? readStream : readReply
      const first = read('anthropic', response.body)
      const written = first.tokens.cache_write_5m + first.tokens.cache_write_1h
      assert.equal(written >= 1_024, provider === 'anthropic')
      assert.equal(first.tokens.cache_write_1h > 0, provider === 'anthropic' && ttl === '1h')
      assert.equal(first.svc.credits_used, priceOf(path.model, first.tokens))
      const again = read('anthropic', (await gateway.post('anthropic', body)).body)
      assert.equal(again.svc.credits_used, priceOf(path.model, again.tokens))
      assert.ok(again.svc.credits_used < first.svc.credits_used)
      if (provider === 'anthropic') assert.equal(again.tokens.cache_read, written)
      const spent = first.svc.credits_used + again.svc.credits_used
      assert.equal((await gateway.balance()).balance, before.balance - spent)
    })
  }
}

const REASONING = [
  { model: 'gpt-5-mini', tokens: 300 },
  { model: 'anthropic/claude-sonnet-4', tokens: 300 },
  { model: 'google/gemini-2.5-pro', tokens: 300 },
] as const

for (const { model, tokens } of REASONING) {
  for (const path of PATHS.slice(0, 4)) {
    const way = `${path.format} format, ${path.stream ? 'streamed' : 'whole'}`
    test(`${model}, ${way}: hidden reasoning is output, and told apart`, async () => {
      const text = `Think. [[sandbox:reasoning=${tokens}]] [[sandbox:tokens=50]]`
      const reply = await gateway.ask(path, { model, text, thinking: 'high' })
      assert.equal(reply.tokens.output, tokens + 50)
      assert.equal(Math.ceil(reply.text.length / 4), 50)
      if (!model.startsWith('anthropic/')) assert.equal(reply.tokens.reasoning, tokens)
      assert.equal((await gateway.lastUsage()).reasoning_tokens, reply.tokens.reasoning)
    })
  }
}

test('several answers to one question are one call, and all of them are charged', async () => {
  const before = await gateway.balance()
  const response = await gateway.post('openai', {
    model: 'gpt-4o-mini',
    messages: [{ role: 'user', content: 'Vary. [[sandbox:tokens=20]]' }],
    max_tokens: 100,
    n: 3,
  })
  assert.equal(response.statusCode, 200, response.body)
  const body = response.json<{
    choices: { index: number; message: { content: string } }[]
    usage: { completion_tokens: number; prompt_tokens: number }
    svc: { credits_used: number }
  }>()
  assert.deepEqual(
    body.choices.map(({ index }) => index),
    [0, 1, 2],
  )
  assert.equal(body.usage.completion_tokens, 60)
  assert.equal(
    body.svc.credits_used,
    Math.ceil((body.usage.prompt_tokens * 150 + 60 * 600) / 1_000),
  )
  assert.equal((await gateway.balance()).balance, before.balance - body.svc.credits_used)
})

test('counting the tokens of a prompt costs nothing and asks nobody', async () => {
  const before = await gateway.balance()
  const calls = gateway.requests().length
  for (const { model } of PATHS) {
    const reply = await gateway.service.post(
      '/v1/messages/count_tokens',
      { model, messages: [{ role: 'user', content: 'How long is this?' }] },
      { 'x-api-key': gateway.key, 'anthropic-version': '2023-06-01' },
    )
    assert.equal(reply.statusCode, 200, reply.body)
    const { input_tokens } = reply.json<{ input_tokens: number }>()
    assert.ok(Number.isInteger(input_tokens) && input_tokens > 0)
  }
  assert.deepEqual(await gateway.balance(), before)
  assert.equal(gateway.requests().length, calls)
})

const poor = await openCaller({ WELCOME_CREDITS: '2000' })

for (const path of PATHS) {
  test(`${path.name}: a wallet that covers a part of the limit gets that part, and never goes below zero`, async () => {
    const caller = await addCaller(poor.service)
    const asked = { text: 'Go on. [[sandbox:tokens=100000]]', max_tokens: 16_000 }
    const reply = await caller.ask(path, asked)
    assert.equal(reply.stop, path.format === 'openai' ? 'length' : 'max_tokens')
    assert.ok(reply.tokens.output < 16_000)
    assert.ok(reply.svc.balance_after >= 0)
  })
}
