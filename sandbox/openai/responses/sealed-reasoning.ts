// The encrypted content of reasoning items. OpenAI's is opaque; this one names its model, its item
// and its tokens behind a digest, so that an altered or misplaced one is found out as there.

import { createHash } from 'node:crypto'
import { numberOf, objectOf, parseJson, textOf } from '../../json.ts'
import { badRequest, type OpenaiError } from '../errors.ts'

/** The version byte and the empty high bytes of the time: every real one starts with `gAAAAA`. */
const HEAD = Buffer.from([0x80, 0, 0, 0, 0])
const DIGEST_BYTES = 16

export type Reasoning = { model: string; item_id: string; tokens: number }

export function sealReasoning(reasoning: Reasoning): string {
  const content = Buffer.from(JSON.stringify(reasoning))
  return encode(Buffer.concat([HEAD, digestOf(content), content]))
}

/** Undefined when a single character differs from what was sealed. */
export function unsealReasoning(sealed: string): Reasoning | undefined {
  const bytes = Buffer.from(sealed, 'base64url')
  const content = bytes.subarray(HEAD.length + DIGEST_BYTES)
  const digest = bytes.subarray(HEAD.length, HEAD.length + DIGEST_BYTES)
  if (encode(bytes) !== sealed || !digest.equals(digestOf(content))) return undefined
  const { model, item_id, tokens } = objectOf(parseJson(content.toString('utf8')))
  return { model: textOf(model), item_id: textOf(item_id), tokens: numberOf(tokens) ?? 0 }
}

/** What is wrong with a sealed reasoning that is sent back for this model, in an item of this id. */
export function checkSealed(
  sealed: string,
  model: string,
  item_id: string,
): OpenaiError | undefined {
  const reasoning = unsealReasoning(sealed)
  if (reasoning === undefined || reasoning.model !== model) {
    return notVerified(sealed, item_id, 'Encrypted content could not be decrypted or parsed.')
  }
  if (item_id === '' || reasoning.item_id === item_id) return undefined
  const reason = 'Encrypted content item_id did not match the target item id.'
  return notVerified(sealed, item_id, reason)
}

function notVerified(sealed: string, item_id: string, reason: string): OpenaiError {
  const short = `${sealed.slice(0, 4)}...${sealed.slice(-4)}`
  const name = item_id === '' ? short : `for item ${item_id}`
  const message = `The encrypted content ${name} could not be verified. Reason: ${reason}`
  return badRequest(message, null, 'invalid_encrypted_content')
}

function digestOf(content: Buffer): Buffer {
  const hash = createHash('sha256').update('sandbox reasoning').update(content)
  return hash.digest().subarray(0, DIGEST_BYTES)
}

function encode(bytes: Buffer): string {
  const text = bytes.toString('base64url')
  return text.padEnd(Math.ceil(text.length / 4) * 4, '=')
}
