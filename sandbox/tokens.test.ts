import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writeTokens } from './prose.ts'
import {
  countPrefixes,
  countTokens,
  digestPrefixes,
  splitChunks,
  splitTokens,
  takeTokens,
} from './tokens.ts'

test('a token is four characters of English and one character of Chinese', () => {
  assert.equal(countTokens(''), 0)
  assert.equal(countTokens('abcd'), 1)
  assert.equal(countTokens('abcde'), 2)
  assert.equal(countTokens('你好'), 2)
  assert.equal(countTokens('🙂'), 1)
  assert.equal(countTokens('ééé'), 2)
})

test('a text cut into tokens or chunks joins back to itself', () => {
  const text = 'Grüße aus 日本 🙂 and some plain words to follow, twice. '.repeat(3)
  assert.equal(splitTokens(text).join(''), text)
  assert.equal(splitChunks(text).join(''), text)
  assert.equal(splitTokens(text).length, countTokens(text))
  const chunk_tokens = splitChunks(text).map(countTokens)
  assert.equal(
    chunk_tokens.reduce((sum, tokens) => sum + tokens, 0),
    countTokens(text),
  )
})

test('a text cut after so many tokens has so many tokens', () => {
  const text = 'naïve 你好 plain text '.repeat(10)
  for (const tokens of [0, 1, 7, 30]) assert.equal(countTokens(takeTokens(text, tokens)), tokens)
})

test('prefixes are counted as if each stood alone', () => {
  const text = 'one two 三 four 🙂 five six seven'
  const lengths = [0, 3, 5, 9, 20, text.length]
  const alone = lengths.map((length) => countTokens(text.slice(0, length)))
  assert.deepEqual(countPrefixes(text, lengths), alone)
})

test('equal beginnings have equal digests and the first difference ends that', () => {
  const left = digestPrefixes(`${'a'.repeat(4_000)}left`, 128)
  const right = digestPrefixes(`${'a'.repeat(4_000)}right`, 128)
  const other = digestPrefixes(`b${'a'.repeat(4_000)}left`, 128)
  assert.equal(left.length, 7)
  assert.deepEqual(left, right)
  assert.ok(other.every((digest) => !left.includes(digest)))
})

test('prose can be ordered by the token', () => {
  for (const tokens of [0, 1, 2, 50, 500, 3_000]) {
    for (const unicode of [false, true]) {
      assert.equal(countTokens(writeTokens(tokens, { seed: 'x', unicode })), tokens)
    }
  }
})
