// The Google stand-in: generateContent, its stream, countTokens, the model list, and the way to
// embeddings.ts.

import { type AnswerPlan, composeAnswer, type ToolOffer } from '../answer.ts'
import { type Call, isRefusedKey, modelLife, readHeader, requestId, type StandIn } from '../call.ts'
import {
  type Conversation,
  type Directives,
  findUnknownDirective,
  readDirectives,
} from '../directives.ts'
import { findFault } from '../faults.ts'
import {
  decodePercent,
  isAbsent,
  isObject,
  type JsonObject,
  listOf,
  numberOf,
  parseJson,
  textOf,
  textsOf,
} from '../json.ts'
import { useCachedPrefix } from '../prompt-cache.ts'
import { digest } from '../random.ts'
import { type Frame, jsonReply, type Outcome, plainOutcome, type Reply } from '../reply.ts'
import {
  EMBEDDING_METHODS,
  embedContents,
  GOOGLE_EMBEDDING_MODELS,
  type GoogleEmbeddingModel,
} from './embeddings.ts'
import {
  errorReply,
  GOOGLE_HEADERS,
  type GoogleError,
  googleFault,
  invalidArgument,
  MISSING_KEY,
  promptTooLong,
  retiredModel,
  streamErrorFrame,
  unknownModel,
  WRONG_KEY,
} from './errors.ts'
import { checkShape, readFields } from './fields.ts'
import { findGoogleModel, GOOGLE_MODELS, type GoogleModel } from './models.ts'
import { type GooglePrompt, readConversation, renderPrompt } from './prompt.ts'
import { blockedBody, type Generation, generationBody, generationFrames } from './reply.ts'
import { checkContents, checkRequest } from './request.ts'

const METHODS = ['generateContent', 'streamGenerateContent', 'countTokens']
const THOUGHT_TOKENS = 160
const LEVEL_TOKENS: Readonly<Record<string, number>> = {
  minimal: 32,
  low: 64,
  medium: 128,
  high: 256,
}

export const googleStandIn: StandIn = {
  model_ids: [...GOOGLE_MODELS, ...GOOGLE_EMBEDDING_MODELS].map((model) => model.id),
  max_body_bytes: 64 * 1_048_576,
  handle(call) {
    const key = readKey(call)
    if (key === '') return refuse(call, MISSING_KEY)
    if (isRefusedKey(key)) return refuse(call, WRONG_KEY)
    const models = /^\/v1(?:beta)?\/models(?:\/([^/:]+)(?::(\w+))?)?$/.exec(call.path)
    const [, id, method = ''] = models ?? []
    if (models !== null && call.method === 'GET' && method === '') return showModels(call, id)
    if (id === undefined || call.method !== 'POST') return notFound()
    if (EMBEDDING_METHODS.includes(method)) return embed(call, decodePercent(id), method)
    if (!METHODS.includes(method)) return notFound()
    const model = findGoogleModel(decodePercent(id))
    if (model === undefined) return refuse(call, unknownModel(decodePercent(id), method))
    if (isRetired(call, model)) return refuse(call, retiredModel(model.id))
    return method === 'countTokens' ? countPrompt(call, model) : generate(call, model)
  },
  refuseTooLarge(call) {
    return refuse(call, invalidArgument('Request payload size exceeds the limit.')).reply
  },
}

function readKey(call: Call): string {
  return readHeader(call, 'x-goog-api-key') || (call.query.get('key') ?? '')
}

function isStream(call: Call): boolean {
  return call.path.endsWith(':streamGenerateContent')
}

function refuse(call: Call, error: GoogleError, directives: Directives = {}): Outcome {
  const in_array = isStream(call) && call.query.get('alt') !== 'sse'
  return { reply: errorReply(error, in_array), directives }
}

/** Paths that Google does not know are answered by its web server, not by the API. */
function notFound(): Outcome {
  const headers = { 'content-type': 'text/html; charset=UTF-8' }
  return plainOutcome({ type: 'bytes', status: 404, headers, chunks: [Buffer.from('Not Found')] })
}

function embed(call: Call, id: string, method: string): Outcome {
  const model = GOOGLE_EMBEDDING_MODELS.find((known) => known.id === id)
  if (model === undefined) return refuse(call, unknownModel(id, method))
  if (isRetired(call, model)) return refuse(call, retiredModel(model.id))
  const body = parseJson(call.body.toString('utf8'))
  if (!isObject(body)) return refuse(call, invalidArgument('Invalid JSON payload received.'))
  return embedContents(call, body, model)
}

type Request = {
  fields: JsonObject
  model: GoogleModel
  conversation: Conversation
  directives: Directives
  prompt: GooglePrompt
}

function generate(call: Call, model: GoogleModel): Outcome {
  const body = parseJson(call.body.toString('utf8'))
  if (!isObject(body)) return refuse(call, invalidArgument('Invalid JSON payload received.'))
  const error = checkRequest(body, model)
  if (error !== undefined) return refuse(call, error)
  const fields = readFields(body)
  const conversation = readConversation(fields)
  const unknown = findUnknownDirective(conversation)
  if (unknown !== undefined) {
    return refuse(call, invalidArgument(`The sandbox knows no test prompt '${unknown}'.`))
  }
  const directives = readDirectives(conversation)
  const fault = findFault(directives, isStream(call))
  if (fault !== undefined && fault !== 'blocked') {
    return refuse(call, googleFault(fault, model.id, directives), directives)
  }
  const prompt = renderPrompt(fields, model)
  if (prompt.tokens > model.input_tokens) {
    return refuse(call, promptTooLong(prompt.tokens, model.input_tokens))
  }
  const generation = write(call, { fields, model, conversation, directives, prompt })
  const blocked = fault === 'blocked'
  const reply = isStream(call)
    ? streamReply(call, generation, blocked)
    : wholeReply(generation, blocked)
  return { reply, directives }
}

function write(call: Call, request: Request): Generation {
  const { fields, model, directives, prompt } = request
  const config = readFields(fields['generationConfig'])
  const plan = planAnswer(request, config)
  const least_tokens = model.cache_least_tokens
  const scope = `${readKey(call)}/${model.id}`
  const cached =
    least_tokens === null
      ? { read_tokens: 0 }
      : useCachedPrefix(call.cache, { scope, text: prompt.text, least_tokens })
  const count = numberOf(config['candidateCount']) ?? 1
  return {
    response_id: requestId(call, 22),
    model,
    answers: Array.from({ length: count }, (_, index) => composeAnswer(plan, index)),
    prompt,
    cached_tokens: cached.read_tokens,
    shows_thoughts: readFields(config['thinkingConfig'])['includeThoughts'] === true,
    usage: directives.no_usage === undefined,
    signs_text: model.signs_calls ? 'last' : plan.tools.length > 0 ? 'first' : 'no',
    ...announceEnd(call, model),
  }
}

function announceEnd(call: Call, model: GoogleModel): Pick<Generation, 'status'> {
  const { stage, retires_on } = modelLife(call, model.id)
  if (stage !== 'deprecated') return {}
  const message = `models/${model.id} will be shut down.`
  const retirementTime = `${retires_on}T00:00:00Z`
  return { status: { modelStage: 'DEPRECATED', retirementTime, message } }
}

function planAnswer(request: Request, config: JsonObject): AnswerPlan {
  const { fields, model, conversation, directives, prompt } = request
  const tool_config = readFields(fields['toolConfig'])
  const calling = readFields(tool_config['functionCallingConfig'])
  const mode = textOf(calling['mode']).toUpperCase()
  const schema = config['responseSchema'] ?? config['responseJsonSchema'] ?? { type: 'object' }
  return {
    seed: digest(`${model.id}\n${prompt.text}`),
    model: model.id,
    asked: conversation.asked,
    results: conversation.results,
    directives,
    limit_tokens: numberOf(config['maxOutputTokens']) ?? model.output_tokens,
    reasoning_tokens: readThoughts(readFields(config['thinkingConfig']), model),
    stop: textsOf(config['stopSequences']),
    ...(config['responseMimeType'] === 'application/json' && { schema }),
    tools: mode === 'NONE' ? [] : readOffers(fields, textsOf(calling['allowedFunctionNames'])),
    tool_forced: mode === 'ANY',
    parallel_tools: true,
    announces_tools: false,
    explains_refusals: false,
  }
}

function readThoughts(thinking: JsonObject, model: GoogleModel): number | null {
  const budget = numberOf(thinking['thinkingBudget']) ?? -1
  if (model.budget === null || budget === 0) return null
  const level = LEVEL_TOKENS[textOf(thinking['thinkingLevel']).toLowerCase()]
  return level ?? (budget < 0 ? THOUGHT_TOKENS : Math.min(budget, THOUGHT_TOKENS))
}

function readOffers(fields: JsonObject, allowed: readonly string[]): readonly ToolOffer[] {
  const tools = listOf(fields['tools']).map(readFields)
  const declarations = tools.flatMap((tool) => listOf(tool['functionDeclarations'])).map(readFields)
  const offers = declarations.map((item) => ({
    name: textOf(item['name']),
    schema: item['parameters'] ?? item['parametersJsonSchema'] ?? { type: 'object' },
    free_text: false,
  }))
  return allowed.length === 0 ? offers : offers.filter((offer) => allowed.includes(offer.name))
}

function wholeReply(generation: Generation, blocked: boolean): Reply {
  const body = blocked ? blockedBody(generation) : generationBody(generation)
  return jsonReply(200, body, GOOGLE_HEADERS)
}

function streamReply(call: Call, generation: Generation, blocked: boolean): Reply {
  const refusal: Frame = { kind: 'finish', data: JSON.stringify(blockedBody(generation)) }
  const events = call.query.get('alt') === 'sse'
  const { 'content-type': json, ...others } = GOOGLE_HEADERS
  return {
    type: 'events',
    headers: { ...others, 'content-type': events ? 'text/event-stream' : (json ?? '') },
    layout: events ? 'sse_crlf' : 'json_array',
    frames: blocked ? [refusal] : generationFrames(generation),
    errors: () => [streamErrorFrame()],
  }
}

function countPrompt(call: Call, model: GoogleModel): Outcome {
  const body = parseJson(call.body.toString('utf8'))
  if (!isObject(body)) return refuse(call, invalidArgument('Invalid JSON payload received.'))
  const outer = readFields(body)
  const inner = outer['generateContentRequest']
  const fields = isAbsent(inner) ? outer : readFields(inner)
  const error = checkShape(body, 'countRequest', '') ?? checkContents(fields, model)
  if (error !== undefined) return refuse(call, error)
  const { tokens, details } = renderPrompt(fields, model)
  const answer = { totalTokens: tokens, promptTokensDetails: details }
  return plainOutcome(jsonReply(200, answer, GOOGLE_HEADERS))
}

/** The list has no dates: a model is in it, or it is not. */
function showModels(call: Call, id: string | undefined): Outcome {
  const listed = [
    ...GOOGLE_MODELS.filter((model) => !isRetired(call, model)).map(describeModel),
    ...GOOGLE_EMBEDDING_MODELS.filter((model) => !isRetired(call, model)).map(describeEmbedding),
  ]
  if (id === undefined) return plainOutcome(jsonReply(200, { models: listed }, GOOGLE_HEADERS))
  const model = listed.find(({ name }) => name === `models/${decodePercent(id)}`)
  if (model === undefined) return plainOutcome(errorReply(unknownModel(id, 'getModel'), false))
  return plainOutcome(jsonReply(200, model, GOOGLE_HEADERS))
}

function isRetired(call: Call, { id }: { id: string }): boolean {
  return modelLife(call, id).stage === 'retired'
}

function describeModel(model: GoogleModel) {
  return {
    name: `models/${model.id}`,
    displayName: model.display_name,
    inputTokenLimit: model.input_tokens,
    outputTokenLimit: model.output_tokens,
    supportedGenerationMethods: ['generateContent', 'countTokens'],
    thinking: model.budget !== null,
  }
}

function describeEmbedding(model: GoogleEmbeddingModel) {
  return {
    name: `models/${model.id}`,
    displayName: model.display_name,
    inputTokenLimit: model.input_tokens,
    outputTokenLimit: 1,
    supportedGenerationMethods: ['embedContent'],
  }
}
