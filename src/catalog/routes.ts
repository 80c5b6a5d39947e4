// GET /v1/models: what can be called and what it costs, in the list shape of whichever SDK asks.

import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { Timestamp } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import { type Catalog, type ChatModel, INPUT_UNITS, type Model } from './models.ts'
import { unknownModel } from './unknown-model.ts'

/** For models that a catalog file adds without a date. */
const CREATED_UNKNOWN = '2026-01-01'
const INPUTS = ['text', 'image', 'file', 'audio'] as const
const OUTPUTS = ['text', 'audio', 'embedding'] as const

type Input = (typeof INPUTS)[number]
type Output = (typeof OUTPUTS)[number]

const Modalities = Type.Object({
  input: Type.Array(Type.Enum([...INPUTS])),
  output: Type.Array(Type.Enum([...OUTPUTS])),
})

// Numbers, exact below 2^53: the serialiser takes bigint only where there is one shape to choose from.
const Price = Type.Integer({ examples: [150_000] })

const LifeCycle = {
  served_by: Type.Union([Type.String(), Type.Null()], {
    description:
      'What the provider calls the model that answers now; null where its provider has shut it down and nothing else answers.',
    examples: ['gpt-4o-mini'],
  }),
  deprecated: Type.Boolean({
    description: 'Whether the day is known on which its provider shuts the model down.',
    examples: [true],
  }),
  retires_on: Type.Union([Type.String({ format: 'date' }), Type.Null()], {
    description:
      'That day, in UTC. From then on the name is served by another model, at the price of that one.',
    examples: ['2027-01-14'],
  }),
  aliases: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Further names of the model. Only where one model is described.',
      examples: [['openai/gpt-4o-mini', 'gpt-4o-mini-2024-07-18']],
    }),
  ),
}

const OpenAiModel = Type.Object(
  {
    id: Type.String({ description: 'What to send as `model`.', examples: ['gpt-4o-mini'] }),
    object: Type.Literal('model'),
    created: Type.Integer({ description: 'Unix seconds.', examples: [1721260800] }),
    owned_by: Type.String({ description: 'The provider.', examples: ['openai'] }),
    context_window: Type.Optional(
      Type.Integer({
        description: 'In tokens; of an embedding model, for each text.',
        examples: [128_000],
      }),
    ),
    max_output_tokens: Type.Optional(Type.Integer({ examples: [16_384] })),
    dimensions: Type.Optional(
      Type.Integer({ description: 'Of the vectors of an embedding model.', examples: [1_536] }),
    ),
    pricing: Type.Object(
      {
        unit: Type.Enum(Object.values(INPUT_UNITS)),
        input: Price,
        cached_input: Price,
        output: Price,
        audio_input: Type.Optional(Price),
      },
      { description: 'Credits per million units; 1,000,000 credits are $1.00.' },
    ),
    modalities: Modalities,
    ...LifeCycle,
  },
  { description: 'As OpenAI describes a model.' },
)

const AnthropicModel = Type.Object(
  {
    type: Type.Literal('model'),
    id: Type.String({ examples: ['anthropic/claude-sonnet-4'] }),
    display_name: Type.String({ examples: ['Claude Sonnet 4'] }),
    created_at: Timestamp,
    max_input_tokens: Type.Optional(Type.Integer({ examples: [200_000] })),
    max_tokens: Type.Optional(Type.Integer({ examples: [64_000] })),
    ...LifeCycle,
  },
  { description: 'As Anthropic describes a model: with an `anthropic-version` header.' },
)

const OpenAiList = Type.Object({ object: Type.Literal('list'), data: Type.Array(OpenAiModel) })

const AnthropicList = Type.Object({
  data: Type.Array(AnthropicModel),
  has_more: Type.Boolean(),
  first_id: Type.String(),
  last_id: Type.String(),
})

const Headers = Type.Object({
  'anthropic-version': Type.Optional(
    Type.String({ description: 'With it the answer has Anthropic’s shape.' }),
  ),
})

export function catalogRoutes(app: App, parts: { catalog: Catalog }): void {
  const { catalog } = parts
  const describe = (request: FastifyRequest, id: string) => {
    const model = catalog.find(id)
    if (!model) throw unknownModel(catalog, id)
    const aliases = [...(model.aliases ?? [])]
    return { ...(isAnthropic(request) ? toAnthropic(model) : toOpenAi(model)), aliases }
  }
  app.get(
    '/v1/models',
    {
      config: { access: 'public' },
      schema: {
        tags: ['Models'],
        operationId: 'list_models',
        summary: 'List models',
        description:
          'Every model, with its limits and what it costs now. Needs no credential. Providers shut models down; names stay, served by a successor at its own price: `served_by` and `retires_on` say so.',
        headers: Headers,
        response: { 200: Type.Union([OpenAiList, AnthropicList]) },
      },
    },
    (request) => (isAnthropic(request) ? listForAnthropic(catalog) : listForOpenAi(catalog)),
  )
  app.get(
    '/v1/models/:id',
    {
      config: { access: 'public', errors: ['model_not_found'] },
      schema: {
        tags: ['Models'],
        operationId: 'model',
        summary: 'Describe a model',
        description:
          'By its name or any of its aliases. The slash of a name may be sent as it is or as `%2F`.',
        params: Type.Object({ id: Type.String({ examples: ['gpt-4o-mini'] }) }),
        headers: Headers,
        response: { 200: Type.Union([OpenAiModel, AnthropicModel]) },
      },
    },
    (request) => describe(request, request.params.id),
  )
  // The same with the slash of a name as it is, which a path parameter cannot hold: not in OpenAPI either, so
  // the document has the route above only.
  app.get(
    '/v1/models/*',
    {
      config: { access: 'public', errors: ['model_not_found'] },
      schema: {
        hide: true,
        params: Type.Object({ '*': Type.String() }),
        response: { 200: Type.Union([OpenAiModel, AnthropicModel]) },
      },
    },
    (request) => describe(request, request.params['*']),
  )
}

function isAnthropic(request: FastifyRequest): boolean {
  return request.headers['anthropic-version'] !== undefined
}

function listForOpenAi(catalog: Catalog): Static<typeof OpenAiList> {
  return { object: 'list', data: catalog.list().map(toOpenAi) }
}

function listForAnthropic(catalog: Catalog): Static<typeof AnthropicList> {
  const data = catalog.list().map(toAnthropic)
  return {
    data,
    has_more: false,
    first_id: data.at(0)?.id ?? '',
    last_id: data.at(-1)?.id ?? '',
  }
}

function toOpenAi(model: Model): Static<typeof OpenAiModel> {
  return {
    id: model.name,
    object: 'model',
    created: createdOf(model).getTime() / 1000,
    owned_by: model.provider,
    ...(model.kind === 'chat' && {
      context_window: model.context_window,
      max_output_tokens: model.max_output_tokens,
    }),
    ...(model.kind === 'embedding' && {
      context_window: model.max_input_tokens,
      dimensions: model.dimensions,
    }),
    pricing: pricingOf(model),
    modalities: modalitiesOf(model),
    ...lifeCycleOf(model),
  }
}

function toAnthropic(model: Model): Static<typeof AnthropicModel> {
  return {
    type: 'model',
    id: model.name,
    display_name: model.display_name ?? model.name,
    created_at: createdOf(model).toISOString(),
    ...(model.kind === 'chat' && {
      max_input_tokens: model.max_input_tokens ?? model.context_window,
      max_tokens: model.max_output_tokens,
    }),
    ...(model.kind === 'embedding' && { max_input_tokens: model.max_input_tokens }),
    ...lifeCycleOf(model),
  }
}

function lifeCycleOf(model: Model) {
  const { retires_on, retired }: Partial<ChatModel> = model.kind === 'chat' ? model : {}
  return {
    served_by: retired ? null : model.upstream_id,
    deprecated: retires_on !== undefined,
    retires_on: retires_on ?? null,
  }
}

function createdOf(model: Model): Date {
  return new Date(model.created ?? CREATED_UNKNOWN)
}

function pricingOf(model: Model) {
  if (model.kind === 'chat') {
    const { input, cache_read, output, audio_input } = model.prices
    return {
      unit: 'token' as const,
      input: Number(input),
      cached_input: Number(cache_read),
      output: Number(output),
      ...(audio_input !== undefined && { audio_input: Number(audio_input) }),
    }
  }
  // The others have one price: for what is said, heard, embedded or asked for.
  const price = Number(model.price)
  return { unit: INPUT_UNITS[model.kind], input: price, cached_input: price, output: 0 }
}

function modalitiesOf(model: Model): { input: Input[]; output: Output[] } {
  switch (model.kind) {
    case 'chat':
      return { input: inputsOf(model.capabilities), output: ['text'] }
    case 'speech':
    case 'sound':
      return { input: ['text'], output: ['audio'] }
    case 'transcription':
      return { input: ['audio'], output: ['text'] }
    case 'embedding':
      return { input: ['text'], output: ['embedding'] }
  }
}

function inputsOf(capabilities: ChatModel['capabilities']): Input[] {
  const { images: image, files: file, audio_input: audio } = capabilities
  const takes: Record<Input, boolean> = { text: true, image, file, audio }
  return INPUTS.filter((input) => takes[input])
}
