// A key of a client, and proofs that it holds it (RFC 9449): written from the document, sharing no code with src/.

import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'

export class ProofKey {
  readonly #pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  readonly #address: string
  readonly #now: () => Date

  constructor(issuer: string, now: () => Date) {
    this.#address = `${issuer}/oauth/token`
    this.#now = now
  }

  /** A header of a request to the token endpoint; a test changes what it likes of the proof. */
  prove(claims: object = {}, header: object = {}): { dpop: string } {
    const { kty, crv, x, y } = this.#pair.publicKey.export({ format: 'jwk' })
    const head = { typ: 'dpop+jwt', alg: 'ES256', jwk: { kty, crv, x, y }, ...header }
    const iat = Math.floor(this.#now().getTime() / 1000)
    const body = { htm: 'POST', htu: this.#address, iat, jti: randomUUID(), ...claims }
    const signed = `${encode(head)}.${encode(body)}`
    const key = { key: this.#pair.privateKey, dsaEncoding: 'ieee-p1363' } as const
    const signature = sign('sha256', Buffer.from(signed), key)
    return { dpop: `${signed}.${signature.toString('base64url')}` }
  }

  /** What nobody must send. */
  get privateJwk() {
    return this.#pair.privateKey.export({ format: 'jwk' })
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
