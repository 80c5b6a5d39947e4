// The Anthropic stand-in: messages, token counting and the model list.

import { type Answer, type AnswerPlan, composeAnswer } from '../answer.ts'
import {
  type Call,
  isRefusedKey,
  modelLife,
  readBearer,
  readHeader,
  type StandIn,
} from '../call.ts'
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
import { digest, makeLetters } from '../random.ts'
import { jsonReply, type Outcome, plainOutcome, type Reply } from '../reply.ts'
import { countTokens } from '../tokens.ts'
import { type Betas, checkBetas, readBetas } from './betas.ts'
import { makeCitations } from './citations.ts'
import {
  type AnthropicError,
  answerTooLong,
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
import { readFormat } from './output.ts'
import { promptText, renderPieces, useMarkedCache } from './prompt.ts'
import { type Message, messageBody, messageFrames, type StopDetails } from './reply.ts'
import { checkFields, checkModelFields } from './request.ts'
import { thinkingDisplay, thinkingTokens } from './thinking.ts'
import { readOffers } from './tools.ts'
import { checkVersion, checkVersionFields, readVersion } from './versions.ts'

const WINDOW_BETA = 'model-context-window-exceeded-2025-08-26'

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
  return checkVersion(readVersion(call)) ?? checkBetas(readBetas(call))
}

type Request = {
  body: JsonObject
  model: AnthropicModel
  betas: Betas
  conversation: Conversation
  directives: Directives
}

/** The request when it is in order, or what is wrong with it. */
function readRequest(call: Call, counting: boolean): Request | AnthropicError {
  const body = parseJson(call.body.toString('utf8'))
  if (!isObject(body)) return invalid('The request body is not valid JSON')
  const betas = readBetas(call)
  const error = checkFields(body, betas, counting) ?? checkVersionFields(body, readVersion(call))
  if (error !== undefined) return error
  const model = findServed(call, textOf(body['model']))
  if (model === undefined) return unknownModel(textOf(body['model']))
  const wrong = checkModelFields(body, model, betas) ?? checkMessages(body, model)
  if (wrong !== undefined) return wrong
  const conversation = readConversation(body)
  const unknown = findUnknownDirective(conversation)
  if (unknown !== undefined)
    return invalid(`messages: The sandbox knows no test prompt '${unknown}'.`)
  return { body, model, betas, conversation, directives: readDirectives(conversation) }
}

function createMessage(call: Call): Outcome {
  const request = readRequest(call, false)
  if ('status' in request) return refuse(call, request)
  const { body, model, directives } = request
  const streamed = body['stream'] === true
  const fault = findFault(directives, streamed)
  if (fault !== undefined)
    return refuse(call, anthropicFault(fault, model.id, directives), directives)
  const too_long = checkWindow(request)
  if (too_long !== undefined) return refuse(call, too_long)
  const message = writeMessage(call, request)
  return { reply: streamed ? streamReply(call, message) : wholeReply(call, message), directives }
}

/** Newer models write until the window is full; older ones want to know beforehand that it will not be. */
function checkWindow({ body, model, betas }: Request): AnthropicError | undefined {
  const { context_tokens } = model
  const used_tokens = countTokens(promptText(renderPieces(body, model)))
  if (used_tokens > context_tokens) return promptTooLong(used_tokens, context_tokens)
  const asked_tokens = numberOf(body['max_tokens']) ?? 0
  const fits = used_tokens + asked_tokens <= context_tokens
  if (fits || model.fills_window || betas.includes(WINDOW_BETA)) return undefined
  return answerTooLong(used_tokens, asked_tokens, context_tokens)
}

function writeMessage(call: Call, request: Request): Message {
  const { body, model, directives } = request
  const pieces = renderPieces(body, model)
  const plan = planAnswer(request, promptText(pieces))
  const answer = composeAnswer(plan)
  const scope = `${readHeader(call, 'x-api-key')}${readBearer(call)}/${model.id}`
  const structured = plan.schema !== undefined
  return {
    id: `msg_01${makeLetters(`${plan.seed}/${call.number}`, 22)}`,
    model: model.id,
    answer,
    input: useMarkedCache(call.cache, { scope, pieces, least_tokens: model.cache_least_tokens }),
    usage: directives.no_usage === undefined,
    thinking: thinkingDisplay(body, model),
    citations: structured ? [] : makeCitations(body),
    window_full: plan.limit_tokens < (numberOf(body['max_tokens']) ?? Infinity),
    stop_details: explainStop(answer, request),
    ...(!isAbsent(body['context_management']) && { applied_edits: [] }),
  }
}

function explainStop({ end }: Answer, { model, directives }: Request): StopDetails | null {
  const refused = end === 'refusal' || end === 'content_filter'
  if (!refused || !model.explains_refusals) return null
  const category = directives.refusal || null
  const explanation = category === null ? null : `The request touches on ${category}.`
  return { type: 'refusal', category, explanation }
}

function planAnswer(
  { body, model, conversation, directives }: Request,
  prompt: string,
): AnswerPlan {
  const choice = objectOf(body['tool_choice'])
  const format = objectOf(readFormat(body))
  const room_tokens = model.context_tokens - countTokens(prompt)
  const asked_tokens = numberOf(body['max_tokens']) ?? model.output_tokens
  return {
    seed: digest(`${model.id}\n${prompt}`),
    model: model.id,
    asked: conversation.asked,
    results: conversation.results,
    directives,
    limit_tokens: Math.min(asked_tokens, room_tokens),
    reasoning_tokens: thinkingTokens(body),
    stop: textsOf(body['stop_sequences']),
    ...(format['type'] === 'json_schema' && { schema: format['schema'] }),
    tools: readOffers(body),
    tool_forced: choice['type'] === 'any' || choice['type'] === 'tool',
    parallel_tools: choice['disable_parallel_tool_use'] !== true,
    announces_tools: true,
    explains_refusals: false,
  }
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
    errors: () => [streamErrorFrame()],
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
  const stages = [...call.query.getAll('lifecycle'), ...call.query.getAll('lifecycle[]')]
  const shown = stages.length === 0 ? ['active', 'deprecated'] : stages
  const data = ANTHROPIC_MODELS.map((model) => describeModel(call, model)).filter((model) => {
    return shown.includes(model.lifecycle)
  })
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
  return plainOutcome(jsonReply(200, describeModel(call, model), anthropicHeaders(call)))
}

/** A retired model stays in the catalogue as a record of itself, for whoever asks for those. */
function describeModel(call: Call, model: AnthropicModel) {
  const { id, display_name, created_at, context_tokens, output_tokens } = model
  const { stage, retires_on } = modelLife(call, id)
  const retires_at = retires_on === null ? null : `${retires_on}T00:00:00Z`
  return {
    type: 'model',
    id,
    display_name,
    created_at,
    lifecycle: stage,
    // Nobody says here when it was announced, but the field is not null once it is.
    deprecated_at: retires_at === null ? null : created_at,
    retires_at,
    max_input_tokens: context_tokens,
    max_tokens: output_tokens,
  }
}

function findServed(call: Call, name: string): AnthropicModel | undefined {
  const model = findAnthropicModel(name)
  return model === undefined || modelLife(call, model.id).stage === 'retired' ? undefined : model
}
