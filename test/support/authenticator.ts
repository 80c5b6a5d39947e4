// An authenticator without a device: makes passkeys (ES256, attestation `none`) and signs with them, as the WebAuthn
// specification has it. Shares no code with the library that the service checks them with.

import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

type Options = { challenge: string; rp?: { id?: string }; rpId?: string }

export type Faults = {
  origin?: string
  challenge?: string
  rp_id?: string
  type?: string
  user_verified?: boolean
  /** Does not count on. */
  count?: number
}

export type Authenticator = ReturnType<typeof createAuthenticator>

export function createAuthenticator(origin: string) {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const credential_id = randomBytes(32)
  const id = credential_id.toString('base64url')
  let count = 0
  const shared = { id, rawId: id, type: 'public-key' as const, clientExtensionResults: {} }
  const clientData = (type: string, options: Options, faults: Faults) =>
    Buffer.from(
      JSON.stringify({
        type: faults.type ?? type,
        challenge: faults.challenge ?? options.challenge,
        origin: faults.origin ?? origin,
        crossOrigin: false,
      }),
    )

  return {
    id,
    /** Answers `navigator.credentials.create()`. */
    register(options: Options, faults: Faults = {}) {
      const rp_id = faults.rp_id ?? options.rp?.id ?? ''
      const attested = Buffer.concat([
        Buffer.alloc(16),
        uint16(credential_id.length),
        credential_id,
        coseKey(keys.publicKey.export({ format: 'jwk' })),
      ])
      const data = Buffer.concat([authData({ rp_id, count, flags: 0x45 }), attested])
      const attestation = map([
        [text('fmt'), text('none')],
        [text('attStmt'), map([])],
        [text('authData'), bytes(data)],
      ])
      return {
        ...shared,
        response: {
          clientDataJSON: clientData('webauthn.create', options, faults).toString('base64url'),
          attestationObject: attestation.toString('base64url'),
          transports: ['internal'],
        },
      }
    },
    /** Answers `navigator.credentials.get()`. */
    assert(options: Options, faults: Faults = {}) {
      const rp_id = faults.rp_id ?? options.rpId ?? ''
      count = faults.count ?? count + 1
      const flags = faults.user_verified === false ? 0x01 : 0x05
      const data = authData({ rp_id, count, flags })
      const client_data = clientData('webauthn.get', options, faults)
      const signed = Buffer.concat([data, createHash('sha256').update(client_data).digest()])
      return {
        ...shared,
        response: {
          clientDataJSON: client_data.toString('base64url'),
          authenticatorData: data.toString('base64url'),
          signature: sign('sha256', signed, keys.privateKey).toString('base64url'),
        },
      }
    },
  }
}

function authData(given: { rp_id: string; count: number; flags: number }): Buffer {
  const counter = Buffer.alloc(4)
  counter.writeUInt32BE(given.count)
  const rp_hash = createHash('sha256').update(given.rp_id).digest()
  return Buffer.concat([rp_hash, Buffer.from([given.flags]), counter])
}

function coseKey({ x = '', y = '' }: { x?: string; y?: string }): Buffer {
  return map([
    [integer(1), integer(2)],
    [integer(3), integer(-7)],
    [integer(-1), integer(1)],
    [integer(-2), bytes(Buffer.from(x, 'base64url'))],
    [integer(-3), bytes(Buffer.from(y, 'base64url'))],
  ])
}

// As much of CBOR (RFC 8949) as the above needs.

function map(entries: [Buffer, Buffer][]): Buffer {
  return Buffer.concat([head(5, entries.length), ...entries.flat()])
}

function text(value: string): Buffer {
  return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
}

function bytes(value: Buffer): Buffer {
  return Buffer.concat([head(2, value.length), value])
}

function integer(value: number): Buffer {
  return value < 0 ? head(1, -1 - value) : head(0, value)
}

function head(major: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(major << 5) | length])
  if (length < 256) return Buffer.from([(major << 5) | 24, length])
  return Buffer.concat([Buffer.from([(major << 5) | 25]), uint16(length)])
}

function uint16(value: number): Buffer {
  const buffer = Buffer.alloc(2)
  buffer.writeUInt16BE(value)
  return buffer
}
