// Recovery codes: for whoever has lost the device. Ten at a time, shown once, each good once. They have 120 random bits,
// so a plain digest is enough and nobody guesses one.

import { randomBytes } from 'node:crypto'
import type { Tx } from '../../platform/db.ts'
import { digestSecret } from '../../platform/tokens.ts'
import { replaceRecoveryCodes, takeRecoveryCode } from './store.ts'

const CODES = 10
const LENGTH = 24
const GROUP = 6
/** Crockford's: without letters that look like others. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const CODE_PATTERN = /^[0-9a-hjkmnp-tv-z]{24}$/

/** Ends the codes of before. */
export async function makeRecoveryCodes(
  tx: Tx,
  owner: { account_id: string; at: Date },
): Promise<string[]> {
  const codes = Array.from({ length: CODES }, mintCode)
  await replaceRecoveryCodes(tx, { ...owner, digests: codes.map(digestSecret) })
  return codes.map(spellCode)
}

export async function dropRecoveryCodes(
  tx: Tx,
  owner: { account_id: string; at: Date },
): Promise<void> {
  await replaceRecoveryCodes(tx, { ...owner, digests: [] })
}

/** True for the one who used it first. */
export async function consumeRecoveryCode(
  tx: Tx,
  account_id: string,
  given: string,
): Promise<boolean> {
  const code = readCode(given)
  return CODE_PATTERN.test(code) && (await takeRecoveryCode(tx, account_id, digestSecret(code)))
}

function mintCode(): string {
  // 256 is a multiple of 32: every letter is as likely as the others.
  return Array.from(randomBytes(LENGTH), (byte) => ALPHABET.charAt(byte % ALPHABET.length)).join('')
}

function spellCode(code: string): string {
  const groups = Array.from({ length: LENGTH / GROUP }, (_, index) =>
    code.slice(index * GROUP, (index + 1) * GROUP),
  )
  return groups.join('-')
}

/** As people type it: in any case, with or without the lines, and with letters for the digits that look like them. */
function readCode(given: string): string {
  return given.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1')
}
