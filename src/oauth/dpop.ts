// DPoP (RFC 9449) at the token endpoint: a public client shows that it holds a key, and its refresh token is then of
// use only with that key. Access tokens stay bearer tokens: the SDKs that send them cannot sign requests.

import { createPublicKey, hash, verify } from 'node:crypto'
import type { Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { digestSecret } from '../platform/tokens.ts'
import { insertProof } from './token-store.ts'

export const DPOP_ALGORITHM = 'ES256'
const LENGTH_MAX = 4096
/** A client's clock may be wrong by this much. */
const CLOCK_SKEW_MS = 60_000
const JWT_PATTERN = /^([\w-]+)\.([\w-]+)\.([\w-]{86})$/
/** 32 bytes in base64url. */
const COORDINATE_PATTERN = /^[\w-]{43}$/
const JTI_PATTERN = /^[\x21-\x7e]{1,256}$/

export type DpopProof = {
  /** The thumbprint of the key (RFC 7638). */
  jkt: string
  jti: string
  /** When it is too old to be accepted. */
  expires_at: Date
}

/** Undefined without the header; refuses a proof that is not one, of another request, or of another time. */
export function readProof(
  header: string | string[] | undefined,
  made_for: { method: string; url: string; now: Date },
): DpopProof | undefined {
  if (header === undefined) return undefined
  const [, head = '', body = '', signature = ''] =
    (typeof header === 'string' && header.length <= LENGTH_MAX && JWT_PATTERN.exec(header)) || []
  const key = readKey(parse(head))
  const signed = Buffer.from(`${head}.${body}`)
  if (!key || !isSigned(key, signed, Buffer.from(signature, 'base64url'))) throw invalidProof()
  const { htm, htu, iat, jti } = parse(body)
  if (htm !== made_for.method || !isSameAddress(htu, made_for.url)) throw invalidProof()
  const made_ms = typeof iat === 'number' ? iat * 1000 : Number.NaN
  // Written so that a time that is no number is refused.
  if (!(Math.abs(made_for.now.getTime() - made_ms) <= CLOCK_SKEW_MS)) throw invalidProof()
  if (typeof jti !== 'string' || !JTI_PATTERN.test(jti)) throw invalidProof()
  const jkt = hash('sha256', JSON.stringify(key), 'base64url')
  return { jkt, jti, expires_at: new Date(made_ms + 2 * CLOCK_SKEW_MS) }
}

/**
 * A proof is good once, whichever process sees it. Kept in PostgreSQL: rate-limit counters are of one process unless
 * there is Redis, and forget when there are many. Called only for a key that the grant is bound to, so nobody can fill
 * the table with keys of their own.
 */
export async function useProof(tx: Tx, { jkt, jti, expires_at }: DpopProof): Promise<void> {
  const proof_digest = digestSecret(`${jkt}:${jti}`)
  if (!(await insertProof(tx, { proof_digest, expires_at }))) throw invalidProof()
}

function invalidProof(): ApiError {
  return new ApiError('invalid_dpop_proof')
}

type Key = { crv: 'P-256'; kty: 'EC'; x: string; y: string }

/** In the order of its thumbprint. Undefined for another algorithm, a private key, or rules that we do not know. */
function readKey({ typ, alg, jwk, crit }: Record<string, unknown>): Key | undefined {
  if (typ !== 'dpop+jwt' || alg !== DPOP_ALGORITHM || crit !== undefined) return undefined
  if (!isObject(jwk)) return undefined
  const { kty, crv, x, y, d }: Record<string, unknown> = { ...jwk }
  if (kty !== 'EC' || crv !== 'P-256' || d !== undefined) return undefined
  if (!isCoordinate(x) || !isCoordinate(y)) return undefined
  return { crv, kty, x, y }
}

function isCoordinate(value: unknown): value is string {
  return typeof value === 'string' && COORDINATE_PATTERN.test(value)
}

/** A point that is not on the curve makes no key. */
function isSigned(jwk: Key, signed: Buffer, signature: Buffer): boolean {
  try {
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    return verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, signature)
  } catch {
    return false
  }
}

/** RFC 9449, 4.3: query and fragment do not count, nor how the same address is spelled. */
function isSameAddress(htu: unknown, url: string): boolean {
  if (typeof htu !== 'string' || !URL.canParse(htu)) return false
  const given = new URL(htu)
  given.search = ''
  given.hash = ''
  return given.href === new URL(url).href
}

function parse(part: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    return isObject(value) ? { ...value } : {}
  } catch {
    return {}
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
