// The reasoning of OpenAI's models between two turns of a conversation. OpenAI gives it away encrypted, with an id, and
// wants both back. In neutral words they are the signature of a thought: formats that carry signatures then carry them.
// The mark in front and the model at the end say who can read it: no other model does.

const MARK = 'openai.reasoning:'
const PATTERN = /^openai\.reasoning:([^:]*):([^:]+):(.+)$/

export type OpenaiReasoning = {
  id: string
  encrypted_content: string
  /** What OpenAI calls the model that thought so. */
  upstream_id: string
}

/** Undefined where it could not be read back. */
export function signReasoning(reasoning: OpenaiReasoning): string | undefined {
  const { id, encrypted_content, upstream_id } = reasoning
  const signature = `${MARK}${id}:${encrypted_content}:${upstream_id}`
  return readReasoning(signature)?.encrypted_content === encrypted_content ? signature : undefined
}

export function readReasoning(signature: string): OpenaiReasoning | undefined {
  const [, id, encrypted_content, upstream_id] = PATTERN.exec(signature) ?? []
  if (id === undefined || encrypted_content === undefined || upstream_id === undefined) {
    return undefined
  }
  return { id, encrypted_content, upstream_id }
}

export function isOpenaiReasoning(signature: string): boolean {
  return signature.startsWith(MARK)
}
