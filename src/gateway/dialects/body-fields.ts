// Readers for the fields of a client's body. Each takes the path of the field, so that a refusal names it.
// A null counts as absent wherever a field is optional: clients send what their language serialises.

import { JSON_DEPTH_MAX } from '../../http/json-depth.ts'
import { ApiError } from '../../platform/errors.ts'

export type Fields = Readonly<Record<string, unknown>>

/** Objects and arrays in one body. */
const MAX_CONTAINERS = 500_000

/** Not where the whole body is meant. */
const PATH = /^[^ ]+$/

const HINT = 'GET /docs describes every field.'

export function refuse(path: string, problem: string, hint: string = HINT): never {
  const param = PATH.test(path) ? path : undefined
  throw new ApiError('bad_request', {
    message: `${path} ${problem}.`,
    hint,
    ...(param !== undefined && { param }),
  })
}

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null
}

/** Older versions of LangChain send these where nothing was set. */
const UNSET: Fields = { top_p: -1, top_k: -1 }

/** A whole body, without the fields that say nothing. */
export function readBody(body: unknown): Fields {
  const given = readObject(body, 'The body')
  limitDepth(given, 'The body')
  const fields: Record<string, unknown> = {}
  for (const [field, value] of Object.entries(given)) {
    if (value !== null && value !== UNSET[field]) fields[field] = value
  }
  return fields
}

export function readObject(value: unknown, path: string): Fields {
  if (!isObject(value)) refuse(path, value === undefined ? 'is missing' : 'must be an object')
  return value
}

export function readArray(value: unknown, path: string, max_entries: number): readonly unknown[] {
  if (!Array.isArray(value)) refuse(path, value === undefined ? 'is missing' : 'must be an array')
  if (value.length > max_entries) refuse(path, `must have at most ${max_entries} entries`)
  return value
}

export function readText(value: unknown, path: string): string {
  if (typeof value !== 'string') refuse(path, isAbsent(value) ? 'is missing' : 'must be a string')
  return value
}

/** An id, a name: text that cannot be empty. */
export function readName(value: unknown, path: string): string {
  const text = readText(value, path)
  if (text === '') refuse(path, 'must not be empty')
  return text
}

export function readOptionalText(value: unknown, path: string): string | undefined {
  return isAbsent(value) ? undefined : readText(value, path)
}

export function readOptionalBoolean(value: unknown, path: string): boolean | undefined {
  if (isAbsent(value)) return undefined
  if (typeof value !== 'boolean') refuse(path, 'must be true or false')
  return value
}

type Range = { path: string; min: number; max: number }

export function readOptionalNumber(value: unknown, range: Range): number | undefined {
  if (isAbsent(value)) return undefined
  if (typeof value !== 'number') refuse(range.path, 'must be a number')
  if (value < range.min || value > range.max) {
    refuse(range.path, `must be between ${range.min} and ${range.max}`)
  }
  return value
}

export function readOptionalInteger(value: unknown, range: Range): number | undefined {
  if (isAbsent(value)) return undefined
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
    refuse(range.path, 'must be a whole number')
  }
  if (value < range.min) refuse(range.path, `must be at least ${range.min}`)
  if (value > range.max) refuse(range.path, `must be at most ${range.max}`)
  return value
}

export function readChoice<const Choice extends string>(
  value: unknown,
  choices: readonly Choice[],
  path: string,
): Choice {
  const found = choices.find((choice) => choice === value)
  if (found === undefined) refuse(path, `must be one of ${choices.join(', ')}`)
  return found
}

export function readOptionalChoice<const Choice extends string>(
  value: unknown,
  choices: readonly Choice[],
  path: string,
): Choice | undefined {
  return isAbsent(value) ? undefined : readChoice(value, choices, path)
}

/** Walks level by level, not by recursion: the body is the attacker's. */
export function limitDepth(value: unknown, path: string): void {
  let level = [value].filter(isContainer)
  let containers = 0
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > JSON_DEPTH_MAX) refuse(path, `is nested deeper than ${JSON_DEPTH_MAX} levels`)
    containers += level.length
    if (containers > MAX_CONTAINERS) refuse(path, 'has too many objects and arrays')
    const next: object[] = []
    for (const container of level) addContainers(next, container)
    level = next
  }
}

function addContainers(found: object[], container: object): void {
  for (const entry of Object.values(container)) if (isContainer(entry)) found.push(entry)
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
