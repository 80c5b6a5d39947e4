// A value that fits a JSON schema: arguments for tool calls and structured answers. It reads both
// JSON Schema and the OpenAPI subset with upper-case type names, and fills every property, because a
// client that asked for a shape wants to see all of it.

import {
  decodePercent,
  isObject,
  type JsonObject,
  listOf,
  numberOf,
  objectOf,
  textOf,
  textsOf,
} from './json.ts'
import { textForPattern } from './pattern-answer.ts'
import { createRandom, type Random } from './random.ts'

const MAX_DEPTH = 12
const MAX_ITEMS = 50
// A schema that contains itself several times over grows with a power of its depth. After the first
// number of values only what is required is made, after the second nothing at all.
const ENOUGH_VALUES = 500
const MAX_VALUES = 5_000
const MAX_TEXT = 4_000
const WORDS = ['amber', 'birch', 'cedar', 'delta', 'ember', 'fjord', 'grove', 'heron', 'inlet']
const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-15T09:30:00Z',
  date: '2026-01-15',
  time: '09:30:00Z',
  duration: 'PT1H30M',
  email: 'someone@example.com',
  'idn-email': 'someone@example.com',
  hostname: 'example.com',
  'idn-hostname': 'example.com',
  ipv4: '192.0.2.10',
  ipv6: '2001:db8::10',
  uri: 'https://example.com/path',
  'uri-reference': '/path',
  url: 'https://example.com/path',
  iri: 'https://example.com/path',
  uuid: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
  byte: 'c2FuZGJveA==',
  'json-pointer': '/path',
  regex: '^a+$',
}

type Position = { root: JsonObject; random: Random; depth: number; made: { values: number } }

export function valueForSchema(schema: unknown, seed: string): unknown {
  const position = { root: objectOf(schema), random: createRandom(seed), depth: 0 }
  return makeValue(schema, { ...position, made: { values: 0 } })
}

function makeValue(schema: unknown, position: Position): unknown {
  position.made.values += 1
  if (position.made.values > MAX_VALUES) return null
  if (!isObject(schema)) return schema === false ? null : 'any'
  const full = flatten(schema, position)
  if (full['const'] !== undefined) return full['const']
  const options = listOf(full['enum'])
  if (options.length > 0) return position.random.pick(options) ?? null
  switch (typeName(full, position)) {
    case 'object':
      return makeObject(full, position)
    case 'array':
      return makeArray(full, position)
    case 'integer':
      return makeNumber(full, position, true)
    case 'number':
      return makeNumber(full, position, false)
    case 'boolean':
      return position.random.below(2) === 1
    case 'null':
      return null
    default:
      return makeText(full, position)
  }
}

/** References followed, `allOf` merged and the first workable alternative taken. */
function flatten(schema: JsonObject, position: Position): JsonObject {
  let merged = schema
  // A reference may lead to a reference; a circle of them ends here.
  for (let step = 0; step < MAX_DEPTH && typeof merged['$ref'] === 'string'; step += 1) {
    const { $ref, ...others } = merged
    merged = { ...objectOf(resolve(textOf($ref), position.root)), ...others }
  }
  const { allOf, ...base } = merged
  merged = listOf(allOf).reduce<JsonObject>((left, part) => {
    return mergeSchemas(left, flatten(objectOf(part), deeper(position)))
  }, base)
  const alternatives = [...listOf(merged['anyOf']), ...listOf(merged['oneOf'])].filter(isObject)
  if (alternatives.length === 0 || position.depth >= MAX_DEPTH) return merged
  // Deep down the alternative that ends a recursive shape is wanted, which is the plainest one.
  const plain = alternatives.find((option) => option['type'] === 'null')
  const chosen =
    (position.depth > 4 || isDeep(position) ? plain : undefined) ?? alternatives[0] ?? {}
  const { anyOf: _any, oneOf: _one, ...rest } = merged
  return mergeSchemas(rest, flatten(chosen, deeper(position)))
}

function mergeSchemas(left: JsonObject, right: JsonObject): JsonObject {
  const properties = { ...objectOf(left['properties']), ...objectOf(right['properties']) }
  const required = [...listOf(left['required']), ...listOf(right['required'])]
  return {
    ...left,
    ...right,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
  }
}

function resolve(reference: string, root: JsonObject): unknown {
  if (!reference.startsWith('#')) return {}
  const steps = reference.slice(1).split('/').filter(Boolean)
  return steps.reduce<unknown>((value, step) => {
    const name = decodePercent(step).replaceAll('~1', '/').replaceAll('~0', '~')
    return objectOf(value)[name]
  }, root)
}

function typeName(schema: JsonObject, position: Position): string {
  const names = textsOf(schema['type']).map((name) => name.toLowerCase())
  if (isDeep(position) && (names.includes('null') || schema['nullable'] === true)) return 'null'
  const named = names.find((name) => name !== 'null') ?? names[0]
  if (named !== undefined) return named
  if (schema['properties'] !== undefined || schema['required'] !== undefined) return 'object'
  if (schema['items'] !== undefined || schema['prefixItems'] !== undefined) return 'array'
  return schema['minimum'] === undefined && schema['maximum'] === undefined ? 'string' : 'number'
}

function makeObject(schema: JsonObject, position: Position): JsonObject {
  const properties = objectOf(schema['properties'])
  const required = textsOf(schema['required'])
  const names = isDeep(position)
    ? required
    : [...new Set([...Object.keys(properties), ...required])]
  if (position.depth >= MAX_DEPTH * 2) return {}
  const extra = schema['additionalProperties']
  const made = names.map((name): [string, unknown] => {
    return [name, makeValue(properties[name] ?? (isObject(extra) ? extra : {}), deeper(position))]
  })
  const missing = Math.min((numberOf(schema['minProperties']) ?? 0) - made.length, MAX_ITEMS)
  for (let index = 0; index < missing; index += 1) {
    made.push([`extra_${index}`, makeValue(isObject(extra) ? extra : {}, deeper(position))])
  }
  return Object.fromEntries(made)
}

function makeArray(schema: JsonObject, position: Position): unknown[] {
  const least = numberOf(schema['minItems']) ?? 0
  const most = Math.min(numberOf(schema['maxItems']) ?? MAX_ITEMS, MAX_ITEMS)
  const prefix = listOf(schema['prefixItems'])
  const wanted = isDeep(position) ? least : Math.max(least, prefix.length, 2)
  const items: unknown[] = []
  for (let index = 0; index < Math.min(wanted, most); index += 1) {
    const item = makeValue(prefix[index] ?? schema['items'] ?? {}, deeper(position))
    const seen = schema['uniqueItems'] === true && items.some((other) => same(other, item))
    items.push(seen && typeof item === 'string' ? `${item}-${index}` : item)
  }
  const unique = schema['uniqueItems'] === true
  return unique ? items.filter((item, at) => items.findIndex((x) => same(x, item)) === at) : items
}

function makeNumber(schema: JsonObject, position: Position, whole: boolean): number {
  const step = numberOf(schema['multipleOf']) ?? (whole ? 1 : 0.5)
  const above = numberOf(schema['exclusiveMinimum'])
  const below = numberOf(schema['exclusiveMaximum'])
  const least = Math.max(numberOf(schema['minimum']) ?? -Infinity, above ?? -Infinity)
  const most = Math.min(numberOf(schema['maximum']) ?? Infinity, below ?? Infinity)
  const start = Number.isFinite(least) ? least : Math.min(most - 100 * step, 0)
  let first = Math.ceil(start / step) * step
  if (above !== undefined && first <= above) first += step
  if (first > most || (below !== undefined && first >= below)) return (least + most) / 2
  const room = Number.isFinite(most) ? Math.floor((most - first) / step) : 100
  const steps = position.random.below(Math.min(Math.max(room, 0), 100) + 1)
  const value = first + steps * step
  return below !== undefined && value >= below ? first : value
}

function makeText(schema: JsonObject, position: Position): string {
  const pattern = schema['pattern']
  const matching = typeof pattern === 'string' ? textForPattern(pattern) : undefined
  const known = matching ?? FORMATS[textOf(schema['format'])]
  if (known !== undefined) return known
  const least = Math.min(numberOf(schema['minLength']) ?? 0, MAX_TEXT)
  const most = numberOf(schema['maxLength']) ?? MAX_TEXT
  const word = position.random.pick(WORDS) ?? 'amber'
  return word.repeat(Math.max(1, Math.ceil(least / word.length))).slice(0, Math.max(least, most, 0))
}

function isDeep(position: Position): boolean {
  return position.depth >= MAX_DEPTH - 2 || position.made.values > ENOUGH_VALUES
}

function same(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right)
}

function deeper(position: Position): Position {
  return { ...position, depth: position.depth + 1 }
}
