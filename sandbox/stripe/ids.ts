// Ids in Stripe's forms. The same seed gives the same ids in the same order, so that a failing run
// can be repeated and compared line by line.

import { makeLetters } from '../random.ts'

const LENGTHS = {
  acct: 16,
  ca: 24,
  ch: 24,
  cs_test: 58,
  cus: 14,
  du: 24,
  evt: 24,
  li: 24,
  link: 12,
  pi: 24,
  pm: 24,
  price: 24,
  prod: 14,
  py: 24,
  pyr: 24,
  re: 24,
  req: 14,
  secret: 25,
  seti: 24,
  tr: 24,
  trr: 24,
  txn: 24,
  visit: 24,
} as const

export type IdKind = keyof typeof LENGTHS
export type Ids = { make(kind: IdKind): string }

export function createIds(seed: string): Ids {
  const counts = new Map<IdKind, number>()
  return {
    make(kind) {
      const count = (counts.get(kind) ?? 0) + 1
      counts.set(kind, count)
      // Thousands of ids can be made from 32 bits of state before two agree; the count keeps the
      // rest apart.
      const tail = count.toString(36)
      const length = LENGTHS[kind] - tail.length
      return `${kind}_${makeLetters(`${seed}/${kind}/${count}`, length)}${tail}`
    },
  }
}
