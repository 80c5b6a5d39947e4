// A conversation in neutral words, as both dialects put it together.

import type { ChatMessage, TextPart, UserPart } from './chat-types.ts'

export type Conversation = { system: TextPart[]; messages: ChatMessage[] }

/** In front of the conversation, or from here on: then in a turn of their own. */
export function addInstructions(
  { system, messages }: Conversation,
  texts: readonly TextPart[],
): void {
  const content = texts.map((text): UserPart => ({ ...text, instruction: true }))
  if (messages.length === 0) for (const text of texts) system.push(text)
  else if (content.length > 0) messages.push({ role: 'user', content })
}
