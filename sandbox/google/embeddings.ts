// embedContent and batchEmbedContents: contents in, vectors out.

import type { Call } from '../call.ts'
import { type Directives, findUnknownDirective, readDirectives } from '../directives.ts'
import { embedText } from '../embedding.ts'
import { findFault } from '../faults.ts'
import { isAbsent, type JsonObject, listOf, numberOf, textOf, wordList } from '../json.ts'
import { jsonReply, type Outcome } from '../reply.ts'
import { countTokens, takeTokens } from '../tokens.ts'
import {
  badField,
  errorReply,
  GOOGLE_HEADERS,
  type GoogleError,
  googleFault,
  invalidArgument,
  promptTooLong,
} from './errors.ts'
import { checkShape, readFields } from './fields.ts'

const MAX_REQUESTS = 100
const TASK_TYPES = wordList(`
  TASK_TYPE_UNSPECIFIED RETRIEVAL_QUERY RETRIEVAL_DOCUMENT SEMANTIC_SIMILARITY
  CLASSIFICATION CLUSTERING QUESTION_ANSWERING FACT_VERIFICATION CODE_RETRIEVAL_QUERY
`)

export type GoogleEmbeddingModel = {
  id: string
  display_name: string
  input_tokens: number
  dimensions: number
}

export const GOOGLE_EMBEDDING_MODELS: readonly GoogleEmbeddingModel[] = [
  {
    id: 'gemini-embedding-001',
    display_name: 'Gemini Embedding 001',
    input_tokens: 2_048,
    dimensions: 3_072,
  },
]

export const EMBEDDING_METHODS = ['embedContent', 'batchEmbedContents']

export function embedContents(call: Call, body: JsonObject, model: GoogleEmbeddingModel): Outcome {
  const batch = call.path.endsWith(':batchEmbedContents')
  const error = batch ? checkBatch(body, model) : checkRequest(body, '', model)
  if (error !== undefined) return refuse(error)
  const requests = batch ? listOf(readFields(body)['requests']) : [body]
  const inputs = requests.map((request) => readInput(readFields(request), model))
  const too_long = inputs.find((input) => input.cut && !input.may_cut)
  if (too_long !== undefined) return refuse(promptTooLong(too_long.sent_tokens, model.input_tokens))
  const conversation = { asked: inputs.at(-1)?.text ?? '', results: [], results_follow: true }
  const unknown = findUnknownDirective(conversation)
  if (unknown !== undefined) {
    return refuse(invalidArgument(`The sandbox knows no test prompt '${unknown}'.`))
  }
  const directives = readDirectives(conversation)
  const fault = findFault(directives, false)
  // Nothing is written, so there is nothing that could be withheld.
  if (fault !== undefined && fault !== 'blocked') {
    return refuse(googleFault(fault, model.id, directives), directives)
  }
  const embeddings = inputs.map((input) => ({ values: embed(input, model) }))
  const vectors = batch ? { embeddings } : { embedding: embeddings[0] }
  const usage = directives.no_usage === undefined ? usageOf(inputs) : {}
  return { reply: jsonReply(200, { ...vectors, ...usage }, GOOGLE_HEADERS), directives }
}

function refuse(error: GoogleError, directives: Directives = {}): Outcome {
  return { reply: errorReply(error, false), directives }
}

function checkBatch(body: JsonObject, model: GoogleEmbeddingModel): GoogleError | undefined {
  const shape = checkShape(body, 'embedBatch', '')
  if (shape !== undefined) return shape
  const requests = listOf(readFields(body)['requests'])
  if (requests.length === 0) {
    return invalidArgument('* BatchEmbedContentsRequest.requests: requests is not specified\n')
  }
  if (requests.length > MAX_REQUESTS) {
    const message = `* BatchEmbedContentsRequest.requests: at most ${MAX_REQUESTS} requests can be in one batch\n`
    return invalidArgument(message)
  }
  for (const [index, request] of requests.entries()) {
    const path = `requests[${index}]`
    if (textOf(readFields(request)['model']) !== `models/${model.id}`) {
      const message = `* BatchEmbedContentsRequest.${path}.model: model must match the model in the request path\n`
      return invalidArgument(message)
    }
    const error = checkRequest(request, path, model)
    if (error !== undefined) return error
  }
  return undefined
}

function checkRequest(
  request: unknown,
  path: string,
  model: GoogleEmbeddingModel,
): GoogleError | undefined {
  const fields = readFields(request)
  const inner = path === '' ? '' : `${path}.`
  return (
    checkShape(request, 'embedRequest', path) ??
    checkShape(fields['content'], 'content', `${inner}content`) ??
    checkShape(fields['embedContentConfig'], 'embedConfig', `${inner}embed_content_config`) ??
    checkContent(readFields(fields['content']), `${inner}content`) ??
    checkSettings(readSettings(fields), inner, model)
  )
}

function checkContent(content: JsonObject, path: string): GoogleError | undefined {
  const parts = listOf(content['parts'])
  if (parts.length === 0) {
    return invalidArgument('* EmbedContentRequest.content: contents is not specified\n')
  }
  for (const [index, part] of parts.entries()) {
    const error = checkShape(part, 'part', `${path}.parts[${index}]`)
    if (error !== undefined) return error
    if (textOf(readFields(part)['text']) === '') {
      return invalidArgument('EmbedContentRequest.content contains an empty Part.')
    }
  }
  return undefined
}

function checkSettings(
  settings: JsonObject,
  path: string,
  model: GoogleEmbeddingModel,
): GoogleError | undefined {
  const { taskType, title, outputDimensionality } = settings
  if (!isAbsent(taskType) && !TASK_TYPES.includes(textOf(taskType))) {
    const field = `${path}task_type`
    return badField(field, `Invalid value at '${field}', ${JSON.stringify(taskType)}`)
  }
  if (!isAbsent(title) && taskType !== 'RETRIEVAL_DOCUMENT') {
    return invalidArgument('`title` is only applicable when TaskType is `RETRIEVAL_DOCUMENT`.')
  }
  if (isAbsent(outputDimensionality)) return undefined
  const wanted = Number(outputDimensionality)
  if (Number.isInteger(wanted) && wanted >= 1 && wanted <= model.dimensions) return undefined
  return invalidArgument(
    `Value at output_dimensionality must be between 1 and ${model.dimensions}.`,
  )
}

/** The settings have moved into a message of their own; both places are read. */
function readSettings(fields: JsonObject): JsonObject {
  return { ...fields, ...readFields(fields['embedContentConfig']) }
}

type Input = {
  text: string
  tokens: number
  sent_tokens: number
  task: string
  dimensions: number
  cut: boolean
  may_cut: boolean
}

/** What is too long is cut without a word, unless the request forbids it. */
function readInput(fields: JsonObject, model: GoogleEmbeddingModel): Input {
  const settings = readSettings(fields)
  const parts = listOf(readFields(fields['content'])['parts']).map(readFields)
  const whole = parts.map((part) => textOf(part['text'])).join('\n')
  const text = takeTokens(whole, model.input_tokens)
  return {
    text,
    tokens: countTokens(text),
    sent_tokens: countTokens(whole),
    task: textOf(settings['taskType']),
    dimensions: numberOf(settings['outputDimensionality']) ?? model.dimensions,
    cut: text.length < whole.length,
    may_cut: settings['autoTruncate'] !== false,
  }
}

/** Another task gives another vector; only the whole vector has length 1. */
function embed({ text, task, dimensions }: Input, model: GoogleEmbeddingModel): number[] {
  const size = { whole: model.dimensions, wanted: dimensions, normalized: false }
  return embedText(`${model.id}\n${task}\n${text}`, size)
}

/** The details are called otherwise than those of generateContent. */
function usageOf(inputs: readonly Input[]) {
  const tokenCount = inputs.reduce((sum, input) => sum + input.tokens, 0)
  const promptTokenDetails = [{ modality: 'TEXT', tokenCount }]
  return { usageMetadata: { promptTokenCount: tokenCount, promptTokenDetails } }
}
