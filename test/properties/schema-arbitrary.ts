// Values that fit a JSON schema, and bodies that nearly do.

import { fc } from '../support/same-cases.ts'

export type JsonSchema = {
  type?: string | string[]
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  anyOf?: JsonSchema[]
  enum?: unknown[]
  const?: unknown
  format?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
}

const TEXT_LENGTH_MAX = 300

export function valueArbitrary(schema: JsonSchema): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(valueArbitrary))
  switch ([schema.type].flat()[0] ?? 'any') {
    case 'object':
      return fc.record(
        Object.fromEntries(
          Object.entries(schema.properties ?? {}).map(([name, field]) => [
            name,
            valueArbitrary(field),
          ]),
        ),
        { requiredKeys: schema.required ?? [] },
      )
    case 'array':
      return fc.array(valueArbitrary(schema.items ?? {}), { maxLength: 5 })
    case 'integer':
      return fc.maxSafeInteger().map((value) => clamp(value, schema))
    case 'number':
      return fc.double({ noNaN: true })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'string':
      return textArbitrary(schema)
    default:
      return fc.jsonValue()
  }
}

/** Mostly a fitting body; else one with a field gone, changed or hostile, or no JSON at all. */
export function bodyArbitrary(schema: JsonSchema): fc.Arbitrary<string> {
  const fitting = valueArbitrary(schema)
  const names = Object.keys(schema.properties ?? { x: {} })
  const changed = fc
    .tuple(fitting, fc.constantFrom(...names), hostileArbitrary())
    .map(([body, name, value]) => ({ ...(body as object), [name]: value }))
  const without = fc
    .tuple(fitting, fc.constantFrom(...names))
    .map(([body, gone]) =>
      Object.fromEntries(Object.entries(body ?? {}).filter(([name]) => name !== gone)),
    )
  return fc.oneof(
    { weight: 4, arbitrary: fitting.map(toText) },
    { weight: 5, arbitrary: changed.map(toText) },
    { weight: 2, arbitrary: without.map(toText) },
    { weight: 1, arbitrary: fc.jsonValue().map(toText) },
    { weight: 1, arbitrary: brokenArbitrary() },
  )
}

function hostileArbitrary(): fc.Arbitrary<unknown> {
  return fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(
      '\u0000',
      'a\u0000b',
      '\ud800',
      "'; drop table account; --",
      'x'.repeat(5_000),
      -1,
      0,
      1.5,
      2 ** 53,
      -(2 ** 63),
      1e308,
      null,
      [],
      {},
      { toString: 1 },
      ['a', 1],
    ),
  )
}

function brokenArbitrary(): fc.Arbitrary<string> {
  return fc.constantFrom(
    '',
    '{',
    '{"a":',
    'null',
    '"text"',
    '[]',
    '{"__proto__":{"admin":true}}',
    '{"constructor":{"prototype":{"admin":true}}}',
    '\u0000',
    '\ufeff{}',
    '['.repeat(100_000) + ']'.repeat(100_000),
    '{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000),
    `{"email":"${'a'.repeat(100_000)}"}`,
    'a=b&c=d',
  )
}

function textArbitrary(schema: JsonSchema): fc.Arbitrary<string> {
  if (schema.format === 'date-time') {
    const edges = [
      '2030-12-31T23:59:60Z',
      '2030-01-01T00:00:00+00',
      '9999-12-31T23:59:59-23:59',
      '0001-01-01T00:00:00Z',
      '2030-01-01t00:00:00z',
    ]
    return fc.oneof(
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
      fc.constantFrom(...edges),
    )
  }
  const minLength = schema.minLength ?? 0
  const maxLength = Math.min(schema.maxLength ?? TEXT_LENGTH_MAX, TEXT_LENGTH_MAX)
  return fc.oneof(
    fc.string({ minLength, maxLength }),
    fc.string({ minLength, maxLength, unit: 'grapheme' }),
    fc.emailAddress(),
  )
}

function clamp(value: number, schema: JsonSchema): number {
  return Math.min(Math.max(value, schema.minimum ?? value), schema.maximum ?? value)
}

function toText(value: unknown): string {
  return JSON.stringify(value)
}
