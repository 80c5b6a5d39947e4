// What `encrypted_content` of a reasoning item holds: a model's thoughts with the proofs that its provider asks for when
// they come back. Sealed, because some providers give thoughts to nobody, and because we keep nothing of them.

import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { SecretBox, type SecretKey, SecretNotOpened } from '../../../platform/secret-box.ts'
import { isObject } from '../body-fields.ts'
import type { AssistantPart } from '../chat-types.ts'

const PREFIX = 'svc1.'
const BOX_PREFIX = 'v1.'
const PURPOSE = 'responses'
const KEY_BYTES = 32
/** What one item can hold: more is no answer of a model. */
const MAX_PARTS = 2_000

export type Thought = Extract<AssistantPart, { kind: 'thinking' | 'redacted_thinking' }>

export type SealedReasoning = {
  /** The provider's model that thought so, as `sealedFor` says it: no other can read it. */
  sealed_for: string
  /** In their order. */
  thoughts: readonly Thought[]
  /** Google's proofs of calls, by the id of the call. */
  call_signatures: Readonly<Record<string, string>>
  /** Google's proof of the text beside the item. */
  text_signature: string | undefined
}

export class ReasoningSeal {
  readonly #box: SecretBox

  /** From the keys of all secrets, but none of them: what clients hold opens nothing of ours. */
  constructor(readKeys: () => readonly SecretKey[]) {
    this.#box = new SecretBox(() =>
      readKeys().map(({ id, key }) => ({ id, key: deriveKey(key, PURPOSE) })),
    )
  }

  seal(reasoning: SealedReasoning): string {
    const sealed = this.#box.seal(JSON.stringify(reasoning), PURPOSE)
    return PREFIX + sealed.slice(BOX_PREFIX.length)
  }

  /** Undefined: it is not ours, was changed, or its key is gone. */
  open(text: string): SealedReasoning | undefined {
    if (!text.startsWith(PREFIX)) return undefined
    try {
      const opened = this.#box.open(BOX_PREFIX + text.slice(PREFIX.length), PURPOSE)
      return readReasoning(JSON.parse(opened))
    } catch (error) {
      if (error instanceof SecretNotOpened) return undefined
      throw error
    }
  }
}

export function sealedFor({ provider, upstream_id }: { provider: string; upstream_id: string }) {
  return `${provider}/${upstream_id}`
}

export function deriveKey(key: KeyObject, purpose: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, '', purpose, KEY_BYTES)))
}

/** A later version of this file may have sealed it. */
function readReasoning(value: unknown): SealedReasoning | undefined {
  if (!isObject(value) || typeof value['sealed_for'] !== 'string') return undefined
  const { sealed_for, thoughts, call_signatures, text_signature } = value
  const proofs = isObject(call_signatures) ? Object.entries(call_signatures) : []
  const list = Array.isArray(thoughts) ? thoughts : []
  return {
    sealed_for,
    thoughts: list.slice(0, MAX_PARTS).flatMap(readThought),
    call_signatures: Object.fromEntries(
      proofs.filter((proof): proof is [string, string] => typeof proof[1] === 'string'),
    ),
    text_signature: typeof text_signature === 'string' ? text_signature : undefined,
  }
}

function readThought(value: unknown): Thought[] {
  if (!isObject(value)) return []
  const { kind, text, signature, data } = value
  if (kind === 'redacted_thinking' && typeof data === 'string') return [{ kind, data }]
  if (kind !== 'thinking' || typeof text !== 'string' || typeof signature !== 'string') return []
  return [{ kind, text, signature }]
}
