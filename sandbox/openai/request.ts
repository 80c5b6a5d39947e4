// Checks the fields of a chat request as strictly as OpenAI does: unknown names, types, ranges, and
// what a model family does not take. Messages are messages.ts.

import { isAbsent, type JsonObject, listOf, numberOf, objectOf, textOf, wordList } from '../json.ts'
import { badRequest, type OpenaiError } from './errors.ts'
import {
  checkValue,
  type Kind,
  missingParameter,
  quoteAll,
  unknownParameter,
} from './field-rules.ts'
import { checkFormat } from './format.ts'
import { checkFunctions, usesFunctions } from './functions.ts'
import type { OpenaiModel } from './models.ts'
import { checkPrediction } from './prediction.ts'
import { checkTools } from './tools.ts'

const FIELDS: Readonly<Record<string, Kind>> = {
  model: 'a string',
  messages: 'an array',
  max_completion_tokens: 'an integer',
  max_tokens: 'an integer',
  temperature: 'a decimal',
  top_p: 'a decimal',
  frequency_penalty: 'a decimal',
  presence_penalty: 'a decimal',
  logit_bias: 'an object',
  logprobs: 'a boolean',
  top_logprobs: 'an integer',
  n: 'an integer',
  stop: 'any',
  seed: 'an integer',
  reasoning_effort: 'a string',
  verbosity: 'a string',
  tools: 'an array',
  tool_choice: 'any',
  parallel_tool_calls: 'a boolean',
  functions: 'an array',
  function_call: 'any',
  response_format: 'an object',
  stream: 'a boolean',
  stream_options: 'an object',
  user: 'a string',
  safety_identifier: 'a string',
  metadata: 'an object',
  store: 'a boolean',
  prediction: 'an object',
  modalities: 'an array',
  audio: 'an object',
  service_tier: 'a string',
  prompt_cache_key: 'a string',
  prompt_cache_retention: 'a string',
  prompt_cache_options: 'an object',
  web_search_options: 'an object',
  moderation: 'an object',
}
const RANGES: Readonly<Record<string, readonly [least: number, most: number]>> = {
  max_completion_tokens: [1, Infinity],
  max_tokens: [1, Infinity],
  temperature: [0, 2],
  top_p: [0, 1],
  frequency_penalty: [-2, 2],
  presence_penalty: [-2, 2],
  top_logprobs: [0, 20],
  n: [1, 128],
}
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  reasoning_effort: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
  verbosity: ['low', 'medium', 'high'],
  service_tier: ['auto', 'default', 'flex', 'scale', 'priority'],
}
const NOT_FOR_REASONING = wordList(`
  max_tokens top_p frequency_penalty presence_penalty logit_bias logprobs top_logprobs
  stop
`)

export function checkFields(body: JsonObject): OpenaiError | undefined {
  for (const [name, value] of Object.entries(body)) {
    const kind = FIELDS[name]
    if (kind === undefined) return unknownParameter(name)
    const error = checkValue(name, value, { kind, choices: CHOICES[name], range: RANGES[name] })
    if (error !== undefined) return error
  }
  if (textOf(body['model']) === '') {
    return badRequest('you must provide a model parameter', null, null)
  }
  return isAbsent(body['messages']) ? missingParameter('messages') : undefined
}

export function checkModelFields(body: JsonObject, model: OpenaiModel): OpenaiError | undefined {
  return (
    (model.efforts.length > 0 ? checkReasoningFields(body, model) : checkChatFields(body)) ??
    checkLengths(body, model) ??
    checkStop(body) ??
    checkTools(body, model) ??
    checkFunctions(body) ??
    checkFunctionEffort(body, model) ??
    checkPrediction(body, model) ??
    checkFormat(body, model) ??
    checkStreamOptions(body)
  )
}

function checkReasoningFields(body: JsonObject, model: OpenaiModel): OpenaiError | undefined {
  const unsupported = NOT_FOR_REASONING.find((name) => !isAbsent(body[name]))
  if (unsupported !== undefined) {
    const hint = unsupported === 'max_tokens' ? " Use 'max_completion_tokens' instead." : ''
    const message = `Unsupported parameter: '${unsupported}' is not supported with this model.${hint}`
    return badRequest(message, unsupported, 'unsupported_parameter')
  }
  const temperature = numberOf(body['temperature']) ?? 1
  if (temperature !== 1) {
    const message = `Unsupported value: 'temperature' does not support ${temperature} with this model. Only the default (1) value is supported.`
    return badRequest(message, 'temperature', 'unsupported_value')
  }
  const effort = body['reasoning_effort']
  if (isAbsent(effort) || model.efforts.includes(textOf(effort))) return undefined
  const message = `Unsupported value: 'reasoning_effort' does not support '${textOf(effort)}' with this model. Supported values are: ${quoteAll(model.efforts)}.`
  return badRequest(message, 'reasoning_effort', 'unsupported_value')
}

/** The newer models take functions here only when they do not reason, and the newest reason by default. */
function checkFunctionEffort(body: JsonObject, model: OpenaiModel): OpenaiError | undefined {
  const tools = listOf(body['tools']).map(objectOf)
  const offered = usesFunctions(body) || tools.some((tool) => tool['type'] === 'function')
  if (!offered || model.chat_functions === 'always') return undefined
  const effort = body['reasoning_effort']
  if (effort === 'none' || (isAbsent(effort) && model.chat_functions === 'unless_effort')) {
    return undefined
  }
  const message = `Function tools with reasoning_effort are not supported for ${model.id} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`
  return badRequest(message, 'reasoning_effort', null)
}

function checkChatFields(body: JsonObject): OpenaiError | undefined {
  const name = ['reasoning_effort', 'verbosity'].find((field) => !isAbsent(body[field]))
  if (name !== undefined) {
    const message = `Unsupported parameter: '${name}' is not supported with this model.`
    return badRequest(message, name, 'unsupported_parameter')
  }
  if (!isAbsent(body['top_logprobs']) && body['logprobs'] !== true) {
    const message = "Invalid value for 'top_logprobs': it needs 'logprobs' to be true."
    return badRequest(message, 'top_logprobs', 'invalid_value')
  }
  return undefined
}

function checkLengths(body: JsonObject, model: OpenaiModel): OpenaiError | undefined {
  const names = ['max_tokens', 'max_completion_tokens'].filter((name) => !isAbsent(body[name]))
  if (names.length === 2) {
    const message =
      "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
    return badRequest(message, 'max_tokens', 'invalid_parameter_combination')
  }
  const [name = ''] = names
  const asked = Number(body[name] ?? 0)
  if (asked <= model.output_tokens) return undefined
  const message = `max_tokens is too large: ${asked}. This model supports at most ${model.output_tokens} completion tokens, whereas you provided ${asked}.`
  return badRequest(message, name, 'invalid_value')
}

function checkStop(body: JsonObject): OpenaiError | undefined {
  const stop = body['stop']
  if (isAbsent(stop) || typeof stop === 'string') return undefined
  const entries = listOf(stop)
  const good = Array.isArray(stop) && entries.every((entry) => typeof entry === 'string')
  if (!good) {
    return badRequest(
      "Invalid type for 'stop': expected a string or strings.",
      'stop',
      'invalid_type',
    )
  }
  if (entries.length <= 4) return undefined
  const message = `Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length ${entries.length} instead.`
  return badRequest(message, 'stop', 'array_above_max_length')
}

function checkStreamOptions(body: JsonObject): OpenaiError | undefined {
  if (isAbsent(body['stream_options']) || body['stream'] === true) return undefined
  const message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
  return badRequest(message, 'stream_options', null)
}
