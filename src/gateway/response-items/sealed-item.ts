// One item as the database has it. Its key comes from its id, which only whoever was answered knows, and it opens for
// the account and the app that it was made for.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { OutputItem } from '../dialects/responses/terms.ts'

const CIPHER = 'aes-256-gcm'
const PURPOSE = 'svc response item'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

export type ItemOwner = {
  account_id: string
  /** The app through which its user pays. */
  client_id: string | null
}

export function sealItem(item: OutputItem, owner: ItemOwner): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, keyOf(item.id), nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(boundTo(owner))
  const text = JSON.stringify(item)
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

/** Undefined where it is another's. */
export function openItem(sealed: Buffer, id: string, owner: ItemOwner): unknown {
  const nonce = sealed.subarray(0, NONCE_BYTES)
  const decipher = createDecipheriv(CIPHER, keyOf(id), nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(boundTo(owner)).setAuthTag(sealed.subarray(-TAG_BYTES))
  try {
    const text = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8')
    return JSON.parse(text + decipher.final('utf8'))
  } catch {
    return undefined
  }
}

function keyOf(id: string): Buffer {
  return Buffer.from(hkdfSync('sha256', id, '', PURPOSE, KEY_BYTES))
}

function boundTo({ account_id, client_id }: ItemOwner): Buffer {
  return Buffer.from(`${account_id}.${client_id ?? ''}`)
}
