// Turns of role `system` in the middle of a conversation. The newest Claude models take them, the others do not.

import { isObject } from '../body-fields.ts'
import type { TextPart, UserPart } from '../chat-types.ts'

export function toInstruction(part: TextPart): UserPart {
  return { ...part, instruction: true }
}

/** Whether a turn was said for one user turn only, and that one is over. */
export function clearedTurns(messages: readonly unknown[]): (index: number) => boolean {
  const last = messages.findLastIndex((entry) => isObject(entry) && entry['role'] === 'user')
  return (index) => {
    const message = messages[index]
    return index < last && isObject(message) && message['clear_at'] === 'next_user_message'
  }
}
