// Where a body refers to items, and the body with the items in those places.

import { isObject } from '../dialects/body-fields.ts'
import { isReference } from '../dialects/responses/items.ts'

export type Reference = { id: string; index: number }

export function findReferences(body: unknown): Reference[] {
  if (!isObject(body) || !Array.isArray(body['input'])) return []
  return body['input'].flatMap((item: unknown, index) =>
    isReference(item) ? [{ id: item.id, index }] : [],
  )
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
