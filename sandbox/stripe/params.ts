// Reads parameters that have been checked: everything arrives as text.

import { isObject, type JsonObject, listOf, objectOf, textsOf } from '../json.ts'
import type { PageWish } from './table.ts'

const DEFAULT_LIMIT = 10

export type Metadata = Record<string, string>

/** Undefined when absent, and when it was sent empty to be unset. */
export function readText(params: JsonObject, name: string): string | undefined {
  const value = params[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function readWhole(params: JsonObject, name: string): number | undefined {
  const text = readText(params, name)
  return text === undefined ? undefined : Number(text)
}

export function readFlag(params: JsonObject, name: string): boolean {
  return params[name] === 'true'
}

export function readObject(params: JsonObject, name: string): JsonObject {
  return objectOf(params[name])
}

export function readObjects(params: JsonObject, name: string): JsonObject[] {
  return listOf(params[name]).filter(isObject)
}

export function readTexts(params: JsonObject, name: string): readonly string[] {
  return textsOf(params[name])
}

export function readMetadata(params: JsonObject, name = 'metadata'): Metadata {
  return mergeMetadata({}, params, name)
}

/** New names are added, empty values remove a name, and an empty text removes all of them. */
export function mergeMetadata(known: Metadata, params: JsonObject, name = 'metadata'): Metadata {
  if (params[name] === '') return {}
  const merged: Metadata = { ...known }
  for (const [key, value] of Object.entries(readObject(params, name))) {
    if (value === '') delete merged[key]
    else merged[key] = String(value)
  }
  return merged
}

export function readPage(params: JsonObject): PageWish {
  const starting_after = readText(params, 'starting_after')
  const ending_before = readText(params, 'ending_before')
  return {
    limit: readWhole(params, 'limit') ?? DEFAULT_LIMIT,
    ...(starting_after !== undefined && { starting_after }),
    ...(ending_before !== undefined && { ending_before }),
  }
}

/** Whether a moment fits `created`, which is a moment or a range. */
export function readRange(params: JsonObject, name = 'created'): (moment: number) => boolean {
  const exact = readWhole(params, name)
  if (exact !== undefined) return (moment) => moment === exact
  const range = readObject(params, name)
  const above = Math.max(
    (readWhole(range, 'gt') ?? -Infinity) + 1,
    readWhole(range, 'gte') ?? -Infinity,
  )
  const below = Math.min(
    (readWhole(range, 'lt') ?? Infinity) - 1,
    readWhole(range, 'lte') ?? Infinity,
  )
  return (moment) => moment >= above && moment <= below
}
