import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { textForPattern } from './pattern-answer.ts'
import { valueForSchema } from './schema-answer.ts'

const validator = new Ajv2020({ strict: false })
formats.default(validator)

function assertFits(schema: object): void {
  for (const seed of ['one', 'two', 'three', 'four', 'five']) {
    const value = valueForSchema(schema, seed)
    const fits = validator.validate(schema, value)
    assert.ok(fits, `${JSON.stringify(value)}: ${validator.errorsText()}`)
  }
}

test('an answer fits an object with every kind of property', () => {
  assertFits({
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 3, maxLength: 12 },
      code: { type: 'string', pattern: '^[A-Z]{3}-\\d{4}$' },
      when: { type: 'string', format: 'date-time' },
      mail: { type: 'string', format: 'email' },
      id: { type: 'string', format: 'uuid' },
      age: { type: 'integer', minimum: 18, maximum: 99 },
      price: { type: 'number', exclusiveMinimum: 0, maximum: 10, multipleOf: 0.25 },
      small: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
      below: { type: 'integer', exclusiveMaximum: -5 },
      open: { type: 'boolean' },
      nothing: { type: 'null' },
      maybe: { type: ['string', 'null'] },
      colour: { enum: ['red', 'green', 7, null] },
      kind: { const: 'fixed' },
      tags: {
        type: 'array',
        items: { type: 'string' },
        minItems: 3,
        maxItems: 5,
        uniqueItems: true,
      },
      pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], items: false },
      free: { type: 'object', additionalProperties: { type: 'integer' }, minProperties: 2 },
    },
    required: ['name', 'code', 'age'],
    additionalProperties: false,
  })
})

test('an answer follows references, alternatives and combinations', () => {
  assertFits({
    $defs: {
      point: {
        type: 'object',
        properties: { x: { type: 'number' }, y: { type: 'number' } },
        required: ['x', 'y'],
        additionalProperties: false,
      },
    },
    type: 'object',
    properties: {
      at: { $ref: '#/$defs/point' },
      either: { anyOf: [{ type: 'integer', minimum: 5 }, { type: 'string' }] },
      one: { oneOf: [{ const: 'a' }, { const: 'b' }] },
      all: {
        allOf: [
          { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
          { type: 'object', properties: { b: { type: 'integer' } }, required: ['b'] },
        ],
      },
    },
    required: ['at', 'either', 'one', 'all'],
  })
})

test('an answer to a schema that contains itself ends', () => {
  const node = {
    type: 'object',
    properties: {
      value: { type: 'integer' },
      next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
      children: { type: 'array', items: { $ref: '#/$defs/node' } },
    },
    required: ['value', 'next', 'children'],
    additionalProperties: false,
  }
  assertFits({ $defs: { node }, $ref: '#/$defs/node' })
  const needs = { type: 'object', properties: { a: { $ref: '#' }, b: { $ref: '#' } } }
  assert.ok(
    JSON.stringify(valueForSchema({ ...needs, required: ['a', 'b'] }, 'x')).length < 100_000,
  )
})

test('upper-case type names and the nullable flag of the OpenAPI subset are understood', () => {
  const schema = {
    type: 'OBJECT',
    properties: { city: { type: 'STRING' }, days: { type: 'INTEGER', nullable: true } },
    required: ['city'],
  }
  const value = valueForSchema(schema, 'x')
  assert.deepEqual(Object.keys(Object(value)), ['city', 'days'])
})

test('a text is found for ordinary patterns and for none that cannot be served', () => {
  const patterns = [
    '^\\d{3}-\\d{2}$',
    '^(foo|bar)+$',
    '^[^a-z]+$',
    '^\\+?[1-9]\\d{1,14}$',
    '^#[0-9a-fA-F]{6}$',
  ]
  for (const pattern of patterns) assert.match(textForPattern(pattern) ?? '', new RegExp(pattern))
  assert.equal(textForPattern('^(?=b)a$'), undefined)
  assert.equal(textForPattern('('), undefined)
})

test('the same seed gives the same answer and another seed another', () => {
  const schema = { type: 'object', properties: { n: { type: 'integer', minimum: 0, maximum: 99 } } }
  assert.deepEqual(valueForSchema(schema, 'a'), valueForSchema(schema, 'a'))
  const values = ['a', 'b', 'c', 'd', 'e'].map((seed) =>
    JSON.stringify(valueForSchema(schema, seed)),
  )
  assert.ok(new Set(values).size > 1)
})
