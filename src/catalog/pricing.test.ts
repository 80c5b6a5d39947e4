import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../test/support/same-cases.ts'
import { ApiError } from '../platform/errors.ts'
import { CREDITS_MAX } from '../platform/money.ts'
import type { ChatModel } from './models.ts'
import { AUDIO_MODELS, CHAT_MODELS } from './price-list.ts'
import {
  affordableOutput,
  costWithin,
  markupOf,
  priceInput,
  priceUsage,
  quoteMaximum,
  quoteMinimum,
  type TokenUsage,
} from './pricing.ts'

const NOTHING: TokenUsage = {
  input_tokens: 0,
  cache_read_tokens: 0,
  cache_write_5m_tokens: 0,
  cache_write_1h_tokens: 0,
  output_tokens: 0,
}
const BUCKETS = [
  ['input_tokens', 'input'],
  ['cache_read_tokens', 'cache_read'],
  ['cache_write_5m_tokens', 'cache_write_5m'],
  ['cache_write_1h_tokens', 'cache_write_1h'],
  ['output_tokens', 'output'],
] as const

const tokens = fc.integer({ min: 0, max: 2_000_000 })
const usages = fc.record({
  input_tokens: tokens,
  cache_read_tokens: tokens,
  cache_write_5m_tokens: tokens,
  cache_write_1h_tokens: tokens,
  output_tokens: tokens,
})
const price = fc.bigInt({ min: 0n, max: 1_000_000_000n })
const prices = fc.record({
  input: price,
  cache_read: price,
  cache_write_5m: price,
  cache_write_1h: price,
  output: price,
})
const priced = fc
  .record({
    like: fc.constantFrom(...CHAT_MODELS),
    prices,
    long_prompt: fc.option(fc.record({ above_tokens: tokens, prices }), { nil: undefined }),
  })
  .map(({ like, prices, long_prompt }): ChatModel => {
    const { long_prompt: _, ...rest } = like
    return { ...rest, prices, ...(long_prompt && { long_prompt }) }
  })
const models = fc.oneof(fc.constantFrom(...CHAT_MODELS), priced)
const cache_writes = fc.constantFrom(false, true, '5m' as const, '1h' as const)

function modelNamed(name: string): ChatModel {
  const model = CHAT_MODELS.find((one) => one.name === name)
  assert.ok(model)
  return model
}

function promptOf(usage: TokenUsage): number {
  const { output_tokens: _, ...prompt } = usage
  return Object.values(prompt).reduce((total, count) => total + count, 0)
}

test('a Sonnet call that writes 12,304 tokens to the cache costs 54,399 credits', () => {
  const usage = { ...NOTHING, input_tokens: 3, cache_write_5m_tokens: 12_304, output_tokens: 550 }
  assert.equal(priceUsage(modelNamed('anthropic/claude-sonnet-4'), usage), 54_399n)
})

test('a call costs the exact sum of its buckets, rounded up once', () => {
  fc.assert(
    fc.property(models, usages, (model, usage) => {
      const { long_prompt } = model
      const is_long = long_prompt !== undefined && promptOf(usage) > long_prompt.above_tokens
      const charged = is_long ? long_prompt.prices : model.prices
      // As a fraction n / d, compared without dividing: the credits are the least whole number not below it.
      const numerator = BUCKETS.reduce(
        (total, [bucket, name]) => total + BigInt(usage[bucket]) * charged[name],
        0n,
      )
      const cost = priceUsage(model, usage)
      assert.ok(cost * 1_000_000n >= numerator)
      assert.ok(numerator === 0n ? cost === 0n : (cost - 1n) * 1_000_000n < numerator)
    }),
  )
})

test('buckets are charged apart and add up: no token is free, none is charged twice', () => {
  fc.assert(
    fc.property(models, usages, (model, usage) => {
      const { long_prompt: _, ...flat } = model
      const alone = BUCKETS.map(([bucket]) =>
        priceUsage(flat, { ...NOTHING, [bucket]: usage[bucket] }),
      )
      const apart = alone.reduce((total, cost) => total + cost, 0n)
      const together = priceUsage(flat, usage)
      // Each of the five roundings adds less than one credit.
      assert.ok(together <= apart && apart - together < 5n)
    }),
  )
})

test('more tokens in any bucket never cost less', () => {
  const listed = fc.constantFrom(...CHAT_MODELS)
  fc.assert(
    fc.property(
      listed,
      usages,
      fc.constantFrom(...BUCKETS),
      tokens,
      (model, usage, bucket, more) => {
        const [name] = bucket
        const larger = { ...usage, [name]: usage[name] + more }
        assert.ok(priceUsage(model, larger) >= priceUsage(model, usage))
      },
    ),
  )
})

test('the whole prompt decides whether long-prompt prices hold, and then for every token', () => {
  const model = modelNamed('google/gemini-2.5-pro')
  const usage = {
    ...NOTHING,
    input_tokens: 100_000,
    cache_read_tokens: 100_000,
    output_tokens: 1_000,
  }
  assert.equal(priceUsage(model, usage), 125_000n + 12_500n + 10_000n)
  const longer = { ...usage, cache_read_tokens: 100_001 }
  assert.equal(priceUsage(model, longer), 250_000n + 25_001n + 15_000n)
})

test('sound in a prompt costs what the model takes for sound, and no more where it takes nothing apart', () => {
  const usage = { ...NOTHING, input_tokens: 1_000, audio_input_tokens: 600, output_tokens: 10 }
  assert.equal(priceUsage(modelNamed('google/gemini-2.5-flash'), usage), 120n + 600n + 25n)
  assert.equal(priceUsage(modelNamed('google/gemini-2.0-flash'), usage), 40n + 420n + 4n)
  assert.equal(priceUsage(modelNamed('google/gemini-2.5-pro'), usage), 1_250n + 100n)
  const too_much = { ...usage, audio_input_tokens: 1_001 }
  assert.throws(() => priceUsage(modelNamed('google/gemini-2.5-flash'), too_much), {
    code: 'pricing_error',
  })
})

const listening = fc
  .record({ model: models, audio_input: fc.option(price, { nil: undefined }) })
  .map(({ model, audio_input }): ChatModel => {
    const prices = { ...model.prices, ...(audio_input !== undefined && { audio_input }) }
    return { ...model, prices }
  })

test('a quote covers sound at its own price too, and the hold says how much output is left', () => {
  const calls = fc.record({
    usage: usages,
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    spare: tokens,
    markup_bps: fc.integer({ min: 0, max: 10_000 }),
  })
  fc.assert(
    fc.property(listening, calls, (model, { usage, share, spare, markup_bps }) => {
      const audio_input_tokens = Math.floor(usage.input_tokens * share)
      const prompt_tokens = promptOf(usage) + spare
      const audio_tokens = audio_input_tokens + spare
      const bounds = { prompt_tokens, audio_tokens, n: 1, cache_write: true }
      const max_output_tokens = usage.output_tokens
      const maximum = quoteMaximum(model, { ...bounds, max_output_tokens })
      assert.ok(maximum >= priceUsage(model, { ...usage, audio_input_tokens }))
      const credits = maximum + markupOf(maximum, markup_bps)
      const affordable = affordableOutput(model, { ...bounds, credits, markup_bps })
      assert.ok(affordable >= Math.min(max_output_tokens, model.max_output_tokens))
    }),
  )
})

test('a quote covers every usage within its bounds', () => {
  const parts = fc.record({
    usage: usages,
    spare_prompt: tokens,
    spare_output: tokens,
    n: fc.integer({ min: 1, max: 8 }),
    cache_write: cache_writes,
  })
  fc.assert(
    fc.property(models, parts, (model, { usage, spare_prompt, spare_output, n, cache_write }) => {
      const on_demand = model.provider === 'anthropic'
      const possible = {
        ...usage,
        ...(on_demand && cache_write === false && { cache_write_5m_tokens: 0 }),
        ...(on_demand &&
          cache_write !== true &&
          cache_write !== '1h' && { cache_write_1h_tokens: 0 }),
      }
      const bounds = {
        prompt_tokens: promptOf(possible) + spare_prompt,
        max_output_tokens: Math.ceil(possible.output_tokens / n) + spare_output,
        n,
        cache_write,
      }
      const maximum = quoteMaximum(model, bounds)
      assert.ok(maximum >= priceUsage(model, possible))
      assert.ok(quoteMinimum(model, bounds) <= maximum)
    }),
  )
})

test('the affordable output is the largest that the hold covers, with its markup', () => {
  const parts = fc.record({
    prompt_tokens: tokens,
    n: fc.integer({ min: 1, max: 8 }),
    cache_write: cache_writes,
    credits: fc.bigInt({ min: 0n, max: 40_000_000n }),
    markup_bps: fc.integer({ min: 0, max: 10_000 }),
  })
  fc.assert(
    fc.property(models, parts, (model, { credits, markup_bps, ...bounds }) => {
      const limit = affordableOutput(model, { ...bounds, credits, markup_bps })
      const holdFor = (max_output_tokens: number) => {
        const cost = quoteMaximum(model, { ...bounds, max_output_tokens })
        return cost + markupOf(cost, markup_bps)
      }
      assert.ok(limit >= 0 && limit <= model.max_output_tokens)
      if (limit > 0) assert.ok(holdFor(limit) <= credits)
      if (limit < model.max_output_tokens) assert.ok(holdFor(limit + 1) > credits)
    }),
    { numRuns: 500 },
  )
})

test('a markup is rounded down, and costWithin finds the largest cost that leaves room for it', () => {
  assert.equal(markupOf(999n, 1_000), 99n)
  assert.equal(markupOf(1_000n, 0), 0n)
  const credits = fc.bigInt({ min: 0n, max: CREDITS_MAX / 2n })
  fc.assert(
    fc.property(credits, fc.integer({ min: 0, max: 10_000 }), (total, markup_bps) => {
      const cost = costWithin(total, markup_bps)
      assert.ok(cost + markupOf(cost, markup_bps) <= total)
      assert.ok(cost + 1n + markupOf(cost + 1n, markup_bps) > total)
    }),
  )
})

test('the minimum holds the prompt and 16 tokens, or fewer if fewer were asked for', () => {
  const bounds = { prompt_tokens: 1_000, max_output_tokens: 4_096, n: 1, cache_write: false }
  const model = modelNamed('gpt-4')
  assert.equal(quoteMinimum(model, bounds), 30_000n + 16n * 60n)
  assert.equal(quoteMinimum(model, { ...bounds, max_output_tokens: 1 }), 30_060n)
})

test('amounts beyond 2^53 - 1 and counts that are no counts are a pricing error, not a price', () => {
  const model = modelNamed('anthropic/claude-opus-4')
  const refuse = (work: () => unknown) =>
    assert.throws(work, (error) => error instanceof ApiError && error.code === 'pricing_error')
  refuse(() => priceUsage(model, { ...NOTHING, output_tokens: Number.MAX_SAFE_INTEGER }))
  for (const count of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
    refuse(() => priceUsage(model, { ...NOTHING, input_tokens: count }))
  }
  refuse(() =>
    quoteMaximum(model, {
      prompt_tokens: 0,
      max_output_tokens: 2 ** 50,
      n: 128,
      cache_write: false,
    }),
  )
})

test('audio is charged by character, by the millisecond of an hour and by sound', () => {
  const priceOf = (name: string, quantity: number) => {
    const model = AUDIO_MODELS.find((one) => one.name === `elevenlabs/${name}`)
    assert.ok(model)
    return priceInput(model, quantity)
  }
  assert.equal(priceOf('eleven_multilingual_v2', 11), 1_100n)
  assert.equal(priceOf('eleven_flash_v2_5', 11), 550n)
  assert.equal(priceOf('eleven_text_to_sound_v2', 2), 240_000n)
  assert.equal(priceOf('scribe_v1', 3_600_000), 220_000n)
  for (const ms of [0, 1, 17, 59_999, 7_200_001]) {
    assert.equal(priceOf('scribe_v2', ms), BigInt(Math.ceil((ms * 220_000) / 3_600_000)))
  }
})
