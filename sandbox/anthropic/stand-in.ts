// The Anthropic stand-in: messages, token counting and the model list.

import { type AnswerPlan, composeAnswer, type ToolOffer } from '../answer.ts'
import { type Call, isRefusedKey, readBearer, readHeader, type StandIn } from '../call.ts'
import {
  type Conversation,
  type Directives,
  findUnknownDirective,
  readDirectives,
} from '../directives.ts'
import { findFault } from '../faults.ts'
import {
  decodePercent,
  isObject,
  type JsonObject,
  listOf,
  numberOf,
  objectOf,
  parseJson,
  textOf,
  textsOf,
} from '../json.ts'
import { digest, makeLetters } from '../random.ts'
import { jsonReply, type Outcome, plainOutcome, type Reply } from '../reply.ts'
import { countTokens } from '../tokens.ts'
import {
  type AnthropicError,
  anthropicFault,
  anthropicHeaders,
  errorReply,
  invalid,
  promptTooLong,
  streamErrorFrame,
  unauthorized,
  unknownModel,
} from './errors.ts'
import { checkMessages, readConversation } from './messages.ts'
import { ANTHROPIC_MODELS, type AnthropicModel, findAnthropicModel } from './models.ts'
import { promptText, renderPieces, useMarkedCache } from './prompt.ts'
import { type Message, messageBody, messageFrames } from './reply.ts'
import { checkFields, checkModelFields } from './request.ts'

const VERSIONS = ['2023-01-01', '2023-06-01']
const THINKING_TOKENS = 200

export const anthropicStandIn: StandIn = {
  model_ids: ANTHROPIC_MODELS.map((model) => model.id),
  max_body_bytes: 32 * 1_048_576,
  handle(call) {
    const refused = checkHeaders(call)
    if (refused !== undefined) return refuse(call, refused)
    const { method, path } = call
    if (path === '/v1/messages' && method === 'POST') return createMessage(call)
    if (path === '/v1/messages/count_tokens' && method === 'POST') return countMessage(call)
    if (path === '/v1/models' && method === 'GET') return listModels(call)
    if (path.startsWith('/v1/models/') && method === 'GET') return showModel(call)
    const known = ['/v1/messages', '/v1/messages/count_tokens', '/v1/models'].includes(path)
    if (known) return refuse(call, { ...invalid('Method Not Allowed'), status: 405 })
    return refuse(call, { status: 404, type: 'not_found_error', message: 'Not Found' })
  },
  refuseTooLarge(call) {
    const message = 'Request exceeds the maximum size'
    return errorReply(call, { status: 413, type: 'request_too_large', message })
  },
}

function refuse(call: Call, error: AnthropicError, directives: Directives = {}): Outcome {
  return { reply: errorReply(call, error), directives }
}

function checkHeaders(call: Call): AnthropicError | undefined {
  const key = readHeader(call, 'x-api-key')
  const token = readBearer(call)
  if (key === '' && token === '') return unauthorized('x-api-key header is required')
  if (isRefusedKey(key)) return unauthorized('invalid x-api-key')
  if (isRefusedKey(token)) return unauthorized('Invalid bearer token')
  const version = readHeader(call, 'anthropic-version')
  if (version === '') return invalid('anthropic-version: header is required')
  if (VERSIONS.includes(version)) return undefined
  return invalid(`anthropic-version: "${version}" is not a valid version`)
}

type Request = {
  body: JsonObject
  model: AnthropicModel
  conversation: Conversation
  directives: Directives
}

/** The request when it is in order, or what is wrong with it. */
function readRequest(call: Call, counting: boolean): Request | AnthropicError {
  const body = parseJson(call.body.toString('utf8'))
  if (!isObject(body)) return invalid('The request body is not valid JSON')
  const error = checkFields(body, counting)
  if (error !== undefined) return error
  const model = findAnthropicModel(textOf(body['model']))
  if (model === undefined) return unknownModel(textOf(body['model']))
  const wrong = checkModelFields(body, model) ?? checkMessages(body, model)
  if (wrong !== undefined) return wrong
  const conversation = readConversation(body)
  const unknown = findUnknownDirective(conversation)
  if (unknown !== undefined)
    return invalid(`messages: The sandbox knows no test prompt '${unknown}'.`)
  return { body, model, conversation, directives: readDirectives(conversation) }
}

function createMessage(call: Call): Outcome {
  const request = readRequest(call, false)
  if ('status' in request) return refuse(call, request)
  const { body, model, directives } = request
  const streamed = body['stream'] === true
  const fault = findFault(directives, streamed)
  if (fault !== undefined)
    return refuse(call, anthropicFault(fault, model.id, directives), directives)
  const used_tokens = countTokens(promptText(renderPieces(body, model)))
  if (used_tokens > model.context_tokens) {
    return refuse(call, promptTooLong(used_tokens, model.context_tokens))
  }
  const message = writeMessage(call, request)
  return { reply: streamed ? streamReply(call, message) : wholeReply(call, message), directives }
}

function writeMessage(call: Call, request: Request): Message {
  const { body, model, directives } = request
  const pieces = renderPieces(body, model)
  const plan = planAnswer(request, promptText(pieces))
  const scope = `${readHeader(call, 'x-api-key')}${readBearer(call)}/${model.id}`
  const { type, display } = objectOf(body['thinking'])
  const thinks = type === 'enabled' || type === 'adaptive'
  return {
    id: `msg_01${makeLetters(`${plan.seed}/${call.number}`, 22)}`,
    model: model.id,
    answer: composeAnswer(plan),
    input: useMarkedCache(call.cache, { scope, pieces, least_tokens: model.cache_least_tokens }),
    usage: directives.no_usage === undefined,
    thinking: thinks ? (display === 'omitted' ? 'omitted' : 'summarized') : 'none',
  }
}

function planAnswer(
  { body, model, conversation, directives }: Request,
  prompt: string,
): AnswerPlan {
  const choice = objectOf(body['tool_choice'])
  const format = objectOf(objectOf(body['output_config'])['format'])
  const { type, budget_tokens } = objectOf(body['thinking'])
  const thinks = type === 'enabled' || type === 'adaptive'
  return {
    seed: digest(`${model.id}\n${prompt}`),
    model: model.id,
    asked: conversation.asked,
    results: conversation.results,
    directives,
    limit_tokens: numberOf(body['max_tokens']) ?? model.output_tokens,
    reasoning_tokens: thinks
      ? Math.min(numberOf(budget_tokens) ?? THINKING_TOKENS, THINKING_TOKENS)
      : null,
    stop: textsOf(body['stop_sequences']),
    ...(format['type'] === 'json_schema' && { schema: format['schema'] }),
    tools: readOffers(body),
    tool_forced: choice['type'] === 'any' || choice['type'] === 'tool',
    parallel_tools: choice['disable_parallel_tool_use'] !== true,
    announces_tools: true,
    explains_refusals: false,
  }
}

/** Only tools with a schema can be called here; those that run at Anthropic are never used. */
function readOffers(body: JsonObject): readonly ToolOffer[] {
  const choice = objectOf(body['tool_choice'])
  if (choice['type'] === 'none') return []
  const tools = listOf(body['tools']).map(objectOf)
  const offers = tools
    .filter((tool) => isObject(tool['input_schema']))
    .map((tool) => ({ name: textOf(tool['name']), schema: tool['input_schema'], free_text: false }))
  return choice['type'] === 'tool' ? offers.filter((tool) => tool.name === choice['name']) : offers
}

function wholeReply(call: Call, message: Message): Reply {
  return jsonReply(200, messageBody(message), anthropicHeaders(call))
}

function streamReply(call: Call, message: Message): Reply {
  return {
    type: 'events',
    headers: { ...anthropicHeaders(call), 'cache-control': 'no-cache' },
    layout: 'sse',
    frames: messageFrames(message),
    error: streamErrorFrame(),
  }
}

function countMessage(call: Call): Outcome {
  const request = readRequest(call, true)
  if ('status' in request) return refuse(call, request)
  const { body, model, directives } = request
  const fault = findFault(directives, false)
  if (fault !== undefined)
    return refuse(call, anthropicFault(fault, model.id, directives), directives)
  const input_tokens = countTokens(promptText(renderPieces(body, model)))
  return plainOutcome(jsonReply(200, { input_tokens }, anthropicHeaders(call)))
}

function listModels(call: Call): Outcome {
  const data = ANTHROPIC_MODELS.map(describeModel)
  const body = {
    data,
    has_more: false,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  }
  return plainOutcome(jsonReply(200, body, anthropicHeaders(call)))
}

function showModel(call: Call): Outcome {
  const name = decodePercent(call.path.slice('/v1/models/'.length))
  const model = findAnthropicModel(name)
  if (model === undefined) return refuse(call, unknownModel(name))
  return plainOutcome(jsonReply(200, describeModel(model), anthropicHeaders(call)))
}

function describeModel({ id, display_name, created_at }: AnthropicModel) {
  return { type: 'model', id, display_name, created_at, lifecycle: 'active', retires_at: null }
}
