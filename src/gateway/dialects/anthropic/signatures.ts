// Google's proofs of what its models said and called. This format has one place for such a proof: a thinking block,
// here without any thought, after the text or before the call it belongs to. The mark in front of it tells whose it
// is: no provider takes another's.

import { type Fields, isObject } from '../body-fields.ts'
import type { AssistantPart } from '../chat-types.ts'
import { isOpenaiReasoning } from '../openai-reasoning.ts'

const MARKS = { text: 'google.text:', call: 'google.call:' } as const

export function markSignature(of: keyof typeof MARKS, signature: string): string {
  return MARKS[of] + signature
}

/** A proof of text becomes an empty text that is signed; the proof of a call goes to the call. */
export function withGoogleSignatures(parts: readonly AssistantPart[]): AssistantPart[] {
  let signature: string | undefined
  return parts.flatMap((part): AssistantPart[] => {
    const text = signatureIn(part, 'text')
    if (text !== undefined) return [{ kind: 'text', text: '', signature: text }]
    const call = signatureIn(part, 'call')
    if (call !== undefined || part.kind !== 'tool_call' || signature === undefined) {
      signature = call ?? signature
      return call === undefined ? [part] : []
    }
    const signed = { ...part, signature }
    signature = undefined
    return [signed]
  })
}

function signatureIn(part: AssistantPart, of: keyof typeof MARKS): string | undefined {
  if (part.kind !== 'thinking' || !part.signature.startsWith(MARKS[of])) return undefined
  return part.signature.slice(MARKS[of].length)
}

/** The body for Anthropic without the thoughts of other providers' models. Copies only the messages that hold some. */
export function withoutForeignThoughts(body: Fields): Fields {
  const { messages } = body
  if (!Array.isArray(messages)) return body
  return { ...body, messages: messages.flatMap(withoutForeignBlocks) }
}

function withoutForeignBlocks(message: unknown): unknown[] {
  if (!isObject(message) || message['role'] !== 'assistant') return [message]
  const { content } = message
  if (!Array.isArray(content) || !content.some(isForeign)) return [message]
  const own = content.filter((block) => !isForeign(block))
  return own.length === 0 ? [] : [{ ...message, content: own }]
}

/** Anthropic refuses a thought that it has not signed. */
function isForeign(block: unknown): boolean {
  if (!isObject(block) || block['type'] !== 'thinking') return false
  const { signature } = block
  if (typeof signature !== 'string' || signature === '') return true
  const is_google = Object.values(MARKS).some((mark) => signature.startsWith(mark))
  return is_google || isOpenaiReasoning(signature)
}
