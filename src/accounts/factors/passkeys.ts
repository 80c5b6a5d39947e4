// Passkeys (WebAuthn) as second factor and for step-up. The name and origin that they are bound to come from PUBLIC_URL.
// Who signs in has shown the password before, so a security key without a PIN will do; for step-up the passkey stands
// alone, and must have asked its owner for a PIN or a finger.

import { isIP } from 'node:net'
import type { Static } from 'typebox'
import type { Tx } from '../../platform/db.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Challenge } from './challenges.ts'
import type { Assertion, Registration } from './passkey-schemas.ts'
import { countSignature, listPasskeys, type PasskeyRow } from './store.ts'

const RP_NAME = 'Svc'
/** EdDSA, ES256, RS256: what authenticators have. */
const ALGORITHMS = [-8, -7, -257]
const PROMPT_LASTS_MS = 5 * 60_000
const TRANSPORTS_MAX = 8

export type PasskeyPurpose = 'sign_in' | 'step_up'

export type RelyingParty = { id: string; origin: string }

/** Loaded when the first passkey is: 300 modules, a sixth of every start, for what few processes are asked. */
const library = () => import('@simplewebauthn/server')

/** Undefined where PUBLIC_URL has an IP address, which no passkey can be bound to. */
export function relyingParty(public_url: string): RelyingParty | undefined {
  const { hostname, origin } = new URL(public_url)
  const is_address = isIP(hostname) !== 0 || hostname.startsWith('[')
  return is_address ? undefined : { id: hostname, origin }
}

export function requireRelyingParty(public_url: string): RelyingParty {
  const party = relyingParty(public_url)
  if (party) return party
  throw new ApiError('bad_request', {
    message: 'Passkeys need a name, and this service is at an IP address.',
    hint: 'Use an authenticator app, or open the service under the name in its PUBLIC_URL.',
  })
}

export async function registrationOptions(
  party: RelyingParty,
  given: { challenge: string; account_id: string; email: string; known: readonly PasskeyRow[] },
) {
  const { generateRegistrationOptions } = await library()
  return await generateRegistrationOptions({
    rpName: RP_NAME,
    rpID: party.id,
    userName: given.email,
    userDisplayName: given.email,
    userID: new Uint8Array(Buffer.from(given.account_id.replaceAll('-', ''), 'hex')),
    challenge: decode(given.challenge),
    timeout: PROMPT_LASTS_MS,
    attestationType: 'none',
    excludeCredentials: describeKnown(given.known),
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
    supportedAlgorithmIDs: ALGORITHMS,
  })
}

export async function requestOptions(
  party: RelyingParty,
  given: { challenge: string; purpose: PasskeyPurpose; known: readonly PasskeyRow[] },
) {
  const { generateAuthenticationOptions } = await library()
  return await generateAuthenticationOptions({
    rpID: party.id,
    challenge: decode(given.challenge),
    timeout: PROMPT_LASTS_MS,
    allowCredentials: describeKnown(given.known),
    userVerification: given.purpose === 'step_up' ? 'required' : 'preferred',
  })
}

/** The new passkey, or undefined if anything about it is not as it was asked for. */
export async function readRegistration(
  party: RelyingParty,
  challenge: string,
  response: Static<typeof Registration>,
): Promise<Omit<PasskeyRow, 'id'> | undefined> {
  const { verifyRegistrationResponse } = await library()
  const verified = await unlessRefused(() =>
    verifyRegistrationResponse({
      response: { ...response, clientExtensionResults: {} },
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: false,
      supportedAlgorithmIDs: ALGORITHMS,
    }),
  )
  if (!verified?.verified) return undefined
  const { id, publicKey, counter } = verified.registrationInfo.credential
  return {
    credential_id: id,
    public_key: Buffer.from(publicKey),
    sign_count: BigInt(counter),
    transports: (response.response.transports ?? []).slice(0, TRANSPORTS_MAX),
  }
}

/** Whether a passkey of the account has signed the challenge. The library holds its count against the last one. */
export async function consumeAssertion(
  party: RelyingParty | undefined,
  tx: Tx,
  given: {
    account_id: string
    asked: Pick<Challenge, 'challenge'>
    purpose: PasskeyPurpose
    response: Static<typeof Assertion>
    at: Date
  },
): Promise<boolean> {
  const { response, asked } = given
  const passkeys = await listPasskeys(tx, given.account_id)
  const passkey = passkeys.find((known) => known.credential_id === response.id)
  if (!passkey || !party) return false
  const { verifyAuthenticationResponse } = await library()
  const verified = await unlessRefused(() =>
    verifyAuthenticationResponse({
      response: { ...response, clientExtensionResults: {} },
      expectedChallenge: asked.challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: given.purpose === 'step_up',
      credential: {
        id: passkey.credential_id,
        publicKey: new Uint8Array(passkey.public_key),
        counter: Number(passkey.sign_count),
      },
    }),
  )
  if (!verified?.verified) return false
  const sign_count = BigInt(verified.authenticationInfo.newCounter)
  await countSignature(tx, { id: passkey.id, sign_count, at: given.at })
  return true
}

/** The library throws for everything that is wrong with an answer, from its bytes to its signature. */
async function unlessRefused<Verified>(
  verify: () => Promise<Verified>,
): Promise<Verified | undefined> {
  try {
    return await verify()
  } catch {
    return undefined
  }
}

function describeKnown(known: readonly PasskeyRow[]) {
  return known.map(({ credential_id, transports }) => ({ id: credential_id, transports }))
}

/** The library would encode text once more. */
function decode(challenge: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(challenge, 'base64url'))
}
