// The key of this browser for one app, and proofs of having it (RFC 9449). Nobody can read it out, so a refresh token that was
// stolen is of no use anywhere else.

import { base64url, random, utf8 } from './encoding.ts'

const CURVE = { name: 'ECDSA', namedCurve: 'P-256' }

/** Made when there is none. Call it inside a lock, or two tabs make two. */
export async function readKey(name: string): Promise<CryptoKeyPair> {
  const opening = indexedDB.open('svc')
  opening.addEventListener('upgradeneeded', () => opening.result.createObjectStore('keys'))
  const db = await done(opening)
  const keys = () => db.transaction('keys', 'readwrite').objectStore('keys')
  const found = await done<CryptoKeyPair | undefined>(keys().get(name))
  if (found) return found
  const made = await makeKey()
  await done(keys().put(made, name))
  return made
}

export function makeKey(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(CURVE, false, ['sign', 'verify'])
}

export async function signProof(
  { privateKey, publicKey }: CryptoKeyPair,
  { htu, at_ms }: { htu: string; at_ms: number },
) {
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey)
  const part = (value: object) => base64url(utf8(JSON.stringify(value)))
  const head = { typ: 'dpop+jwt', alg: 'ES256', jwk: { kty, crv, x, y } }
  const claims = { jti: random(), htm: 'POST', htu, iat: Math.floor(at_ms / 1000) }
  const text = `${part(head)}.${part(claims)}`
  const how = { name: 'ECDSA', hash: 'SHA-256' }
  return `${text}.${base64url(await crypto.subtle.sign(how, privateKey, utf8(text)))}`
}

function done<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result))
    request.addEventListener('error', () => reject(request.error ?? new Error('IndexedDB failed.')))
  })
}
