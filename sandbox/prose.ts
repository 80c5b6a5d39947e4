// Deterministic sentences: what the stand-ins say when nothing particular was asked of them.

import { wordList } from './json.ts'
import { createRandom, type Random } from './random.ts'
import { countTokens, takeTokens } from './tokens.ts'

const WORDS = wordList(`
  river window lantern harbour meadow signal paper garden engine winter bridge copper
  letter market orchard pencil quarry ribbon carries answers follows measures opens
  keeps turns gathers returns slow bright quiet narrow early plain steady distant
  small warm the a near under with and before after beside while again
`)
const WIDE_WORDS = [
  'naïve',
  'Straße',
  '日本語',
  '你好',
  'Привет',
  '🙂',
  '👩‍🚀',
  'œuvre',
  '한국어',
  '🌍',
]

export type ProseOptions = { seed: string; unicode: boolean }

export function writeSentences(count: number, options: ProseOptions): string {
  const random = createRandom(options.seed)
  const words = options.unicode ? [...WORDS, ...WIDE_WORDS, ...WIDE_WORDS] : WORDS
  return Array.from({ length: count }, () => writeSentence(words, random)).join(' ')
}

/** A text of exactly so many tokens. */
export function writeTokens(tokens: number, options: ProseOptions): string {
  let text = ''
  // Every round adds at least one sentence, far more than one token, so this ends.
  for (let round = 0; countTokens(text) <= tokens; round += 1) {
    const sentences = Math.ceil(tokens / 8) + 1
    text += `${writeSentences(sentences, { ...options, seed: `${options.seed}/${round}` })} `
  }
  // Providers trim white space at the ends of messages; a full stop weighs as much as a blank.
  return takeTokens(text, tokens).replace(/\s$/, '.')
}

function writeSentence(words: readonly string[], random: Random): string {
  const length = 6 + random.below(7)
  const sentence = Array.from({ length }, () => random.pick(words) ?? 'and').join(' ')
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`
}
