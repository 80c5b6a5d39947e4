import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EMBEDDING_MODELS } from '../../catalog/embedding-models.ts'
import { COUNTED_TEXTS } from '../test-counted-texts.ts'
import { embeddedTokens } from './token-estimate.ts'

const [openai, google] = ['text-embedding-3-small', 'google/gemini-embedding-001'].map((name) => {
  const model = EMBEDDING_MODELS.find((one) => one.name === name)
  assert.ok(model)
  return model
})
assert.ok(openai && google)

test('the hold covers what the tokenizers of OpenAI and Google count, text by text', () => {
  for (const { text, cl100k, gemma } of COUNTED_TEXTS) {
    assert.ok(embeddedTokens([text], openai, 'safe') >= Math.min(cl100k, 8_192))
    assert.ok(embeddedTokens([text], google, 'safe') >= Math.min(gemma, 2_048))
  }
})

test('a text counts for no more than the model reads of it, and a request for no more than it takes', () => {
  const long = 'many words '.repeat(5_000)
  assert.equal(embeddedTokens([long], google, 'close'), 2_048)
  assert.equal(embeddedTokens([long, 'a'], google, 'close'), 2_050)
  assert.equal(embeddedTokens([long], openai, 'safe'), 8_192)
  assert.equal(embeddedTokens(Array(40).fill(long), openai, 'safe'), 300_000)
})

test('texts that are asked for in several requests count for as much as all of those take', () => {
  const limited = { ...google, max_request_tokens: 20_000 }
  const long = 'many words '.repeat(5_000)
  assert.equal(embeddedTokens(Array(100).fill(long), limited, 'safe', 100), 20_000)
  assert.equal(embeddedTokens(Array(250).fill(long), limited, 'safe', 100), 60_000)
})

test('token ids are counted, not estimated', () => {
  for (const accuracy of ['safe', 'close'] as const) {
    assert.equal(embeddedTokens([[1, 2], [3]], openai, accuracy), 3)
  }
})

test('no text is free, and what is charged is within what is held', () => {
  const texts = ['\r', ' ', '\u0000', ...COUNTED_TEXTS.map(({ text }) => text)]
  for (const model of [openai, google]) {
    for (const text of texts) {
      const close = embeddedTokens([text], model, 'close')
      assert.ok(close >= 1 && close <= embeddedTokens([text], model, 'safe'), text)
    }
  }
})
