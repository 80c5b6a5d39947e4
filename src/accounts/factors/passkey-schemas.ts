// What a browser answers with a passkey, as `PublicKeyCredential.toJSON()` writes it; only what is read is named.

import { Ajv } from 'ajv'
import { type Static, Type } from 'typebox'

function Bytes(max: number) {
  return Type.String({ minLength: 1, maxLength: max, pattern: '^[A-Za-z0-9_-]+$' })
}

const CredentialId = Bytes(1400)
const ClientData = Bytes(4096)
const shared = { id: CredentialId, rawId: CredentialId, type: Type.Literal('public-key') }

export const Registration = Type.Object({
  ...shared,
  response: Type.Object({
    clientDataJSON: ClientData,
    attestationObject: Bytes(8192),
    transports: Type.Optional(
      Type.Array(Type.String({ maxLength: 32, pattern: '^[a-z-]*$' }), { maxItems: 16 }),
    ),
  }),
})

export const Assertion = Type.Object({
  ...shared,
  response: Type.Object({
    clientDataJSON: ClientData,
    authenticatorData: Bytes(4096),
    signature: Bytes(4096),
  }),
})

const forms = new Ajv()

/** As a form of ours carries them. Undefined: it is something else. */
export function parseRegistration(text: string): Static<typeof Registration> | undefined {
  const given = parseJson(text)
  return forms.validate<Static<typeof Registration>>(Registration, given) ? given : undefined
}

export function parseAssertion(text: string): Static<typeof Assertion> | undefined {
  const given = parseJson(text)
  return forms.validate<Static<typeof Assertion>>(Assertion, given) ? given : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
