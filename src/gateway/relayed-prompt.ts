// What a provider is sent as it came, where the client speaks its dialect: more than our own form of a request has a place
// for, and not always what it was read as. The model reads all of it, so all of it is held for.

import type { ChatModel } from '../catalog/models.ts'
import type { ChatRequest } from './dialects/chat-types.ts'
import { type JsonRecord, listOf, recordOf } from './upstreams/json-values.ts'
import { upstreamOf } from './upstreams/registry.ts'

export function isRelayed(
  original: ChatRequest['original'] | undefined,
  model: ChatModel,
): original is ChatRequest['original'] {
  return original?.dialect === upstreamOf(model)
}

/** What is counted as it was sent: the tools, the arguments of calls, and what our form leaves out. */
export function relayedValues({ dialect, body }: ChatRequest['original']): unknown[] {
  const spoken = dialect === 'openai' ? listOf(body['messages']).flatMap(valuesOf) : []
  return [body['tools'], ...spoken].filter((value) => (value ?? null) !== null)
}

function valuesOf(message: unknown): unknown[] {
  const { name, annotations, tool_calls } = recordOf(message)
  return [name, annotations, ...listOf(tool_calls).map((call) => argumentsOf(recordOf(call)))]
}

function argumentsOf(call: JsonRecord): unknown {
  return recordOf(call['function'])['arguments'] ?? recordOf(call['custom'])['input']
}
