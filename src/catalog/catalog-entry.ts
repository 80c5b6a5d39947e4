// One model as CATALOG_FILE may give it: its fields, their bounds, and what is said of a wrong one.

import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { type Static, Type } from 'typebox'
import { AUDIO_KINDS, CHAT_APIS, type ChatModel, type Model, type UpstreamModel } from './models.ts'

/** A million credits a token: beyond it somebody counted zeros wrong. */
const PRICE_MAX = 1_000_000_000_000
const TOKENS_MAX = 100_000_000
const ALIASES_MAX = 100
/** What a reply of the most vectors may come to is bounded by it. */
const DIMENSIONS_MAX = 4_096

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

const Day = Type.String({ pattern: '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$' })
const UPSTREAM_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$'

const Names = {
  name: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$' }),
  aliases: Type.Optional(
    Type.Array(Type.String({ pattern: UPSTREAM_PATTERN }), { maxItems: ALIASES_MAX }),
  ),
  display_name: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  created: Type.Optional(Day),
}

const Upstream = {
  upstream_id: Type.String({ pattern: UPSTREAM_PATTERN }),
  api: Type.Optional(Type.Enum([...CHAT_APIS])),
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
}

const UpstreamEntry = Type.Object(Upstream, STRICT)

const ChatEntry = Type.Object(
  {
    kind: Type.Literal('chat'),
    ...Names,
    provider: Type.Enum(['openai', 'anthropic', 'google']),
    ...Upstream,
    retires_on: Type.Optional(Day),
    successor: Type.Optional(UpstreamEntry),
  },
  STRICT,
)

const AudioEntry = Type.Object(
  {
    kind: Type.Enum([...AUDIO_KINDS]),
    ...Names,
    provider: Type.Literal('elevenlabs'),
    upstream_id: Upstream.upstream_id,
    price: Price,
    max_characters: Type.Optional(Tokens),
  },
  STRICT,
)

const EmbeddingEntry = Type.Object(
  {
    kind: Type.Literal('embedding'),
    ...Names,
    provider: Type.Enum(['openai', 'google']),
    upstream_id: Upstream.upstream_id,
    price: Price,
    max_input_tokens: Tokens,
    max_request_tokens: Type.Optional(Tokens),
    dimensions: Type.Integer({ minimum: 1, maximum: DIMENSIONS_MAX }),
    shortens: Type.Boolean(),
  },
  STRICT,
)

const ajv = new Ajv({ strict: false })
const isChatEntry = ajv.compile<Static<typeof ChatEntry>>(ChatEntry)
const isAudioEntry = ajv.compile<Static<typeof AudioEntry>>(AudioEntry)
const isEmbeddingEntry = ajv.compile<Static<typeof EmbeddingEntry>>(EmbeddingEntry)

/** Names the field, in one line. */
export class FieldFault extends Error {}

export function toModel(entry: Readonly<Record<string, unknown>>): Model {
  const kind = entry['kind']
  if (kind === 'chat') return toChatModel(checked(isChatEntry, entry))
  if (kind === 'embedding') {
    const { price, ...rest } = checked(isEmbeddingEntry, entry)
    return { ...rest, price: BigInt(price) }
  }
  if (!AUDIO_KINDS.some((known) => known === kind)) {
    const kinds = ['chat', 'embedding', ...AUDIO_KINDS]
    throw new FieldFault(`kind must be one of ${JSON.stringify(kinds)}`)
  }
  const { price, ...rest } = checked(isAudioEntry, entry)
  return { ...rest, price: BigInt(price) }
}

function checked<Entry>(isEntry: ValidateFunction<Entry>, entry: unknown): Entry {
  if (isEntry(entry)) return entry
  throw new FieldFault(describeFault(isEntry.errors?.[0]))
}

function describeFault(fault: ErrorObject | undefined): string {
  if (!fault) return 'is not valid'
  const path = fault.instancePath.slice(1).replaceAll('/', '.')
  const inside = (field: unknown) => (path === '' ? String(field) : `${path}.${String(field)}`)
  const params: Readonly<Record<string, unknown>> = fault.params
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
  const { successor, ...rest } = entry
  requireDay('retires_on', entry.retires_on)
  requireOwnApi(entry)
  return {
    ...toUpstreamModel(rest),
    ...(successor && { successor: toUpstreamModel(successor, 'successor.') }),
  }
}

/** Only OpenAI has two interfaces. */
function requireOwnApi({ provider, api, successor }: Static<typeof ChatEntry>): void {
  if (provider === 'openai') return
  if (api === 'responses') throw new FieldFault('api must be "chat": only OpenAI has another')
  if (successor?.api !== 'responses') return
  throw new FieldFault('successor.api must be "chat": only OpenAI has another')
}

/** The schema lets the 31st of any month pass. */
function requireDay(field: string, day: string | undefined): void {
  if (day === undefined) return
  const time = Date.parse(day)
  if (!Number.isNaN(time) && new Date(time).toISOString().startsWith(day)) return
  throw new FieldFault(`${field} must be a day of the calendar`)
}

function toUpstreamModel<Entry extends Static<typeof UpstreamEntry>>(
  entry: Entry,
  path = '',
): Omit<Entry, 'prices' | 'long_prompt'> & Pick<UpstreamModel, 'prices' | 'long_prompt'> {
  const { prices, long_prompt, ...rest } = entry
  if (entry.max_output_tokens > entry.context_window) {
    throw new FieldFault(`${path}max_output_tokens must be <= context_window`)
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
