// Secrets we issue: prefixed, random, kept only as a hash; and ids that sort by time.

import { hash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
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
  const bytes = randomBytes(16)
  bytes.writeUIntBE((options.at ?? new Date()).getTime(), 0, 6)
  const tag = options.tag ?? bytes.readUInt16BE(6)
  bytes.writeUInt16BE(0x7000 | (tag & 0x0fff), 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

export function isUuid(text: string): boolean {
  return UUID_PATTERN.test(text)
}
