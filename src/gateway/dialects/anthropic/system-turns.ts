// Turns of role `system` in a list of messages. The newest Claude models take them anywhere after a user's turn, the
// others do not.

import { isObject } from '../body-fields.ts'

/** Whether a turn was said for one user turn only, and that one is over. */
export function clearedTurns(messages: readonly unknown[]): (index: number) => boolean {
  const last = messages.findLastIndex((entry) => isObject(entry) && entry['role'] === 'user')
  return (index) => {
    const message = messages[index]
    return index < last && isObject(message) && message['clear_at'] === 'next_user_message'
  }
}
