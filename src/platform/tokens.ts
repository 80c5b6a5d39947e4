// Secrets we issue: prefixed, random, kept only as a hash; and ids that sort by time.

import { hash, randomBytes, randomInt, randomUUID, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const KEY_PREFIX = 'sk-svc-'
const KEY_RANDOM_LENGTH = 26
const KEY_CHECKSUM_LENGTH = 6
const KEY_PATTERN = /^sk-svc-[0-9A-Za-z]{32}$/
const UUID_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** 256 random bits behind a prefix that says what it is. */
export function mintSecret(prefix: string): string {
  return prefix + randomBytes(32).toString('base64url')
}

/**
 * `sk-svc-` + 26 random characters (154 bits) + 6 of checksum. The checksum lets a reader, ours or a
 * secret scanner's, refuse junk without asking a database.
 */
export function mintApiKey(): string {
  let body = KEY_PREFIX
  for (let i = 0; i < KEY_RANDOM_LENGTH; i++) body += BASE62.charAt(randomInt(BASE62.length))
  return body + keyChecksum(body)
}

export function isWellFormedApiKey(text: string): boolean {
  if (!KEY_PATTERN.test(text)) return false
  const body = text.slice(0, -KEY_CHECKSUM_LENGTH)
  return text.endsWith(keyChecksum(body))
}

function keyChecksum(body: string): string {
  let rest = crc32(body)
  let digits = ''
  for (let i = 0; i < KEY_CHECKSUM_LENGTH; i++) {
    digits = BASE62.charAt(rest % BASE62.length) + digits
    rest = Math.floor(rest / BASE62.length)
  }
  return digits
}

/** What is stored and looked up. A plain hash is right for secrets of 112 random bits and more. */
export function digestSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer')
}

/** The digest as a cache key: one-byte characters, half the size of hex. */
export function digestKey(secret: string): string {
  return hash('sha256', secret, 'latin1')
}

export function equalSecrets(left: string, right: string): boolean {
  return timingSafeEqual(digestSecret(left), digestSecret(right))
}

/** UUIDv7: 48 bits of time, then `tag` in the 12 bits of rand_a, then 62 random bits. */
export function mintId(options: { at?: Date; tag?: number } = {}): string {
  const time = toHex((options.at ?? new Date()).getTime(), 12)
  // Node draws the randomness of many at once; a draw for each id cost twenty times as much.
  const random = randomUUID()
  const tag = options.tag === undefined ? random.slice(15, 18) : toHex(options.tag & 0x0fff, 3)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${tag}-${random.slice(19)}`
}

function toHex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0')
}

export function isUuid(text: string): boolean {
  return UUID_PATTERN.test(text)
}
