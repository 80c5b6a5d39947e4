// The events that there are, in a sentence each. The compiler finds a sentence that is missing, and a test an event.

import type { EventName } from './webhooks.ts'

export const EVENT_SENTENCES: Record<EventName, string> = {
  'user.connected': 'A user connected their account to the app.',
  'user.disconnected': 'A user, or the end of their last grant, disconnected them from the app.',
  'balance.updated': 'A call changed the balance of its payer.',
  'balance.low': 'A balance fell below the threshold below. Told once for each fall.',
  'usage.completed': 'A call ended and was charged.',
}

export const EVENT_NAMES: readonly EventName[] = [
  'user.connected',
  'user.disconnected',
  'balance.updated',
  'balance.low',
  'usage.completed',
]
