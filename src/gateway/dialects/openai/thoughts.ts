// The thoughts of Claude and of OpenAI's models with their proofs, which have to come back unchanged while tools are
// called. OpenAI's format has no place for them; this is OpenRouter's, which clients of it keep and send back.

import { isObject } from '../body-fields.ts'
import type { AssistantPart } from '../chat-types.ts'
import { isOpenaiReasoning } from '../openai-reasoning.ts'

const FORMAT = 'anthropic-claude-v1'
const OPENAI_FORMAT = 'openai-responses-v1'
const MAX_THOUGHTS = 2_000

export type Thought = Extract<AssistantPart, { kind: 'thinking' | 'redacted_thinking' }>

/** Those of others, and those without a proof, mean nothing to anybody. */
export function readThoughts(details: unknown): Thought[] {
  if (!Array.isArray(details)) return []
  return details.slice(0, MAX_THOUGHTS).flatMap(readThought)
}

function readThought(detail: unknown): Thought[] {
  if (!isObject(detail)) return []
  const { type, text, signature, data, format } = detail
  if (format === OPENAI_FORMAT) return readEncrypted(data)
  if (format !== FORMAT) return []
  if (type === 'reasoning.encrypted' && typeof data === 'string') {
    return [{ kind: 'redacted_thinking', data }]
  }
  if (type !== 'reasoning.text' || typeof signature !== 'string') return []
  return [{ kind: 'thinking', text: typeof text === 'string' ? text : '', signature }]
}

/** Its summary does not come back: the proof holds the whole thought. */
function readEncrypted(data: unknown): Thought[] {
  if (typeof data !== 'string' || !isOpenaiReasoning(data)) return []
  return [{ kind: 'thinking', text: '', signature: data }]
}

/** One thought, whole. */
export function presentThought(thought: Thought, index: number) {
  if (thought.kind === 'redacted_thinking') {
    return { type: 'reasoning.encrypted', data: thought.data, format: FORMAT, index }
  }
  const { text, signature } = thought
  if (isOpenaiReasoning(signature)) {
    return { type: 'reasoning.encrypted', data: signature, format: OPENAI_FORMAT, index }
  }
  return { type: 'reasoning.text', text, signature, format: FORMAT, index }
}
