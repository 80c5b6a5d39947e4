// Codes of an authenticator app: RFC 6238 with SHA-1, 30 seconds and 6 digits, which is what every app can do. A code is
// taken one step early or late, and works once.

import { Secret, TOTP } from 'otpauth'
import { renderSVG } from 'uqr'
import type { Tx } from '../../platform/db.ts'
import type { SecretBox } from '../../platform/secret-box.ts'
import { findTotp, useTotpStep } from './store.ts'

const ISSUER = 'Svc'
const PERIOD_S = 30
/** Steps before and after the present one: clocks differ, and people type slowly. */
const WINDOW = 1
const SECRET_BYTES = 20
const RULES = { algorithm: 'SHA1', digits: 6, period: PERIOD_S }
const CODE_PATTERN = /^\d{6}$/

export type TotpParts = { secret_box: SecretBox }

export function mintTotpSecret(): string {
  return new Secret({ size: SECRET_BYTES }).base32
}

/** What an app reads from a picture, or from its owner's typing. */
export function describeTotp(secret: string, email: string) {
  const totp = new TOTP({ ...RULES, issuer: ISSUER, label: email, secret })
  const otpauth_uri = totp.toString()
  return { secret, otpauth_uri, qr_svg: renderSVG(otpauth_uri, { ecc: 'M', border: 4 }) }
}

/** The step that the code is of. */
export function matchStep(secret: string, given: string, now: Date): bigint | undefined {
  const token = given.replaceAll(/\s/g, '')
  if (!CODE_PATTERN.test(token)) return undefined
  const timestamp = now.getTime()
  const known = { ...RULES, secret: Secret.fromBase32(secret), timestamp }
  // The library compares in constant time.
  const delta = TOTP.validate({ ...known, token, window: WINDOW })
  if (delta === null) return undefined
  return BigInt(TOTP.counter({ period: PERIOD_S, timestamp }) + delta)
}

/** True for a code that is right and was not used before. */
export async function consumeTotp(
  { secret_box }: TotpParts,
  tx: Tx,
  given: { account_id: string; code: string; at: Date },
): Promise<boolean> {
  const row = await findTotp(tx, given.account_id)
  if (!row) return false
  const step = matchStep(secret_box.open(row.sealed_secret, row.id), given.code, given.at)
  return step !== undefined && (await useTotpStep(tx, { id: row.id, step, at: given.at }))
}
