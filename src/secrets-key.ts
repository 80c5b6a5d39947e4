// Which keys encrypt secrets in the database: SECRETS_KEY, or one that is made at first start in DATA_DIR.

import path from 'node:path'
import { type Config, ConfigError } from './config.ts'
import { prepareDataDir, readOrMakeSecret } from './platform/data-dir.ts'
import { mintSecretKey, parseSecretKeys, type SecretKey } from './platform/secret-box.ts'

const FILE = 'secrets-key'

type KeySettings = Pick<Config, 'SECRETS_KEY' | 'SVC_MODE' | 'DATABASE_URL' | 'DATA_DIR'>

export function readSecretKeys(config: KeySettings): readonly SecretKey[] {
  const keys = parseSecretKeys(readSecretsKey(config))
  if (keys) return keys
  const file = path.join(config.DATA_DIR, FILE)
  throw new ConfigError(
    `${file} does not hold a key: put it back from a backup, or set SECRETS_KEY`,
  )
}

/** As text, for processes that this one forks: they are given a DATABASE_URL also when the database is embedded. */
export function readSecretsKey(config: KeySettings): string {
  if (config.SECRETS_KEY !== undefined) return config.SECRETS_KEY
  if (config.SVC_MODE === 'live' && config.DATABASE_URL !== undefined) {
    throw new ConfigError(
      'SECRETS_KEY is needed in live mode with DATABASE_URL, because every machine on one database must have the same key: set it to the output of `openssl rand -base64 32`',
    )
  }
  return readOrMakeSecret(path.join(prepareDataDir(config.DATA_DIR), FILE), mintSecretKey)
}
