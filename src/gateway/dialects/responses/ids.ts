// The ids of a reply and of its items. They come from the id of the call by a secret: a reply that is repeated says the
// same ones, and who knows the call's public id cannot guess them. Each begins with its day, so that whoever looks for
// a kept item knows where.

import { createHmac, type KeyObject } from 'node:crypto'

const PREFIXES = ['resp', 'msg', 'rs', 'fc', 'ctc'] as const
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const BASE = DIGITS.length
/** Enough for six hundred years from 1970 on. */
const DAY_DIGITS = 3
/** At least 130 bits: the first eight digits come a little more often. */
const SECRET_DIGITS = 23
const DAY_MS = 86_400_000
const PATTERN = new RegExp(
  `^(?:${PREFIXES.join('|')})_([0-9A-Za-z]{${DAY_DIGITS}})[0-9A-Za-z]{${SECRET_DIGITS}}$`,
)

export type IdPrefix = (typeof PREFIXES)[number]

/** What the ids of one reply come from. */
export type IdSource = { secret: Buffer | KeyObject; call_id: string; created: Date }

/** `place`: where the item stands in `output`; 0 for the response itself. */
export function mintId(
  { secret, call_id, created }: IdSource,
  prefix: IdPrefix,
  place: number,
): string {
  const digest = createHmac('sha256', secret).update(`${call_id}\n${prefix}\n${place}`).digest()
  let secret_part = ''
  for (const byte of digest.subarray(0, SECRET_DIGITS)) secret_part += DIGITS[byte % BASE]
  return `${prefix}_${dayDigits(created)}${secret_part}`
}

/** The day (UTC) that the id begins with, such as 2026-11-15; undefined if the id does not look like ours. */
export function dayOfItem(id: string): string | undefined {
  const [, digits] = PATTERN.exec(id) ?? []
  if (digits === undefined) return undefined
  let day = 0
  for (const digit of digits) day = day * BASE + DIGITS.indexOf(digit)
  return new Date(day * DAY_MS).toISOString().slice(0, 'YYYY-MM-DD'.length)
}

function dayDigits(date: Date): string {
  let digits = ''
  let rest = Math.floor(date.getTime() / DAY_MS)
  for (; digits.length < DAY_DIGITS; rest = Math.floor(rest / BASE)) {
    digits = DIGITS.charAt(rest % BASE) + digits
  }
  return digits
}
