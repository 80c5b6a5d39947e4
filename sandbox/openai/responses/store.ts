// What OpenAI keeps of a response unless it is told not to: its items, which later requests may refer
// to by id, and its conversation, which a later request may continue.

import type { JsonObject } from '../../json.ts'

const MAX_RESPONSES = 200
const MAX_ITEMS = 5_000

/** The id of the reasoning that led to an item is kept with it: the two may not be parted. */
export type StoredItem = { body: JsonObject; reasoning_id: string | undefined }
export type StoredResponses = {
  /** The whole conversation up to and including a response, by credential and response id. */
  conversations: Map<string, readonly JsonObject[]>
  items: Map<string, StoredItem>
}

export function createStoredResponses(): StoredResponses {
  return { conversations: new Map(), items: new Map() }
}

export function storeResponse(
  stored: StoredResponses,
  response: {
    key: string
    id: string
    input: readonly JsonObject[]
    output: readonly StoredItem[]
  },
): void {
  const { key, id, input, output } = response
  stored.conversations.set(`${key}/${id}`, [...input, ...output.map((item) => item.body)])
  for (const item of output) stored.items.set(`${key}/${String(item.body['id'])}`, item)
  dropOldest(stored.conversations, MAX_RESPONSES)
  dropOldest(stored.items, MAX_ITEMS)
}

/** A map keeps the order of insertion, so its first key is the oldest. */
function dropOldest(map: Map<string, unknown>, limit: number): void {
  for (const oldest of map.keys()) {
    if (map.size <= limit) return
    map.delete(oldest)
  }
}
