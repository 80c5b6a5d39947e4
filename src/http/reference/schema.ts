// Turns a JSON Schema into the flat list of fields that a reader wants: `user.balance`,
// `messages[].role`. References are followed; a schema that contains itself is shown once on each
// path, and the walk ends there.
import {
  type OpenApiDocument,
  referenceName,
  resolve,
  type Schema,
  type SchemaEntry,
} from './document.ts'

export type FieldRow = {
  readonly path: string
  readonly type: string
  readonly required: boolean
  readonly deprecated: boolean
  readonly constraints: readonly string[]
  readonly choices: readonly unknown[]
  readonly fallback: unknown
  readonly description: string
}

/** A schema with its references followed and its alternatives sorted out. */
export type Shape = {
  readonly schema: Schema
  readonly target: Schema
  readonly types: readonly string[]
  readonly choices: readonly unknown[]
  /** Alternatives that are neither `null` nor single values. */
  readonly variants: readonly SchemaEntry[]
}

const MAX_DEPTH = 8
const MAX_ROWS = 400
// A set of patterns that match every key is how a plain map is written.
const ANY_KEY = '{key}'
// Stands on every text that is stored; it would be noise on every row.
const PATTERN_OF_ALL_TEXT = '^[^\\u0000]*$'

export function listFields(document: OpenApiDocument, entry: SchemaEntry): readonly FieldRow[] {
  const rows: FieldRow[] = []
  walkChildren({ document, rows }, { entry, path: '', ancestors: [] })
  return rows
}

export function describeField(
  document: OpenApiDocument,
  entry: SchemaEntry,
  field: { readonly path: string; readonly required: boolean },
): FieldRow {
  const shape = readShape(document, entry)
  const item =
    shape.schema.items === undefined ? undefined : readShape(document, shape.schema.items)
  return {
    ...field,
    type: typeLabel(document, entry),
    deprecated: shape.schema.deprecated ?? false,
    constraints: [
      ...listConstraints(shape.schema),
      ...listConstraints(item?.schema ?? {}).map((constraint) => `each ${constraint}`),
    ],
    choices: shape.choices.length > 0 ? shape.choices : (item?.choices ?? []),
    fallback: shape.schema.default,
    description: shape.schema.description ?? '',
  }
}

export function readShape(document: OpenApiDocument, entry: SchemaEntry): Shape {
  if (typeof entry === 'boolean') {
    return { schema: {}, target: {}, types: [], choices: [], variants: [] }
  }
  const { target, merged } = resolve(entry, document.components?.schemas)
  const alternatives = (merged.anyOf ?? merged.oneOf ?? []).map((alternative) => ({
    entry: alternative,
    ...resolve(typeof alternative === 'boolean' ? {} : alternative, document.components?.schemas),
  }))
  const parts = [merged, ...alternatives.map((alternative) => alternative.merged)]
  const variants = alternatives.filter(
    (alternative) => listChoices(alternative.merged).length === 0 && !isNull(alternative.merged),
  )
  // `X or null` reads as X with a further type, not as a choice between two schemas.
  const single = variants.length === 1 ? variants[0] : undefined
  return {
    schema: single === undefined ? merged : { ...single.merged, ...merged },
    target: single?.target ?? target,
    types: [...new Set(parts.flatMap(listTypes))],
    choices: parts.flatMap(listChoices),
    variants: single === undefined ? variants.map((variant) => variant.entry) : [],
  }
}

export function typeLabel(document: OpenApiDocument, entry: SchemaEntry): string {
  const { schema, types, choices } = readShape(document, entry)
  if (types.length === 0) return schema.$ref === undefined ? 'any' : referenceName(schema.$ref)
  const labels = types.map((type) => {
    if (type === 'array') return arrayLabel(document, schema.items)
    return type === 'object' && mapValue(schema) !== undefined ? 'map' : type
  })
  return choices.length === 1 && labels.length === 1
    ? `${labels[0]}, constant`
    : labels.join(' or ')
}

/** The properties of a schema and of everything it is composed of, with who must be present. */
export function listProperties(
  document: OpenApiDocument,
  entry: SchemaEntry,
  depth = 0,
): readonly { readonly name: string; readonly entry: SchemaEntry; readonly required: boolean }[] {
  if (depth > MAX_DEPTH) return []
  const { schema, variants } = readShape(document, entry)
  const own = Object.entries(schema.properties ?? {}).map(([name, property]) => ({
    name,
    entry: property,
    required: schema.required?.includes(name) ?? false,
  }))
  const composed = (schema.allOf ?? []).flatMap((part) => listProperties(document, part, depth + 1))
  // A field of one alternative is never required of the whole.
  const alternative = variants.flatMap((variant) =>
    listProperties(document, variant, depth + 1).map((found) => ({ ...found, required: false })),
  )
  const seen = new Set<string>()
  return [...own, ...composed, ...alternative].filter(
    ({ name }) => !seen.has(name) && seen.add(name),
  )
}

export function mapValue(schema: Schema): SchemaEntry | undefined {
  if (schema.properties !== undefined) return undefined
  const pattern = Object.values(schema.patternProperties ?? {})[0]
  if (pattern !== undefined) return pattern
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined
}

type Walk = { readonly document: OpenApiDocument; readonly rows: FieldRow[] }

type Step = {
  readonly entry: SchemaEntry
  readonly path: string
  readonly ancestors: readonly Schema[]
}

function walkChildren(walk: Walk, step: Step): void {
  const { schema, target, variants } = readShape(walk.document, step.entry)
  if (step.ancestors.length > MAX_DEPTH || step.ancestors.includes(target)) return
  const ancestors = [...step.ancestors, target]
  const prefix = step.path === '' ? '' : `${step.path}.`
  for (const property of listProperties(walk.document, step.entry)) {
    const path = prefix + property.name
    addField(walk, { entry: property.entry, path, ancestors }, property.required)
  }
  const value = mapValue(schema)
  if (value !== undefined)
    addField(walk, { entry: value, path: prefix + ANY_KEY, ancestors }, false)
  const lists = [schema, ...variants.map((variant) => readShape(walk.document, variant).schema)]
  for (const { items } of lists) {
    if (items !== undefined) walkChildren(walk, { entry: items, path: `${step.path}[]`, ancestors })
  }
}

function addField(walk: Walk, step: Step, required: boolean): void {
  if (walk.rows.length >= MAX_ROWS) return
  walk.rows.push(describeField(walk.document, step.entry, { path: step.path, required }))
  walkChildren(walk, step)
}

function arrayLabel(document: OpenApiDocument, items: SchemaEntry | undefined): string {
  if (items === undefined) return 'array'
  const shape = readShape(document, items)
  // One level is enough for a label, and a list of lists of itself would have no end.
  return `array of ${shape.types.length === 0 ? 'any' : shape.types.join(' or ')}`
}

function isNull(schema: Schema): boolean {
  return schema.type === 'null'
}

function listTypes(schema: Schema): readonly string[] {
  if (typeof schema.type === 'string') return [schema.type]
  if (schema.type !== undefined) return schema.type
  const constants = listChoices(schema)
  if (constants.length > 0)
    return constants.map((value) => (value === null ? 'null' : typeof value))
  if (schema.properties !== undefined || schema.allOf !== undefined) return ['object']
  return []
}

function listChoices(schema: Schema): readonly unknown[] {
  if (schema.enum !== undefined) return schema.enum
  return schema.const === undefined ? [] : [schema.const]
}

function listConstraints(schema: Schema): readonly string[] {
  return [
    schema.format,
    range({ min: schema.minLength, max: schema.maxLength, unit: 'character' }),
    range({ min: schema.minItems, max: schema.maxItems, unit: 'item' }),
    range({ min: schema.minimum, max: schema.maximum }),
    schema.exclusiveMinimum !== undefined && `more than ${number(schema.exclusiveMinimum)}`,
    schema.exclusiveMaximum !== undefined && `less than ${number(schema.exclusiveMaximum)}`,
    schema.multipleOf !== undefined && `multiple of ${number(schema.multipleOf)}`,
    schema.uniqueItems === true && 'no repeats',
    schema.pattern !== undefined &&
      schema.pattern !== PATTERN_OF_ALL_TEXT &&
      `matches ${schema.pattern}`,
  ].filter((constraint) => typeof constraint === 'string')
}

function range(limits: {
  readonly min: number | undefined
  readonly max: number | undefined
  readonly unit?: string
}): string | undefined {
  const { min, max, unit } = limits
  const units = unit === undefined ? '' : ` ${unit}${(max ?? min) === 1 ? '' : 's'}`
  if (min !== undefined && max !== undefined) {
    return min === max
      ? `exactly ${number(min)}${units}`
      : `${number(min)} to ${number(max)}${units}`
  }
  if (min !== undefined) return `at least ${number(min)}${units}`
  return max === undefined ? undefined : `at most ${number(max)}${units}`
}

function number(value: number): string {
  return value.toLocaleString('en-US')
}
