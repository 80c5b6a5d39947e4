import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../test/support/same-cases.ts'
import { COUNTED_TEXTS } from './test-counted-texts.ts'
import { estimateTokens, type Vocabulary } from './token-count.ts'

/** What prompt-size.ts takes for each tokenizer, and adds to the safe estimate of a text. */
const TOKENIZERS = {
  o200k: { vocabulary: 'large', percent: 100 },
  cl100k: { vocabulary: 'small', percent: 100 },
  claude: { vocabulary: 'small', percent: 125 },
  gemma: { vocabulary: 'large', percent: 110 },
} as const

/** Scripts of which tokenizers know next to nothing, or only those that know many: a token for each byte. */
const BYTE_BY_BYTE: readonly [
  name: string,
  first: number,
  last: number,
  vocabularies: Vocabulary[],
][] = [
  ['combining marks', 0x300, 0x36f, ['large', 'small']],
  ['Armenian', 0x531, 0x587, ['large', 'small']],
  ['Syriac', 0x710, 0x74f, ['large', 'small']],
  ['Gujarati', 0xa81, 0xaff, ['small']],
  ['Oriya', 0xb01, 0xb77, ['small']],
  ['Lao', 0xe81, 0xedf, ['small']],
  ['Tibetan', 0xf00, 0xfbc, ['large', 'small']],
  ['Burmese', 0x1000, 0x109f, ['small']],
  ['Georgian', 0x10d0, 0x10fa, ['small']],
  ['Ethiopic', 0x1200, 0x135a, ['large', 'small']],
  ['Cherokee', 0x13a0, 0x13f5, ['large', 'small']],
  ['Canadian syllabics', 0x1400, 0x167f, ['large', 'small']],
  ['Khmer', 0x1780, 0x17e9, ['small']],
  ['Mongolian', 0x1820, 0x1878, ['large', 'small']],
  ['mathematical signs', 0x2a00, 0x2aff, ['large', 'small']],
  ['rare ideographs', 0x3400, 0x4dbf, ['large', 'small']],
  ['Yi', 0xa000, 0xa48c, ['large', 'small']],
  ['private use', 0xe000, 0xf8ff, ['large', 'small']],
  ['hieroglyphs', 0x13000, 0x1342e, ['large', 'small']],
  ['emoji', 0x1f300, 0x1f64f, ['large', 'small']],
  ['ideographs of extension B', 0x20000, 0x2a6df, ['large', 'small']],
  ['unassigned characters', 0xe1000, 0xe1fff, ['large', 'small']],
]

/**
 * The most that random strings of these were by any of the tokenizers with a large and with a small vocabulary, in
 * hundredths of a token a character and less what prompt-size.ts adds for that provider.
 */
const MEASURED: readonly [name: string, characters: string, large: number, small: number][] = [
  ['small letters', 'abcdefghijklmnopqrstuvwxyz', 53, 56],
  ['capitals', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 57, 61],
  ['rare capitals', 'QXZJVKW', 72, 79],
  ['letters', 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ', 61, 66],
  ['hexadecimal digits', '0123456789abcdef', 83, 59],
  ['digits', '0123456789', 91, 33],
  ['signs', '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~', 68, 67],
  ['spaces and tabs', ' \t', 47, 31],
  ['Cyrillic', rangeOf(0x410, 0x44f), 89, 112],
  ['Hebrew', rangeOf(0x5d0, 0x5ea), 72, 146],
  ['Arabic', rangeOf(0x621, 0x63a), 95, 126],
  ['Devanagari', rangeOf(0x901, 0x97f), 139, 189],
  ['Thai', rangeOf(0xe01, 0xe3a), 125, 159],
  ['Burmese', rangeOf(0x1000, 0x109f), 165, 263],
  ['Hiragana', rangeOf(0x3041, 0x3096), 117, 149],
  ['ideographs', rangeOf(0x4e00, 0x9fff), 195, 240],
  ['Hangul', rangeOf(0xac00, 0xd7a3), 248, 263],
]

function rangeOf(first: number, last: number): string {
  return Array.from({ length: last - first + 1 }, (_, index) =>
    String.fromCodePoint(first + index),
  ).join('')
}

test('a hold is at least the real count of every text that was counted', () => {
  for (const { name, text, ...counts } of COUNTED_TEXTS) {
    for (const tokenizer of ['o200k', 'cl100k', 'claude', 'gemma'] as const) {
      const { vocabulary, percent } = TOKENIZERS[tokenizer]
      const safe = (estimateTokens(text, 'safe', vocabulary) * percent) / 100
      assert.ok(safe >= counts[tokenizer], `${name}: ${safe}, ${tokenizer} ${counts[tokenizer]}`)
    }
  }
})

test('a hold for English, code, JSON and Chinese is at most a few times the count', () => {
  const ordinary = COUNTED_TEXTS.filter(({ name }) => ['english', 'code', 'json'].includes(name))
  assert.equal(ordinary.length, 3)
  for (const { name, text, o200k } of ordinary) {
    assert.ok(estimateTokens(text, 'safe') <= 3.3 * o200k, name)
  }
  const chinese = COUNTED_TEXTS.find(({ name }) => name === 'chinese')
  assert.ok(chinese && estimateTokens(chinese.text, 'safe') <= 3 * chinese.o200k)
})

test('a charge is near the real count, also of tokenizers that know few languages', () => {
  const languages = ['english', 'german', 'russian', 'arabic', 'hindi', 'chinese', 'korean']
  for (const { name, text, o200k, cl100k } of COUNTED_TEXTS) {
    if (!languages.includes(name)) continue
    const large = estimateTokens(text, 'close') / o200k
    const small = estimateTokens(text, 'close', 'small') / cl100k
    assert.ok(large > 0.8 && large < 1.25, `${name}: ${large}`)
    assert.ok(small > 0.8 && small < 1.25, `${name} of few: ${small}`)
  }
})

for (const [name, first, last, vocabularies] of BYTE_BY_BYTE) {
  test(`a hold for ${name} has a token for each byte, with spaces or without`, () => {
    const unit = fc.integer({ min: first, max: last }).map((code) => String.fromCodePoint(code))
    const words = fc.array(fc.string({ unit, minLength: 1, maxLength: 20 }))
    fc.assert(
      fc.property(words, fc.constantFrom('', ' '), (list, between) => {
        const text = list.join(between)
        for (const vocabulary of vocabularies) {
          assert.ok(estimateTokens(text, 'safe', vocabulary) >= Buffer.byteLength(text))
        }
      }),
    )
  })
}

for (const [name, characters, large, small] of MEASURED) {
  test(`a hold for random ${name} is at least what tokenizers make of them`, () => {
    // Without bias: texts that repeat one character are shorter in tokens than what was measured.
    const unit = fc.noBias(fc.constantFrom(...Array.from(characters)))
    const texts = fc.noShrink(fc.string({ unit, minLength: 5_000, maxLength: 5_000 }))
    fc.assert(
      fc.property(fc.noBias(texts), (text) => {
        const held = (vocabulary: Vocabulary) => estimateTokens(text, 'safe', vocabulary)
        assert.ok(held('large') >= Math.floor((text.length * large) / 100))
        assert.ok(held('small') >= Math.floor((text.length * small) / 100))
      }),
      { numRuns: 20 },
    )
  })
}

test('numbers with spaces between them are two tokens each', () => {
  assert.ok(estimateTokens('1 2 3 4 5 6 7 8 9', 'safe') >= 17)
})

test('each end of a line that Windows wrote is two tokens of Gemini’s', () => {
  assert.ok((estimateTokens('\r\n'.repeat(100), 'safe') * TOKENIZERS.gemma.percent) / 100 >= 200)
})

test('text that no tokenizer can shorten is held in full', () => {
  // One token a character: digits and letters in turn.
  assert.ok(estimateTokens('1a'.repeat(500), 'safe') >= 1_000)
  assert.ok(estimateTokens('🦄'.repeat(100), 'safe') >= 300)
  assert.ok(estimateTokens('👨‍👩‍👧‍👦'.repeat(20), 'safe') >= 20 * 18)
  assert.ok(estimateTokens('\ud83d'.repeat(100), 'safe') >= 100)
})

test('counting is linear', () => {
  const started = process.cpuUsage()
  estimateTokens('a'.repeat(10_000_000), 'safe')
  estimateTokens('aB1 \n你🦄.'.repeat(1_000_000), 'safe')
  assert.ok(process.cpuUsage(started).user < 5_000_000)
})
