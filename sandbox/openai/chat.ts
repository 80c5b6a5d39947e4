// Chat completions: from the request to its answer, whole or streamed.

import { type AnswerPlan, composeAnswer } from '../answer.ts'
import type { Call } from '../call.ts'
import { type Conversation, type Directives, readDirectives } from '../directives.ts'
import { findFault } from '../faults.ts'
import {
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
import { jsonReply, type Outcome, type Reply } from '../reply.ts'
import { countTokens } from '../tokens.ts'
import { findEmbeddingModel } from './embeddings.ts'
import {
  answerTooLong,
  badRequest,
  inputTooLong,
  NOT_A_CHAT_MODEL,
  ONLY_IN_RESPONSES,
  type OpenaiError,
  openaiFault,
  openaiHeaders,
  promptTooLong,
  streamErrorFrame,
  unknownModel,
} from './errors.ts'
import { usesFunctions } from './functions.ts'
import { checkMessages, readConversation, renderPrompt } from './messages.ts'
import type { OpenaiModel } from './models.ts'
import { usePrediction } from './prediction.ts'
import { type Completion, completionBody, completionFrames } from './reply.ts'
import { checkFields, checkModelFields } from './request.ts'
import {
  checkDirectives,
  findServed,
  readTier,
  reasoningTokens,
  refuse,
  useCache,
} from './served.ts'
import { readOffers } from './tools.ts'

export function answerChat(call: Call): Outcome {
  const body = parseJson(call.body.toString('utf8'))
  if (!isObject(body)) {
    return refuse(call, badRequest('We could not parse the JSON body of your request.', null, null))
  }
  const fields = checkFields(body)
  if (fields !== undefined) return refuse(call, fields)
  const model = findServed(call, textOf(body['model']))
  if (model === undefined) return refuse(call, wrongModel(call, textOf(body['model'])))
  if (!model.in_chat) return refuse(call, ONLY_IN_RESPONSES)
  const conversation = readConversation(body)
  const directives = readDirectives(conversation)
  const error =
    checkModelFields(body, model) ??
    checkMessages(body, model) ??
    checkDirectives(conversation, 'messages')
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

function wrongModel(call: Call, name: string): OpenaiError {
  return findEmbeddingModel(call, name) === undefined ? unknownModel(name) : NOT_A_CHAT_MODEL
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
  const cached = useCache(call, model, prompt)
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
    service_tier: readTier(body['service_tier']),
    old_calls: usesFunctions(body),
    prediction: usePrediction(body, answers[0]?.text ?? ''),
  }
}

function planAnswer({ body, model, conversation, directives, prompt }: ChatRequest): AnswerPlan {
  const offers = readOffers(body)
  const room_tokens = Math.min(model.output_tokens, model.context_tokens - countTokens(prompt))
  const schema = readSchema(objectOf(body['response_format']))
  return {
    seed: digest(`${model.id}\n${prompt}`),
    model: model.id,
    asked: conversation.asked,
    results: conversation.results,
    directives,
    limit_tokens: askedLimit(body) ?? room_tokens,
    reasoning_tokens: reasoningTokens(model, body['reasoning_effort']),
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
    errors: () => [streamErrorFrame()],
  }
}
