// Chance that is not: the same seed gives the same choices, ids and digests, so that the same
// request gets the same answer in every process.

import { createHash } from 'node:crypto'

const LETTERS = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789')

export type Random = {
  /** A whole number from 0 up to, not including, the limit. */
  below(limit: number): number
  pick<Item>(items: readonly Item[]): Item | undefined
}

export function createRandom(seed: string): Random {
  // Mulberry32: 32 bits of state are plenty for choosing words, and every run agrees.
  let state = createHash('sha256').update(seed).digest().readUInt32LE(0)
  function below(limit: number): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit)
  }
  return { below, pick: (items) => items[below(items.length)] }
}

export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Letters and digits, as providers use them in ids. */
export function makeLetters(seed: string, length: number): string {
  const random = createRandom(seed)
  return Array.from({ length }, () => random.pick(LETTERS) ?? '0').join('')
}
