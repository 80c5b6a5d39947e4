import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../test/support/same-cases.ts'
import type { ChatModel } from '../catalog/models.ts'
import { CHAT_MODELS } from '../catalog/price-list.ts'
import { outputLimit } from './output-limit.ts'
import { promptTokens } from './prompt-size.ts'
import { COUNTED_TEXTS } from './test-counted-texts.ts'

function modelNamed(name: string): ChatModel {
  const model = CHAT_MODELS.find((one) => one.name === name)
  assert.ok(model)
  return model
}

function requestOf(text: string, max_output_tokens?: number) {
  const content = [{ kind: 'text', text } as const]
  return { system: [], messages: [{ content }], tools: [], max_output_tokens }
}

function limitOf(model: ChatModel, text: string, asked?: number) {
  const request = requestOf(text, asked)
  return outputLimit(request, model, promptTokens(request, model))
}

const ENGLISH = COUNTED_TEXTS.find(({ name }) => name === 'english')
assert.ok(ENGLISH)
const { text: SENTENCE, cl100k: SENTENCE_TOKENS } = ENGLISH

test('a caller gets the limit that was asked for, and never more than the model writes', () => {
  for (const model of CHAT_MODELS) {
    const most = model.max_output_tokens
    const long = SENTENCE.repeat(400)
    assert.deepEqual(limitOf(model, 'hi', 17), { max_output_tokens: 17, send: true })
    assert.deepEqual(limitOf(model, long, 17), { max_output_tokens: 17, send: true })
    assert.deepEqual(limitOf(model, 'hi', 1e9), { max_output_tokens: most, send: true })
  }
})

test('a short prompt has the whole output of the model, and only some have to be told', () => {
  const told = CHAT_MODELS.filter((model) => {
    const { max_output_tokens, send } = limitOf(model, 'hi')
    assert.equal(max_output_tokens, model.max_output_tokens)
    return send
  })
  // Without a limit gpt-4 writes to the end of its window, which is more than is held.
  assert.deepEqual(
    told.map(({ name }) => name),
    ['gpt-4', 'anthropic/claude-opus-4', 'anthropic/claude-sonnet-4', 'anthropic/claude-haiku-3.5'],
  )
})

test('a long prompt and a useful answer to it fit into the window', () => {
  for (const [name, fill] of [
    ['gpt-4', 0.6],
    ['gpt-4', 0.8],
    ['gpt-3.5-turbo', 0.8],
    ['gpt-4-turbo', 0.99],
    ['gpt-4o', 0.85],
    ['gpt-4o', 0.9],
    ['anthropic/claude-sonnet-4', 0.7],
    ['anthropic/claude-sonnet-4', 0.9],
  ] as const) {
    const model = modelNamed(name)
    const times = Math.floor((model.context_window * fill) / (SENTENCE_TOKENS + 1))
    const prompt_tokens = times * (SENTENCE_TOKENS + 1)
    const { max_output_tokens, send } = limitOf(model, `${SENTENCE}\n`.repeat(times))
    const left = model.context_window - prompt_tokens
    assert.ok(send)
    assert.ok(max_output_tokens <= left, `${name}: ${max_output_tokens} of ${left}`)
    assert.ok(max_output_tokens >= 256, `${name}: ${max_output_tokens}`)
  }
})

test('an answer is never asked for that the window has no room for, in any language', () => {
  const models = ['gpt-4', 'gpt-3.5-turbo', 'gpt-4-turbo', 'gpt-4o', 'gpt-4o-mini'].map(modelNamed)
  const spoken = COUNTED_TEXTS.filter(({ name }) =>
    [
      'english',
      'code',
      'json',
      'german',
      'russian',
      'greek',
      'arabic',
      'hindi',
      'chinese',
    ].includes(name),
  )
  const fill = fc.double({ min: 0.3, max: 0.8, noNaN: true })
  fc.assert(
    fc.property(
      fc.constantFrom(...models),
      fc.constantFrom(...spoken),
      fill,
      (model, { text, o200k, cl100k }, share) => {
        const each = model.name.startsWith('gpt-4o') ? o200k : cl100k
        const times = Math.ceil((model.context_window * share) / each)
        const { max_output_tokens } = limitOf(model, text.repeat(times))
        assert.ok(max_output_tokens >= 1 && max_output_tokens <= model.max_output_tokens)
        assert.ok(times * each + max_output_tokens <= model.context_window)
      },
    ),
    { numRuns: 60 },
  )
})

test('a prompt has no part in the output where the model gives each its own room', () => {
  const long = SENTENCE.repeat(60_000)
  for (const name of ['gpt-5', 'gpt-5-mini', 'google/gemini-2.5-pro', 'google/gemini-2.0-flash']) {
    const model = modelNamed(name)
    assert.equal(limitOf(model, long).max_output_tokens, model.max_output_tokens)
  }
})

test('for a prompt that seems to fill the window a short answer is asked for: the provider knows', () => {
  const { max_output_tokens } = limitOf(modelNamed('gpt-4'), SENTENCE.repeat(2_000))
  assert.equal(max_output_tokens, 256)
})
