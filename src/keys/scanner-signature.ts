// Signatures of secret scanners, as GitHub makes them: ECDSA with P-256 and SHA-256 over the bytes of the body.

import { createPublicKey, type KeyObject, verify } from 'node:crypto'

const KEYS_MAX = 20
const PEM = /-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g

/**
 * Public keys in PEM, one after the other, or in the JSON that https://api.github.com/meta/public_keys/secret_scanning
 * answers. Undefined: there is none, or one is no key for this.
 */
export function parseScannerKeys(text: string): KeyObject[] | undefined {
  // Line breaks are written as \n in JSON, and by many in the environment.
  const blocks = text.replaceAll('\\n', '\n').match(PEM) ?? []
  if (blocks.length === 0 || blocks.length > KEYS_MAX) return undefined
  try {
    const keys = blocks.map((block) => createPublicKey(block))
    const fit = keys.every((key) => key.asymmetricKeyDetails?.namedCurve === 'prime256v1')
    return fit ? keys : undefined
  } catch {
    return undefined
  }
}

/** By any of the keys: which one is said beside the signature, by the same sender. */
export function isSignedBy(
  keys: readonly KeyObject[],
  signed: { body: string; signature: string },
): boolean {
  const signature = Buffer.from(signed.signature, 'base64')
  const body = Buffer.from(signed.body)
  return keys.some((key) => verify('sha256', body, { key, dsaEncoding: 'der' }, signature))
}
