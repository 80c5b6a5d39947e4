// Embeddings: texts or token ids in, vectors out, as numbers or as base64.

import { type Call, modelLife } from '../call.ts'
import { type Directives, readDirectives } from '../directives.ts'
import { embedText } from '../embedding.ts'
import { findFault } from '../faults.ts'
import {
  isAbsent,
  isObject,
  type JsonObject,
  listOf,
  numberOf,
  parseJson,
  textOf,
} from '../json.ts'
import { jsonReply, type Outcome } from '../reply.ts'
import { countTokens } from '../tokens.ts'
import { badRequest, type OpenaiError, openaiFault, openaiHeaders, unknownModel } from './errors.ts'
import { checkValue, type FieldRule, missingParameter, unknownParameter } from './field-rules.ts'
import { checkDirectives, findServed, refuse } from './served.ts'

const MAX_INPUTS = 2_048
const MAX_INPUT_TOKENS = 8_192
const MAX_REQUEST_TOKENS = 300_000

export type EmbeddingModel = {
  id: string
  /** The name that answers carry. */
  snapshot: string
  created: number
  dimensions: number
  /** Whether a request may ask for fewer dimensions. */
  shortens: boolean
}

export const EMBEDDING_MODELS: readonly EmbeddingModel[] = [
  {
    id: 'text-embedding-3-small',
    snapshot: 'text-embedding-3-small',
    created: 1_705_948_997,
    dimensions: 1_536,
    shortens: true,
  },
  {
    id: 'text-embedding-3-large',
    snapshot: 'text-embedding-3-large',
    created: 1_705_953_180,
    dimensions: 3_072,
    shortens: true,
  },
  {
    id: 'text-embedding-ada-002',
    snapshot: 'text-embedding-ada-002-v2',
    created: 1_671_217_299,
    dimensions: 1_536,
    shortens: false,
  },
]

const FIELDS: Readonly<Record<string, FieldRule>> = {
  model: { kind: 'a string' },
  input: { kind: 'any' },
  encoding_format: { kind: 'a string', choices: ['float', 'base64'] },
  dimensions: { kind: 'an integer', range: [1, Infinity] },
  user: { kind: 'a string' },
}

export function answerEmbeddings(call: Call): Outcome {
  const body = parseJson(call.body.toString('utf8'))
  if (!isObject(body)) {
    return refuse(call, badRequest('We could not parse the JSON body of your request.', null, null))
  }
  const fields = checkFields(body)
  if (fields !== undefined) return refuse(call, fields)
  const name = textOf(body['model'])
  const model = findEmbeddingModel(call, name)
  if (model === undefined) return refuse(call, wrongModel(call, name))
  const inputs = readInputs(body['input'])
  const error = checkInputs(body['input'], inputs) ?? checkDimensions(body, model)
  if (error !== undefined) return refuse(call, error)
  const conversation = { asked: inputs.at(-1)?.text ?? '', results: [], results_follow: true }
  const unknown = checkDirectives(conversation, 'input')
  if (unknown !== undefined) return refuse(call, unknown)
  const directives = readDirectives(conversation)
  const fault = findFault(directives, false)
  if (fault !== undefined) return refuse(call, openaiFault(fault, model.id, directives), directives)
  const reply = jsonReply(
    200,
    embeddingBody({ body, model, inputs, directives }),
    openaiHeaders(call),
  )
  return { reply, directives }
}

export function findEmbeddingModel(call: Call, name: string): EmbeddingModel | undefined {
  const model = EMBEDDING_MODELS.find(({ id }) => id === name)
  return model === undefined || modelLife(call, model.id).stage === 'retired' ? undefined : model
}

function checkFields(body: JsonObject): OpenaiError | undefined {
  for (const [name, value] of Object.entries(body)) {
    const rule = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined
    if (rule === undefined) return unknownParameter(name)
    const error = checkValue(name, value, rule)
    if (error !== undefined) return error
  }
  if (textOf(body['model']) === '') {
    return badRequest('you must provide a model parameter', null, null)
  }
  return isAbsent(body['input']) ? missingParameter('input') : undefined
}

function wrongModel(call: Call, name: string): OpenaiError {
  if (findServed(call, name) === undefined) return unknownModel(name)
  const message = 'You are not allowed to generate embeddings from this model'
  return { ...badRequest(message, null, null), status: 403 }
}

/** A text, or a list of token ids, which is a text that the client has already cut up. */
type Input = { text: string; tokens: number }

/** Empty when the input is of no form that is taken. */
function readInputs(input: unknown): readonly Input[] {
  if (typeof input === 'string') return [readText(input)]
  const entries = listOf(input)
  if (isTokens(entries)) return [readTokens(entries)]
  if (entries.every((entry) => typeof entry === 'string')) return entries.map(readText)
  const lists = entries.map(listOf)
  return lists.every(isTokens) ? lists.map(readTokens) : []
}

function readText(text: string): Input {
  return { text, tokens: countTokens(text) }
}

function readTokens(ids: readonly unknown[]): Input {
  return { text: JSON.stringify(ids), tokens: ids.length }
}

function isTokens(entries: readonly unknown[]): boolean {
  return (
    entries.length > 0 && entries.every((entry) => Number.isInteger(entry) && Number(entry) >= 0)
  )
}

function checkInputs(given: unknown, inputs: readonly Input[]): OpenaiError | undefined {
  const count = isTokens(listOf(given)) ? 1 : listOf(given).length
  if (count > MAX_INPUTS) {
    const message = `Invalid 'input': array too long. Expected an array with maximum length ${MAX_INPUTS}, but got an array with length ${count} instead.`
    return badRequest(message, 'input', 'array_above_max_length')
  }
  if (inputs.length === 0 || inputs.some((input) => input.tokens === 0)) {
    const message = `'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference.`
    return badRequest(message, null, null)
  }
  const long = inputs.findIndex((input) => input.tokens > MAX_INPUT_TOKENS)
  if (long !== -1) {
    const message = `Invalid 'input[${long}]': maximum input length is ${MAX_INPUT_TOKENS} tokens.`
    return badRequest(message, null, null)
  }
  const tokens = countAll(inputs)
  if (tokens <= MAX_REQUEST_TOKENS) return undefined
  const message = `Requested ${tokens} tokens, max ${MAX_REQUEST_TOKENS} tokens per request`
  const code = 'max_tokens_per_request'
  return { ...badRequest(message, null, code), type: code }
}

function checkDimensions(body: JsonObject, model: EmbeddingModel): OpenaiError | undefined {
  const wanted = numberOf(body['dimensions'])
  if (wanted === undefined) return undefined
  if (!model.shortens) {
    return badRequest('This model does not support specifying dimensions.', null, null)
  }
  if (wanted <= model.dimensions) return undefined
  const message = `Invalid value for 'dimensions' = ${wanted}. Must be less than or equal to ${model.dimensions}.`
  return badRequest(message, null, null)
}

type Embedded = {
  body: JsonObject
  model: EmbeddingModel
  inputs: readonly Input[]
  directives: Directives
}

function embeddingBody({ body, model, inputs, directives }: Embedded) {
  const wanted = numberOf(body['dimensions']) ?? model.dimensions
  const tokens = countAll(inputs)
  const encoded = body['encoding_format'] === 'base64'
  return {
    object: 'list',
    data: inputs.map(({ text }, index) => {
      const size = { whole: model.dimensions, wanted, normalized: true }
      const values = embedText(`${model.id}\n${text}`, size)
      return { object: 'embedding', index, embedding: encoded ? encode(values) : values }
    }),
    model: model.snapshot,
    ...(directives.no_usage === undefined && {
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    }),
  }
}

function encode(values: readonly number[]): string {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [index, value] of values.entries()) bytes.writeFloatLE(value, index * 4)
  return bytes.toString('base64')
}

function countAll(inputs: readonly Input[]): number {
  return inputs.reduce((sum, input) => sum + input.tokens, 0)
}
