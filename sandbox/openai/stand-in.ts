// The OpenAI stand-in: chat completions and the model list.

import { type AnswerPlan, composeAnswer } from '../answer.ts'
import { type Call, isRefusedKey, modelLife, readBearer, type StandIn } from '../call.ts'
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
  numberOf,
  objectOf,
  parseJson,
  textOf,
  textsOf,
} from '../json.ts'
import { useCachedPrefix } from '../prompt-cache.ts'
import { digest, makeLetters } from '../random.ts'
import { jsonReply, type Outcome, plainOutcome, type Reply } from '../reply.ts'
import { countTokens } from '../tokens.ts'
import {
  answerTooLong,
  badRequest,
  errorReply,
  inputTooLong,
  MISSING_KEY,
  type OpenaiError,
  openaiFault,
  openaiHeaders,
  promptTooLong,
  streamErrorFrame,
  unknownModel,
  wrongKey,
} from './errors.ts'
import { usesFunctions } from './functions.ts'
import { checkMessages, readConversation, renderPrompt } from './messages.ts'
import { findOpenaiModel, OPENAI_MODELS, type OpenaiModel } from './models.ts'
import { usePrediction } from './prediction.ts'
import { type Completion, completionBody, completionFrames } from './reply.ts'
import { checkFields, checkModelFields } from './request.ts'
import { readOffers } from './tools.ts'

const CACHE_LEAST_TOKENS = 1_024
const REASONING_TOKENS: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 0,
  low: 64,
  medium: 128,
  high: 256,
  xhigh: 512,
  max: 1_024,
}

export const openaiStandIn: StandIn = {
  model_ids: OPENAI_MODELS.map((model) => model.id),
  max_body_bytes: 64 * 1_048_576,
  handle(call) {
    const key = readBearer(call)
    if (key === '') return refuse(call, MISSING_KEY)
    if (isRefusedKey(key)) return refuse(call, wrongKey(key))
    if (call.path === '/v1/chat/completions')
      return call.method === 'POST' ? chat(call) : wrongMethod(call)
    if (call.path === '/v1/models' && call.method === 'GET') return listModels(call)
    if (call.path.startsWith('/v1/models/') && call.method === 'GET') return showModel(call)
    const message = `Invalid URL (${call.method} ${call.path})`
    return refuse(call, { ...badRequest(message, null, null), status: 404 })
  },
  refuseTooLarge(call) {
    const error = badRequest('Request body is too large.', null, null)
    return errorReply({ ...error, status: 413 }, openaiHeaders(call))
  },
}

function refuse(call: Call, error: OpenaiError, directives: Directives = {}): Outcome {
  return { reply: errorReply(error, openaiHeaders(call)), directives }
}

function wrongMethod(call: Call): Outcome {
  const message = `Not allowed to ${call.method} on ${call.path}. (HINT: Perhaps you meant to use a different HTTP method?)`
  return refuse(call, { ...badRequest(message, null, null), status: 405 })
}

function chat(call: Call): Outcome {
  const body = parseJson(call.body.toString('utf8'))
  if (!isObject(body)) {
    return refuse(call, badRequest('We could not parse the JSON body of your request.', null, null))
  }
  const fields = checkFields(body)
  if (fields !== undefined) return refuse(call, fields)
  const model = findServed(call, textOf(body['model']))
  if (model === undefined) return refuse(call, unknownModel(textOf(body['model'])))
  const conversation = readConversation(body)
  const directives = readDirectives(conversation)
  const error =
    checkModelFields(body, model) ?? checkMessages(body, model) ?? checkDirectives(conversation)
  if (error !== undefined) return refuse(call, error)
  const streamed = body['stream'] === true
  const fault = findFault(directives, streamed)
  if (fault !== undefined) return refuse(call, openaiFault(fault, model.id, directives), directives)
  const prompt = renderPrompt(body, model)
  const too_long = checkContext(body, model, countTokens(prompt))
  if (too_long !== undefined) return refuse(call, too_long)
  const completion = complete(call, { body, model, conversation, directives, prompt })
  return {
    reply: streamed ? streamReply(call, completion) : wholeReply(call, completion),
    directives,
  }
}

function checkDirectives(conversation: Conversation): OpenaiError | undefined {
  const name = findUnknownDirective(conversation)
  if (name === undefined) return undefined
  return badRequest(`The sandbox knows no test prompt '${name}'.`, 'messages', 'invalid_value')
}

/** An answer that was asked for must fit beside the prompt; without a limit it is simply shorter. */
function checkContext(
  body: JsonObject,
  model: OpenaiModel,
  prompt_tokens: number,
): OpenaiError | undefined {
  const { input_tokens, context_tokens } = model
  if (prompt_tokens > input_tokens) {
    const own_limit = input_tokens < context_tokens
    return own_limit
      ? inputTooLong(input_tokens, prompt_tokens)
      : promptTooLong(context_tokens, prompt_tokens)
  }
  const asked_tokens = askedLimit(body) ?? 0
  if (prompt_tokens + asked_tokens <= context_tokens) return undefined
  return answerTooLong(context_tokens, prompt_tokens, asked_tokens)
}

type ChatRequest = {
  body: JsonObject
  model: OpenaiModel
  conversation: Conversation
  directives: Directives
  prompt: string
}

function complete(call: Call, request: ChatRequest): Completion {
  const { body, model, directives, prompt } = request
  const plan = planAnswer(request)
  const count = numberOf(body['n']) ?? 1
  const answers = Array.from({ length: count }, (_, index) => composeAnswer(plan, index))
  const scope = `${readBearer(call)}/${model.id}`
  const cached = model.caches
    ? useCachedPrefix(call.cache, { scope, text: prompt, least_tokens: CACHE_LEAST_TOKENS })
    : { read_tokens: 0, written_tokens: 0 }
  const options = objectOf(body['stream_options'])
  const streamed = body['stream'] === true
  const usage_asked = !streamed || options['include_usage'] === true
  return {
    id: `chatcmpl-${makeLetters(`${plan.seed}/${call.number}`, 29)}`,
    created: Math.floor(Date.now() / 1000),
    model: model.snapshot,
    answers,
    prompt: {
      prompt_tokens: countTokens(prompt),
      cached_tokens: cached.read_tokens,
      ...(model.reports_cache_writes && { written_tokens: cached.written_tokens }),
    },
    logprobs: body['logprobs'] === true,
    usage: usage_asked && directives.no_usage === undefined,
    usage_asked: streamed && usage_asked,
    obfuscation: options['include_obfuscation'] !== false,
    service_tier: readTier(textOf(body['service_tier'])),
    old_calls: usesFunctions(body),
    prediction: usePrediction(body, answers[0]?.text ?? ''),
  }
}

function planAnswer({ body, model, conversation, directives, prompt }: ChatRequest): AnswerPlan {
  const offers = readOffers(body)
  const effort = textOf(body['reasoning_effort'] ?? 'medium')
  const room_tokens = Math.min(model.output_tokens, model.context_tokens - countTokens(prompt))
  const schema = readSchema(objectOf(body['response_format']))
  return {
    seed: digest(`${model.id}\n${prompt}`),
    model: model.id,
    asked: conversation.asked,
    results: conversation.results,
    directives,
    limit_tokens: askedLimit(body) ?? room_tokens,
    reasoning_tokens: model.efforts.length > 0 ? (REASONING_TOKENS[effort] ?? 0) : null,
    stop: textsOf(body['stop']),
    ...(schema !== undefined && { schema }),
    tools: offers.tools,
    tool_forced: offers.forced,
    parallel_tools: body['parallel_tool_calls'] !== false && !usesFunctions(body),
    announces_tools: false,
    explains_refusals: true,
  }
}

function askedLimit(body: JsonObject): number | undefined {
  return numberOf(body['max_completion_tokens'] ?? body['max_tokens'])
}

/** The tier that really served the request: the one asked for, which here is always available. */
function readTier(asked: string): string {
  return asked === '' || asked === 'auto' ? 'default' : asked
}

function readSchema(format: JsonObject): unknown {
  if (format['type'] === 'json_object') {
    return { type: 'object', properties: { answer: { type: 'string' } } }
  }
  if (format['type'] !== 'json_schema') return undefined
  const schema = objectOf(format['json_schema'])['schema']
  return isAbsent(schema) ? { type: 'object' } : schema
}

function wholeReply(call: Call, completion: Completion): Reply {
  return jsonReply(200, completionBody(completion), openaiHeaders(call))
}

function streamReply(call: Call, completion: Completion): Reply {
  return {
    type: 'events',
    headers: { ...openaiHeaders(call), 'cache-control': 'no-cache' },
    layout: 'sse',
    frames: completionFrames(completion),
    error: streamErrorFrame(),
  }
}

function listModels(call: Call): Outcome {
  const served = OPENAI_MODELS.filter((model) => findServed(call, model.id) !== undefined)
  const body = { object: 'list', data: served.map((model) => describeModel(call, model)) }
  return plainOutcome(jsonReply(200, body, openaiHeaders(call)))
}

function showModel(call: Call): Outcome {
  const name = decodePercent(call.path.slice('/v1/models/'.length))
  const model = findServed(call, name)
  if (model === undefined) return refuse(call, unknownModel(name))
  return plainOutcome(jsonReply(200, describeModel(call, model), openaiHeaders(call)))
}

function describeModel(call: Call, { id, created }: OpenaiModel) {
  const shutdown_date = modelLife(call, id).retires_on
  return { id, object: 'model', created, owned_by: 'system', shutdown_date }
}

/** A model that was shut down is answered for like one that never was. */
function findServed(call: Call, name: string): OpenaiModel | undefined {
  const model = findOpenaiModel(name)
  return model === undefined || modelLife(call, model.id).stage === 'retired' ? undefined : model
}
