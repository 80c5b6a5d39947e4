// The two codes of a sign-in on another device: a long one that the program keeps, and a short one that a person types.

import { hash, randomInt } from 'node:crypto'
import { digestSecret, mintSecret } from '../../platform/tokens.ts'

/** Consonants without Y: no word is spelled by chance, nothing looks like a digit (RFC 8628, 6.1). */
export const USER_CODE_LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'
export const USER_CODE_LENGTH = 8
const DEVICE_CODE_PREFIX = 'svc_device_'
const DEVICE_CODE_PATTERN = /^svc_device_[A-Za-z0-9_-]{43}$/
const USER_CODE_PATTERN = new RegExp(`^[${USER_CODE_LETTERS}]{${USER_CODE_LENGTH}}$`)

export function mintDeviceCode(): string {
  return mintSecret(DEVICE_CODE_PREFIX)
}

export function isDeviceCode(text: string): boolean {
  return DEVICE_CODE_PATTERN.test(text)
}

export function digestDeviceCode(device_code: string): Buffer {
  return digestSecret(device_code)
}

/** Without its hyphen, as it is compared. */
export function mintUserCode(): string {
  return Array.from({ length: USER_CODE_LENGTH }, () =>
    USER_CODE_LETTERS.charAt(randomInt(USER_CODE_LETTERS.length)),
  ).join('')
}

/** What somebody typed, in any case and with any spaces and hyphens; undefined if it cannot be a code. */
export function readUserCode(typed: string): string | undefined {
  const code = typed.replaceAll(/[\s\p{Pd}_.]/gu, '').toUpperCase()
  return USER_CODE_PATTERN.test(code) ? code : undefined
}

/** As people read it: BCDF-GHJK. */
export function showUserCode(code: string): string {
  return `${code.slice(0, USER_CODE_LENGTH / 2)}-${code.slice(USER_CODE_LENGTH / 2)}`
}

/**
 * Of 35 bits only, so that whoever reads the database could try all codes in a minute. It would help them little: the
 * code lets somebody give this device access to their own account, not to another's.
 */
export function digestUserCode(code: string): Buffer {
  return hash('sha256', `user code ${code}`, 'buffer')
}
