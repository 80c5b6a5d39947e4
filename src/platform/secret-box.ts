// Secrets that we must be able to read again, encrypted for the database: AES-256-GCM under a key that the database
// does not hold. A sealed secret names its key, so keys can be changed, and is bound to its row, so that it opens nowhere else.

import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const DERIVED_ID_LENGTH = 8
/** One key of a list: an id of one's own before it, or none. 43 characters of base64 are 32 bytes. */
const KEY_PATTERN = /^(?:([A-Za-z0-9_-]{1,32}):)?([A-Za-z0-9+/_-]{43}=?)$/
const SEALED_PATTERN = /^v1\.([A-Za-z0-9_-]{1,32})\.([A-Za-z0-9_-]+)$/

export type SecretKey = { id: string; key: KeyObject }

/** Why a secret could not be opened. Its message holds no part of the secret. */
export class SecretNotOpened extends Error {
  override readonly name = 'SecretNotOpened'
}

export class SecretBox {
  readonly #readKeys: () => readonly SecretKey[]
  #keys: readonly SecretKey[] | undefined

  /** The keys are read when they are first needed, or by `prepare`. The first encrypts, all decrypt. */
  constructor(readKeys: () => readonly SecretKey[]) {
    this.#readKeys = readKeys
  }

  /** Throws now, rather than at the first secret, if there are no keys. */
  prepare(): void {
    this.#current()
  }

  /** `bound_to` is the id of the row: the same is needed to open it. */
  seal(text: string, bound_to: string): string {
    const { id, key } = this.#current()
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
    cipher.setAAD(boundData(id, bound_to))
    const bytes = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
    return `v1.${id}.${Buffer.concat(bytes).toString('base64url')}`
  }

  open(sealed: string, bound_to: string): string {
    const [, id = '', content = ''] = SEALED_PATTERN.exec(sealed) ?? []
    const bytes = Buffer.from(content, 'base64url')
    if (bytes.length < NONCE_BYTES + TAG_BYTES) {
      throw new SecretNotOpened('this is not a sealed secret')
    }
    const known = this.#all().find((key) => key.id === id)
    if (!known) throw new SecretNotOpened(this.#describeUnknown(id))
    const nonce = bytes.subarray(0, NONCE_BYTES)
    const decipher = createDecipheriv(CIPHER, known.key, nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(boundData(id, bound_to)).setAuthTag(bytes.subarray(-TAG_BYTES))
    try {
      const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8')
      return text + decipher.final('utf8')
    } catch {
      throw new SecretNotOpened(
        `a secret sealed with key ${id} does not open: it was changed, belongs to another row, or the key is another one`,
      )
    }
  }

  /** Whether the first key sealed it; if not, open it and seal it again before its key is taken away. */
  isCurrent(sealed: string): boolean {
    return SEALED_PATTERN.exec(sealed)?.[1] === this.#current().id
  }

  #all(): readonly SecretKey[] {
    this.#keys ??= this.#readKeys()
    return this.#keys
  }

  #current(): SecretKey {
    const [first] = this.#all()
    if (!first) throw new Error('there is no key to encrypt secrets with: set SECRETS_KEY')
    return first
  }

  #describeUnknown(id: string): string {
    const known = this.#all()
      .map((key) => key.id)
      .join(', ')
    return `a secret was sealed with key ${id}, which this process does not have (it has ${known}): add that key to SECRETS_KEY`
  }
}

/** A key alone, or several with commas between them, each with or without an id. undefined: it is something else. */
export function parseSecretKeys(text: string): readonly SecretKey[] | undefined {
  const keys = text.split(',').map((part) => parseKey(part.trim()))
  const ids = new Set(keys.map((key) => key?.id))
  return ids.size === keys.length && !ids.has(undefined)
    ? keys.filter((key) => key !== undefined)
    : undefined
}

export function mintSecretKey(): string {
  return randomBytes(KEY_BYTES).toString('base64')
}

function parseKey(text: string): SecretKey | undefined {
  const [, given_id, encoded] = KEY_PATTERN.exec(text) ?? []
  if (encoded === undefined) return undefined
  const bytes = Buffer.from(encoded, 'base64')
  // From the key itself, so that a key is known again wherever it stands in the list.
  const id =
    given_id ?? createHash('sha256').update(bytes).digest('hex').slice(0, DERIVED_ID_LENGTH)
  return { id, key: createSecretKey(bytes) }
}

function boundData(key_id: string, bound_to: string): Buffer {
  return Buffer.from(`v1.${key_id}.${bound_to}`)
}
