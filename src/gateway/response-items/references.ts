// Where a body refers to items, and the body with the items in those places.

import { isObject } from '../dialects/body-fields.ts'
import { isBareReasoning, isReference } from '../dialects/responses/items.ts'

export type Reference = {
  id: string
  index: number
  /** It stands for itself: where it is not kept it is left out, as any thought without its proof. */
  is_thought: boolean
}

export function findReferences(body: unknown): Reference[] {
  if (!isObject(body) || !Array.isArray(body['input'])) return []
  return body['input'].flatMap((item: unknown, index): Reference[] => {
    if (isReference(item)) return [{ id: item.id, index, is_thought: false }]
    return isBareReasoning(item) ? [{ id: item.id, index, is_thought: true }] : []
  })
}

export function replaceReferences(
  body: unknown,
  items: readonly { index: number; value: unknown }[],
): unknown {
  if (!isObject(body) || !Array.isArray(body['input'])) return body
  const input: unknown[] = [...body['input']]
  for (const { index, value } of items) input[index] = value
  return { ...body, input }
}
