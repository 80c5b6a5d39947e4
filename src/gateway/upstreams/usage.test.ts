import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../test/support/same-cases.ts'
import type { Usage } from '../dialects/chat-types.ts'
import { anthropicUsage, mergeAnthropicUsage } from './anthropic/usage.ts'
import { googleUsage } from './google/usage.ts'
import { openaiUsage } from './openai/usage.ts'

const tokens = fc.nat({ max: 1_000_000 })
const sum = (usage: Usage | undefined) => {
  assert.ok(usage)
  const { reasoning_tokens, audio_input_tokens: _of_input, ...buckets } = usage
  const counts = Object.values(buckets)
  for (const count of [...counts, reasoning_tokens])
    assert.ok(Number.isInteger(count) && count >= 0)
  assert.ok(reasoning_tokens <= usage.output_tokens)
  return counts.reduce((left, right) => left + right, 0)
}

test("the sum of OpenAI's buckets is its total, whatever part of the prompt was cached", () => {
  const share = fc.integer({ min: 0, max: 100 })
  fc.assert(
    fc.property(tokens, tokens, share, share, (prompt, completion, read, write) => {
      const cached_tokens = Math.floor((prompt * read) / 100)
      const cache_write_tokens = Math.floor(((prompt - cached_tokens) * write) / 100)
      const usage = openaiUsage({
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: prompt + completion,
        prompt_tokens_details: { cached_tokens, cache_write_tokens },
        completion_tokens_details: { reasoning_tokens: Math.floor(completion / 2) },
      })
      assert.equal(sum(usage), prompt + completion)
      assert.equal(usage?.cache_read_tokens, cached_tokens)
      assert.equal(usage?.cache_write_5m_tokens, cache_write_tokens)
    }),
  )
})

test("the sum of Anthropic's buckets is all it counted, with and without the split", () => {
  fc.assert(
    fc.property(tokens, tokens, tokens, tokens, (input, short, long, output) => {
      const counts = {
        input_tokens: input,
        cache_read_input_tokens: 7,
        cache_creation_input_tokens: short + long,
        output_tokens: output,
      }
      const split = {
        cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
      }
      const usage = anthropicUsage({ ...counts, ...split })
      assert.equal(sum(usage), input + 7 + short + long + output)
      assert.equal(usage?.cache_write_5m_tokens, short)
      assert.equal(usage?.cache_write_1h_tokens, long)
      assert.equal(anthropicUsage(counts)?.cache_write_5m_tokens, short + long)
      const { cache_creation_input_tokens: _, ...only_split } = { ...counts, ...split }
      assert.deepEqual(anthropicUsage(only_split), usage)
    }),
  )
})

test("the sum of Google's buckets is its total, in each of its three ways to count thoughts", () => {
  fc.assert(
    fc.property(tokens, tokens, tokens, tokens, (prompt, candidates, thoughts, hidden) => {
      const base = {
        promptTokenCount: prompt,
        cachedContentTokenCount: Math.floor(prompt / 3),
        candidatesTokenCount: candidates,
        thoughtsTokenCount: thoughts,
        toolUsePromptTokenCount: 5,
      }
      for (const total of [
        prompt + 5 + candidates + thoughts,
        prompt + 5 + candidates,
        prompt + 5 + candidates + thoughts + hidden,
      ]) {
        assert.equal(sum(googleUsage({ ...base, totalTokenCount: total })), total)
      }
    }),
  )
})

test('an explicit zero is data, and no report is no usage', () => {
  const zero = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
  assert.equal(openaiUsage(zero)?.output_tokens, 0)
  assert.equal(anthropicUsage({ input_tokens: 0, output_tokens: 0 })?.input_tokens, 0)
  assert.equal(googleUsage({ promptTokenCount: 9 })?.output_tokens, 0)
  for (const nothing of [null, undefined, {}, [], 'usage', { prompt_tokens: null }]) {
    assert.equal(openaiUsage(nothing), undefined)
    assert.equal(anthropicUsage(nothing), undefined)
    assert.equal(googleUsage(nothing), undefined)
  }
})

test('a later report overwrites field by field, null says nothing and zero says zero', () => {
  const start = { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 }
  const later = { output_tokens: 0, cache_read_input_tokens: null, input_tokens: 12 }
  assert.deepEqual(mergeAnthropicUsage(start, later), {
    input_tokens: 12,
    cache_read_input_tokens: 5,
    output_tokens: 0,
  })
})

test('counts that contradict each other never give a negative bucket', () => {
  const usage = openaiUsage({
    prompt_tokens: 10,
    completion_tokens: 5,
    prompt_tokens_details: { cached_tokens: 50, cache_write_tokens: 3 },
    completion_tokens_details: { reasoning_tokens: 9 },
  })
  assert.equal(sum(usage), 15)
  assert.equal(sum(googleUsage({ promptTokenCount: 4, cachedContentTokenCount: 9 })), 4)
})

test("the example of providers.md 6.5 keeps Anthropic's fresh input apart from its cache", () => {
  const raw = { input_tokens: 3, cache_creation_input_tokens: 12_304, output_tokens: 550 }
  assert.deepEqual(anthropicUsage({ ...raw, cache_read_input_tokens: 0 }), {
    input_tokens: 3,
    cache_read_tokens: 0,
    cache_write_5m_tokens: 12_304,
    cache_write_1h_tokens: 0,
    output_tokens: 550,
    reasoning_tokens: 0,
  })
})

test('sound that Google counts is told apart, less what came from the cache', () => {
  const raw = {
    promptTokenCount: 150,
    cachedContentTokenCount: 40,
    promptTokensDetails: [
      { modality: 'TEXT', tokenCount: 50 },
      { modality: 'AUDIO', tokenCount: 100 },
    ],
    cacheTokensDetails: [{ modality: 'AUDIO', tokenCount: 30 }],
    candidatesTokenCount: 5,
    totalTokenCount: 155,
  }
  assert.equal(googleUsage(raw)?.audio_input_tokens, 70)
  assert.equal(sum(googleUsage(raw)), 155)
  const text_only = { ...raw, promptTokensDetails: [{ modality: 'TEXT', tokenCount: 150 }] }
  assert.equal(googleUsage(text_only)?.audio_input_tokens, undefined)
  const absurd = { ...raw, promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 9_999 }] }
  assert.equal(googleUsage(absurd)?.audio_input_tokens, 110)
  for (const nonsense of [
    7,
    {},
    [null],
    [{ modality: 'AUDIO', tokenCount: -5 }],
    [{ modality: 'AUDIO' }],
  ]) {
    const usage = googleUsage({ ...raw, promptTokensDetails: nonsense })
    assert.equal(usage?.audio_input_tokens, undefined)
  }
})
