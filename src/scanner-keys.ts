// Whose signatures under reports of leaked keys are believed: SECRET_SCANNING_KEYS, the keys themselves or a file of them.

import type { KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Config, ConfigError } from './config.ts'
import { parseScannerKeys } from './keys/scanner-signature.ts'

export function readScannerKeys({
  SECRET_SCANNING_KEYS: given,
}: Pick<Config, 'SECRET_SCANNING_KEYS'>): readonly KeyObject[] {
  if (given === undefined) return []
  const keys = parseScannerKeys(given.includes('-----BEGIN') ? given : readFile(given))
  if (keys) return keys
  const shown = JSON.stringify(given.slice(0, 100))
  throw new ConfigError(
    `SECRET_SCANNING_KEYS=${shown} is not allowed: expected P-256 public keys in PEM, or a file that holds them`,
  )
}

function readFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
