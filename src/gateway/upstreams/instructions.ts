// Instructions in the middle of a conversation. Most providers take instructions in front of it only, where they would
// hold from the beginning: so they stay in their place, as words of the user's turn that are marked as not the user's.

import type { TextPart, UserPart } from '../dialects/chat-types.ts'

/** The mark that Claude is taught to know; others understand it by its name. */
export function markInstruction(text: string): string {
  return text.trim() === '' ? '' : `<system-reminder>\n${text}\n</system-reminder>`
}

export function spokenText(part: Extract<UserPart, { kind: 'text' }>): string {
  return part.instruction ? markInstruction(part.text) : part.text
}

/** The parts of a turn that holds nothing else; dialects keep instructions in turns of their own. */
export function instructionsOf(parts: readonly UserPart[]): TextPart[] | undefined {
  const [first] = parts
  const is_one = first?.kind === 'text' && first.instruction === true
  return is_one ? parts.filter((part) => part.kind === 'text') : undefined
}
