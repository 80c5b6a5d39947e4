// PKCE (RFC 7636), S256 only: an app shows the hash of a secret when it asks, and the secret when it gets the tokens.

import { hash, timingSafeEqual } from 'node:crypto'
import { digestSecret } from '../platform/tokens.ts'
import { type Parameters, refusal } from './parameters.ts'

/** SHA-256 in base64url, without padding. */
const CHALLENGE_PATTERN = /^[A-Za-z0-9_-]{43}$/
/** RFC 7636, section 4.1. */
const VERIFIER_PATTERN = /^[A-Za-z0-9._~-]{43,128}$/

export function requireChallenge(parameters: Parameters): string {
  const challenge = parameters.require('code_challenge')
  const method = parameters.read('code_challenge_method')
  if (method !== undefined && method !== 'S256') {
    throw refusal('The only code_challenge_method is S256.')
  }
  if (!CHALLENGE_PATTERN.test(challenge)) {
    throw refusal(
      'code_challenge is not a SHA-256 in base64url.',
      'It has 43 characters, without padding.',
    )
  }
  return challenge
}

export function matchesChallenge(code_verifier: string, code_challenge: string): boolean {
  if (!VERIFIER_PATTERN.test(code_verifier)) return false
  const challenge = hash('sha256', code_verifier, 'base64url')
  return timingSafeEqual(digestSecret(challenge), digestSecret(code_challenge))
}
