// Reads the body of POST /v1/embeddings, as OpenAI's clients send it, and holds it against the model that it names.

import type { Catalog, EmbeddingModel } from '../../catalog/models.ts'
import { unknownModel } from '../../catalog/unknown-model.ts'
import {
  type Fields,
  readArray,
  readBody,
  readName,
  readOptionalChoice,
  readOptionalInteger,
  refuse,
} from '../dialects/body-fields.ts'
import type { Embedder, EmbeddingInput } from '../upstreams/embeddings.ts'

export const INPUTS_MAX = 2_048
const TOKEN_ID_MAX = 2 ** 31 - 1
const ENCODINGS = ['float', 'base64'] as const
/** `user` is OpenAI's own word for its records; which user pays is said elsewhere. */
const READ = ['model', 'input', 'dimensions', 'encoding_format', 'user']
const SPLIT = 'Split the texts over several requests.'

export type Encoding = (typeof ENCODINGS)[number]

export type EmbeddingsRequest = {
  model: string
  inputs: readonly EmbeddingInput[]
  dimensions: number | undefined
  encoding: Encoding
  ignored: readonly string[]
}

export function parseEmbeddings(body: unknown): EmbeddingsRequest {
  const fields = readBody(body)
  return {
    model: readName(fields['model'], 'model'),
    inputs: readInputs(fields),
    dimensions: readOptionalInteger(fields['dimensions'], {
      path: 'dimensions',
      min: 1,
      max: Number.MAX_SAFE_INTEGER,
    }),
    encoding:
      readOptionalChoice(fields['encoding_format'], ENCODINGS, 'encoding_format') ?? 'float',
    ignored: Object.keys(fields).filter((field) => !READ.includes(field)),
  }
}

export function requireEmbeddingModel(catalog: Catalog, name: string): EmbeddingModel {
  const model = catalog.find(name)
  if (model?.kind !== 'embedding') throw unknownModel(catalog, name, 'embedding')
  return model
}

/** What the model cannot be asked is refused here, before any credit is held. Answers the length to ask for. */
export function fitToModel(
  { inputs, dimensions }: EmbeddingsRequest,
  model: EmbeddingModel,
  { takes_token_ids }: Pick<Embedder, 'takes_token_ids'>,
): number | undefined {
  for (const [index, input] of inputs.entries()) {
    if (typeof input === 'string') continue
    if (!takes_token_ids) {
      refuse('input', `cannot be token ids for ${model.name}`, 'Send the texts themselves.')
    }
    if (input.length > model.max_input_tokens) {
      const problem = `has ${input.length} tokens, and ${model.name} takes ${model.max_input_tokens}`
      refuse(inputs.length === 1 ? 'input' : `input[${index}]`, problem, SPLIT)
    }
  }
  // Some models know no other length and refuse to be told their own.
  if (dimensions === undefined || dimensions === model.dimensions) return undefined
  if (!model.shortens) refuse('dimensions', `cannot be chosen for ${model.name}`)
  if (dimensions > model.dimensions) refuse('dimensions', `must be at most ${model.dimensions}`)
  return dimensions
}

/** One text or many, or the ids of the tokens of one or many. */
function readInputs({ input }: Fields): readonly EmbeddingInput[] {
  if (typeof input === 'string') return [readInput(input, 'input')]
  if (!Array.isArray(input)) {
    refuse('input', input === undefined ? 'is missing' : 'must be a text or a list of texts')
  }
  if (input.length === 0) refuse('input', 'must not be empty')
  if (typeof input[0] === 'number') return [readTokenIds(input, 'input')]
  if (input.length > INPUTS_MAX) refuse('input', `must have at most ${INPUTS_MAX} texts`, SPLIT)
  const kind = typeof input[0]
  return input.map((entry: unknown, index) => {
    if (typeof entry !== kind) refuse('input', 'must be all texts, or all lists of token ids')
    return readInput(entry, `input[${index}]`)
  })
}

function readInput(value: unknown, path: string): EmbeddingInput {
  if (typeof value !== 'string') return readTokenIds(value, path)
  if (value === '') refuse(path, 'must not be empty')
  return value
}

function readTokenIds(value: unknown, path: string): readonly number[] {
  const ids = readArray(value, path, TOKEN_ID_MAX)
  if (ids.length === 0) refuse(path, 'must not be empty')
  return ids.map((id) => {
    if (typeof id === 'number' && Number.isInteger(id) && id >= 0 && id <= TOKEN_ID_MAX) return id
    refuse(path, 'must be a text, or a list of token ids')
  })
}
