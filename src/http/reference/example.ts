// Example values: the one that the author wrote where there is one, else one made from the schema.
import type { ErrorDialect, ErrorRow } from '../errors-page.ts'
import type { MediaType, OpenApiDocument, Schema, SchemaEntry } from './document.ts'
import { listProperties, mapValue, readShape } from './schema.ts'

const MAX_DEPTH = 8

const FORMAT_EXAMPLES: Readonly<Record<string, string>> = {
  'date-time': '2026-01-15T09:30:00.000Z',
  date: '2026-01-15',
  email: 'ada@example.com',
  uri: 'https://example.com/callback',
  url: 'https://example.com/callback',
  uuid: '5f0c3b1e-8d2a-4c6f-9b7e-2a1d4e8f6c30',
}

export type ExampleOptions = {
  /** A request shows what must be sent; a response shows all that may come back. */
  readonly optional: 'all' | 'illustrated'
}

export function mediaExample(
  document: OpenApiDocument,
  media: MediaType,
  options: ExampleOptions,
): unknown {
  if (media.example !== undefined) return media.example
  const named = Object.values(media.examples ?? {})[0]?.value
  if (named !== undefined) return named
  return media.schema === undefined ? undefined : schemaExample(document, media.schema, options)
}

export function schemaExample(
  document: OpenApiDocument,
  entry: SchemaEntry,
  options: ExampleOptions,
): unknown {
  return makeExample({ document, options, ancestors: [] }, entry)
}

export function writtenExample(schema: Schema): unknown {
  return schema.examples?.[0] ?? schema.example
}

/** The dialect of an error body, told by its shape; undefined for any other body. */
export function errorDialect(body: unknown): ErrorDialect | undefined {
  if (!isRecord(body)) return undefined
  if (typeof body['error'] === 'string') return 'oauth'
  if (!isRecord(body['error'])) return undefined
  return body['type'] === 'error' ? 'anthropic' : 'openai'
}

/** The example of an error body with one given code put in. */
export function withErrorCode(
  body: unknown,
  row: Pick<ErrorRow, 'code'> & Partial<ErrorRow>,
  docs_url: string,
): unknown {
  if (!isRecord(body)) return body
  const { hint, ...error } = isRecord(body['error']) ? body['error'] : body
  const told = {
    ...('code' in error && { code: row.code }),
    ...('message' in error && row.message && { message: row.message }),
    ...(hint !== undefined && row.hint && { hint: row.hint }),
    ...('docs_url' in error && { docs_url }),
  }
  const dialect = errorDialect(body)
  if (dialect === undefined) return body
  if (dialect === 'oauth') return { ...error, error: row.code, ...told }
  const type = dialect === 'anthropic' && { type: row.code }
  return { ...body, error: { ...error, ...type, ...told } }
}

type Making = {
  readonly document: OpenApiDocument
  readonly options: ExampleOptions
  readonly ancestors: readonly Schema[]
}

function makeExample(making: Making, entry: SchemaEntry): unknown {
  const { schema, target, types, choices, variants } = readShape(making.document, entry)
  const written = writtenExample(schema) ?? schema.default ?? choices[0]
  if (written !== undefined) return written
  if (making.ancestors.length > MAX_DEPTH || making.ancestors.includes(target)) return undefined
  const inner = { ...making, ancestors: [...making.ancestors, target] }
  const variant = variants[0]
  if (variant !== undefined && schema.properties === undefined) return makeExample(inner, variant)
  const type = types.find((candidate) => candidate !== 'null')
  if (type === 'object') return objectExample(inner, entry, schema)
  if (type === 'array') return arrayExample(inner, schema)
  // Better an honest null than an invented value where the author gave none.
  return type === undefined || types.includes('null') ? null : scalarExample(type, schema)
}

function objectExample(making: Making, entry: SchemaEntry, schema: Schema): unknown {
  const value = mapValue(schema)
  if (value !== undefined) return { key: makeExample(making, value) }
  const members = listProperties(making.document, entry)
    .filter((property) => isShown(making, property))
    .map((property) => [property.name, makeExample(making, property.entry)])
  return Object.fromEntries(members)
}

function isShown(making: Making, property: ReturnType<typeof listProperties>[number]): boolean {
  if (making.options.optional === 'all') return true
  const { schema } = readShape(making.document, property.entry)
  return writtenExample(schema) !== undefined || (property.required && schema.default === undefined)
}

function arrayExample(making: Making, schema: Schema): readonly unknown[] {
  const item = schema.items === undefined ? undefined : makeExample(making, schema.items)
  return item === undefined ? [] : [item]
}

function scalarExample(type: string, schema: Schema): unknown {
  if (type === 'boolean') return true
  if (type === 'integer' || type === 'number') return schema.minimum ?? 0
  if (type !== 'string') return null
  return FORMAT_EXAMPLES[schema.format ?? ''] ?? 'string'.padEnd(schema.minLength ?? 0, '-')
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
