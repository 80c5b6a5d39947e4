// CATALOG_FILE: `{ "models": { "<public name>": { … } } }`. A name of the price list takes the given fields
// and keeps the others; a new name is a new model and needs them all. `prices`, `capabilities` and
// `image_tokens` are merged field by field, `long_prompt` is replaced whole, and null removes what is optional.
// A wrong file stops the start with one line that names the file, the model and the field.

import { readFileSync, statSync } from 'node:fs'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { type Static, Type } from 'typebox'
import { toJson } from '../platform/money.ts'
import { AUDIO_KINDS, type AudioModel, type ChatModel, type Model } from './models.ts'

const FILE_BYTES_MAX = 1_000_000
/** A million credits a token: beyond it somebody counted zeros wrong. */
const PRICE_MAX = 1_000_000_000_000
const TOKENS_MAX = 100_000_000
const MERGED_FIELDS = ['prices', 'capabilities', 'image_tokens']

const STRICT = { additionalProperties: false }
const Price = Type.Integer({ minimum: 0, maximum: PRICE_MAX })
const Tokens = Type.Integer({ minimum: 1, maximum: TOKENS_MAX })
const Prices = Type.Object(
  {
    input: Price,
    cache_read: Price,
    cache_write_5m: Price,
    cache_write_1h: Price,
    output: Price,
    audio_input: Type.Optional(Price),
  },
  STRICT,
)

const Names = {
  name: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$' }),
  display_name: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  created: Type.Optional(
    Type.String({ pattern: '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$' }),
  ),
  upstream_id: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$' }),
}

const ChatEntry = Type.Object(
  {
    kind: Type.Literal('chat'),
    ...Names,
    provider: Type.Enum(['openai', 'anthropic', 'google']),
    prices: Prices,
    long_prompt: Type.Optional(Type.Object({ above_tokens: Tokens, prices: Prices }, STRICT)),
    context_window: Tokens,
    max_input_tokens: Type.Optional(Tokens),
    max_output_tokens: Tokens,
    image_tokens: Type.Optional(Type.Object({ low: Tokens, high: Tokens }, STRICT)),
    capabilities: Type.Object(
      {
        images: Type.Boolean(),
        files: Type.Boolean(),
        audio_input: Type.Boolean(),
        tools: Type.Boolean(),
        json_object: Type.Boolean(),
        json_schema: Type.Boolean(),
        reasoning: Type.Boolean(),
      },
      STRICT,
    ),
    on_disconnect: Type.Enum(['cancel', 'drain']),
  },
  STRICT,
)

const AudioEntry = Type.Object(
  {
    kind: Type.Enum([...AUDIO_KINDS]),
    ...Names,
    provider: Type.Literal('elevenlabs'),
    price: Price,
    max_characters: Type.Optional(Tokens),
  },
  STRICT,
)

type Fields = Readonly<Record<string, unknown>>

const ajv = new Ajv({ strict: false })
const isChatEntry = ajv.compile<Static<typeof ChatEntry>>(ChatEntry)
const isAudioEntry = ajv.compile<Static<typeof AudioEntry>>(AudioEntry)

export class CatalogFileError extends Error {}

export function applyCatalogFile(listed: readonly Model[], file: string): readonly Model[] {
  const models = new Map(listed.map((model) => [model.name, model]))
  for (const [name, given] of Object.entries(readModels(file))) {
    try {
      models.set(name, readModel(name, given, models.get(name)))
    } catch (error) {
      if (!(error instanceof FieldFault)) throw error
      throw fileError(file, `model ${JSON.stringify(name)}: ${error.message}`)
    }
  }
  return [...models.values()]
}

class FieldFault extends Error {}

function readModels(file: string): Fields {
  let content: unknown
  try {
    if (statSync(file).size > FILE_BYTES_MAX) throw new Error('it is larger than a megabyte')
    content = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error)
    throw fileError(file, `cannot be read: ${reason}`)
  }
  const models = isFields(content) ? content['models'] : undefined
  if (!isFields(content) || !isFields(models) || Object.keys(content).length !== 1) {
    throw fileError(file, 'must hold one object, { "models": { "<name>": { … } } }')
  }
  return models
}

function readModel(name: string, given: unknown, listed: Model | undefined): Model {
  if (!isFields(given)) throw new FieldFault('must be an object of fields')
  if ('name' in given) throw new FieldFault('name is not a field: the key is the name')
  const entry = mergeFields(listed ? toFields(listed) : {}, { ...given, name })
  const kind = entry['kind']
  if (kind === 'chat') return toChatModel(checked(isChatEntry, entry))
  if (!AUDIO_KINDS.some((known) => known === kind)) {
    throw new FieldFault(`kind must be one of ${JSON.stringify(['chat', ...AUDIO_KINDS])}`)
  }
  const { price, ...rest } = checked(isAudioEntry, entry)
  return { ...rest, price: BigInt(price) } satisfies AudioModel
}

function toFields(model: Model): Fields {
  const fields: unknown = JSON.parse(toJson(model))
  return isFields(fields) ? fields : {}
}

function mergeFields(listed: Fields, given: Fields): Fields {
  const merged: Record<string, unknown> = { ...listed }
  for (const [field, value] of Object.entries(given)) {
    const before = merged[field]
    const merges = MERGED_FIELDS.includes(field) && isFields(before) && isFields(value)
    if (value === null) delete merged[field]
    else merged[field] = merges ? { ...before, ...value } : value
  }
  return merged
}

function checked<Entry>(isEntry: ValidateFunction<Entry>, entry: unknown): Entry {
  if (isEntry(entry)) return entry
  throw new FieldFault(describeFault(isEntry.errors?.[0]))
}

function describeFault(fault: ErrorObject | undefined): string {
  if (!fault) return 'is not valid'
  const path = fault.instancePath.slice(1).replaceAll('/', '.')
  const inside = (field: unknown) => (path === '' ? String(field) : `${path}.${String(field)}`)
  const params: Fields = fault.params
  switch (fault.keyword) {
    case 'required':
      return `${inside(params['missingProperty'])} is missing`
    case 'additionalProperties':
      return `${inside(params['additionalProperty'])} is not a field`
    case 'enum':
      return `${path} must be one of ${JSON.stringify(params['allowedValues'])}`
    case 'const':
      return `${path} must be ${JSON.stringify(params['allowedValue'])}`
    default:
      return `${path} ${fault.message ?? 'is not valid'}`
  }
}

function toChatModel(entry: Static<typeof ChatEntry>): ChatModel {
  const { prices, long_prompt, ...rest } = entry
  if (entry.max_output_tokens > entry.context_window) {
    throw new FieldFault('max_output_tokens must be <= context_window')
  }
  return {
    ...rest,
    prices: toPrices(prices),
    ...(long_prompt && {
      long_prompt: { ...long_prompt, prices: toPrices(long_prompt.prices) },
    }),
  }
}

function toPrices(entry: Static<typeof Prices>) {
  return {
    input: BigInt(entry.input),
    cache_read: BigInt(entry.cache_read),
    cache_write_5m: BigInt(entry.cache_write_5m),
    cache_write_1h: BigInt(entry.cache_write_1h),
    output: BigInt(entry.output),
    ...(entry.audio_input !== undefined && { audio_input: BigInt(entry.audio_input) }),
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function fileError(file: string, fault: string): CatalogFileError {
  return new CatalogFileError(`CATALOG_FILE=${file}: ${fault}`)
}
