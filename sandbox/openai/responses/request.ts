// Checks the fields of a Responses request as strictly as OpenAI does: unknown names, types, ranges,
// and what a model family does not take. Input items are items.ts, tools are tools.ts.

import {
  isAbsent,
  isObject,
  type JsonObject,
  listOf,
  objectOf,
  textOf,
  wordList,
} from '../../json.ts'
import { badRequest, type OpenaiError } from '../errors.ts'
import {
  checkValue,
  type FieldRule,
  invalidValue,
  missingParameter,
  quoteAll,
  unknownParameter,
} from '../field-rules.ts'
import { findLooseObject, looseSchema } from '../format.ts'
import type { OpenaiModel } from '../models.ts'

export const ENCRYPTED = 'reasoning.encrypted_content'
export const LOGPROBS = 'message.output_text.logprobs'

const LEAST_OUTPUT_TOKENS = 16
const MAX_NAME_LENGTH = 64
const MAX_METADATA = 16
const MAX_METADATA_LENGTH = 512
const INCLUDABLE = wordList(`
  file_search_call.results web_search_call.results web_search_call.action.sources
  message.input_image.image_url computer_call_output.output.image_url
  code_interpreter_call.outputs ${ENCRYPTED} ${LOGPROBS}
`)
const SUMMARIES = ['auto', 'concise', 'detailed']

const FIELDS: Readonly<Record<string, FieldRule>> = {
  model: { kind: 'a string' },
  input: { kind: 'any' },
  instructions: { kind: 'a string' },
  previous_response_id: { kind: 'a string' },
  max_output_tokens: { kind: 'an integer', range: [LEAST_OUTPUT_TOKENS, Infinity] },
  max_tool_calls: { kind: 'an integer', range: [1, Infinity] },
  temperature: { kind: 'a decimal', range: [0, 2] },
  top_p: { kind: 'a decimal', range: [0, 1] },
  top_logprobs: { kind: 'an integer', range: [0, 20] },
  text: { kind: 'an object' },
  reasoning: { kind: 'an object' },
  tools: { kind: 'an array' },
  tool_choice: { kind: 'any' },
  parallel_tool_calls: { kind: 'a boolean' },
  include: { kind: 'an array' },
  store: { kind: 'a boolean' },
  stream: { kind: 'a boolean' },
  stream_options: { kind: 'an object' },
  metadata: { kind: 'an object' },
  client_metadata: { kind: 'an object' },
  truncation: { kind: 'a string', choices: ['auto', 'disabled'] },
  user: { kind: 'a string' },
  safety_identifier: { kind: 'a string' },
  prompt_cache_key: { kind: 'a string' },
  prompt_cache_retention: { kind: 'a string', choices: ['in_memory', '24h'] },
  prompt_cache_options: { kind: 'an object' },
  service_tier: {
    kind: 'a string',
    choices: ['auto', 'default', 'flex', 'scale', 'priority', 'fast', 'ultrafast'],
  },
  background: { kind: 'a boolean' },
  conversation: { kind: 'any' },
  prompt: { kind: 'an object' },
  context_management: { kind: 'an array' },
  moderation: { kind: 'an object' },
  image: { kind: 'an object' },
  access_programs: { kind: 'an object' },
}
const INNER_FIELDS: Readonly<Record<string, Readonly<Record<string, FieldRule>>>> = {
  text: {
    format: { kind: 'an object' },
    verbosity: { kind: 'a string', choices: ['low', 'medium', 'high'] },
  },
  reasoning: {
    effort: {
      kind: 'a string',
      choices: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
    },
    summary: { kind: 'a string', choices: SUMMARIES },
    generate_summary: { kind: 'a string', choices: SUMMARIES },
    context: { kind: 'a string', choices: ['auto', 'current_turn', 'all_turns'] },
    mode: { kind: 'a string', choices: ['standard', 'pro'] },
  },
  stream_options: { include_obfuscation: { kind: 'a boolean' } },
}
/** Fields that OpenAI takes and the sandbox has nothing behind. */
const NOT_IN_SANDBOX = wordList(`
  conversation prompt context_management moderation image access_programs
`)

export function checkFields(body: JsonObject): OpenaiError | undefined {
  const error = checkObject(body, FIELDS, '')
  if (error !== undefined) return error
  for (const [name, rules] of Object.entries(INNER_FIELDS)) {
    const inner = checkObject(objectOf(body[name]), rules, `${name}.`)
    if (inner !== undefined) return inner
  }
  if (textOf(body['model']) === '') return missingParameter('model')
  const input = body['input']
  const given = typeof input === 'string' || listOf(input).length > 0
  if (!given && isAbsent(body['previous_response_id'])) {
    const message = `One of "input" or "previous_response_id" or 'prompt' or 'conversation_id' must be provided.`
    return badRequest(message, 'input', 'missing_required_parameter')
  }
  return (
    checkValue('input', typeof input === 'string' ? [] : input, { kind: 'an array' }) ??
    checkInclude(body) ??
    checkLengths(body) ??
    checkMetadata(objectOf(body['metadata'])) ??
    checkStreamOptions(body) ??
    checkSandbox(body)
  )
}

export function checkModelFields(body: JsonObject, model: OpenaiModel): OpenaiError | undefined {
  return (
    (model.efforts.length > 0 ? checkReasoning(body, model) : checkPlain(body, model)) ??
    checkOutputTokens(body, model) ??
    checkFormat(body, model)
  )
}

function checkObject(
  object: JsonObject,
  rules: Readonly<Record<string, FieldRule>>,
  path: string,
): OpenaiError | undefined {
  for (const [name, value] of Object.entries(object)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
    if (rule === undefined) return unknownParameter(`${path}${name}`)
    const error = checkValue(`${path}${name}`, value, rule)
    if (error !== undefined) return error
  }
  return undefined
}

function checkInclude(body: JsonObject): OpenaiError | undefined {
  const entries = listOf(body['include'])
  const wrong = entries.findIndex((entry) => !INCLUDABLE.includes(textOf(entry)))
  if (wrong === -1) return undefined
  return invalidValue(textOf(entries[wrong]), INCLUDABLE, `include[${wrong}]`)
}

function checkLengths(body: JsonObject): OpenaiError | undefined {
  const name = ['safety_identifier', 'prompt_cache_key'].find((field) => {
    return textOf(body[field]).length > MAX_NAME_LENGTH
  })
  return name === undefined ? undefined : tooLong(name, textOf(body[name]), MAX_NAME_LENGTH)
}

export function tooLong(name: string, value: string, limit: number): OpenaiError {
  const message = `Invalid '${name}': string too long. Expected a string with maximum length ${limit}, but got a string with length ${value.length} instead.`
  return badRequest(message, name, 'string_above_max_length')
}

function checkMetadata(metadata: JsonObject): OpenaiError | undefined {
  const entries = Object.entries(metadata)
  if (entries.length > MAX_METADATA) {
    const message = `Invalid 'metadata': too many properties. Expected an object with at most ${MAX_METADATA} properties, but got an object with ${entries.length} properties instead.`
    return badRequest(message, 'metadata', 'object_above_max_properties')
  }
  for (const [name, value] of entries) {
    const error = checkValue(`metadata.${name}`, value, { kind: 'a string' })
    if (error !== undefined) return error
    if (textOf(value).length > MAX_METADATA_LENGTH) {
      return tooLong(`metadata.${name}`, textOf(value), MAX_METADATA_LENGTH)
    }
  }
  return undefined
}

function checkStreamOptions(body: JsonObject): OpenaiError | undefined {
  if (isAbsent(body['stream_options']) || body['stream'] === true) return undefined
  const message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
  return badRequest(message, 'stream_options', null)
}

function checkSandbox(body: JsonObject): OpenaiError | undefined {
  const pro = objectOf(body['reasoning'])['mode'] === 'pro' ? 'reasoning.mode' : undefined
  const name =
    NOT_IN_SANDBOX.find((field) => !isAbsent(body[field])) ??
    (body['background'] === true ? 'background' : pro)
  return name === undefined ? undefined : notInSandbox(`'${name}'`, name)
}

/** The real API would go on; here there is nothing that could, and silence would prove nothing. */
export function notInSandbox(what: string, param: string): OpenaiError {
  return badRequest(`The sandbox does not serve ${what}.`, param, 'unsupported_value')
}

function checkReasoning(body: JsonObject, model: OpenaiModel): OpenaiError | undefined {
  // The Responses API gives these two no code, unlike chat completions.
  const name = ['temperature', 'top_p'].find((field) => !isAbsent(body[field]))
  if (name !== undefined) return unsupported(name, null)
  if (!isAbsent(body['top_logprobs'])) return unsupported('top_logprobs', 'unsupported_parameter')
  if (listOf(body['include']).includes(LOGPROBS)) {
    return badRequest('logprobs are not supported with reasoning models.', 'include', null)
  }
  const effort = objectOf(body['reasoning'])['effort']
  if (isAbsent(effort) || model.efforts.includes(textOf(effort))) return undefined
  return unsupportedValue(textOf(effort), model, ['reasoning.effort', model.efforts])
}

function checkPlain(body: JsonObject, model: OpenaiModel): OpenaiError | undefined {
  const reasoning = objectOf(body['reasoning'])
  const name = Object.keys(reasoning).find((field) => !isAbsent(reasoning[field]))
  if (name !== undefined) return unsupported(`reasoning.${name}`, 'unsupported_parameter')
  if (listOf(body['include']).includes(ENCRYPTED)) {
    return badRequest('Encrypted content is not supported with this model.', 'include', null)
  }
  const verbosity = objectOf(body['text'])['verbosity'] ?? 'medium'
  if (verbosity === 'medium') return undefined
  return unsupportedValue(textOf(verbosity), model, ['text.verbosity', ['medium']])
}

function unsupported(name: string, code: string | null): OpenaiError {
  const message = `Unsupported parameter: '${name}' is not supported with this model.`
  return badRequest(message, name, code)
}

function unsupportedValue(
  value: string,
  model: OpenaiModel,
  [param, allowed]: readonly [string, readonly string[]],
): OpenaiError {
  const message = `Unsupported value: '${value}' is not supported with the '${model.id}' model. Supported values are: ${quoteAll(allowed)}.`
  return badRequest(message, param, 'unsupported_value')
}

function checkOutputTokens(body: JsonObject, model: OpenaiModel): OpenaiError | undefined {
  const asked = Number(body['max_output_tokens'] ?? 0)
  if (asked <= model.output_tokens) return undefined
  const message = `max_output_tokens is too large: ${asked}. This model supports at most ${model.output_tokens} completion tokens, whereas you provided ${asked}.`
  return badRequest(message, 'max_output_tokens', 'invalid_value')
}

function checkFormat(body: JsonObject, model: OpenaiModel): OpenaiError | undefined {
  const format = objectOf(objectOf(body['text'])['format'])
  const type = textOf(format['type'] ?? 'text')
  if (type === 'text') return undefined
  if (type !== 'json_object' && type !== 'json_schema') {
    return invalidValue(type, ['json_object', 'json_schema', 'text'], 'text.format.type')
  }
  const supported = type === 'json_schema' ? ['schema'] : ['schema', 'object']
  if (!supported.includes(model.json)) {
    const message = `Invalid parameter: 'text.format' of type '${type}' is not supported with model version \`${model.id}\`.`
    return badRequest(message, 'text', null)
  }
  if (type === 'json_schema') return checkSchema(format)
  if (/json/i.test(JSON.stringify([body['input'], body['instructions']]))) return undefined
  const message =
    "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'."
  return badRequest(message, 'input', null)
}

/** The schema stands in the format itself; chat completions have it one level deeper. */
function checkSchema(format: JsonObject): OpenaiError | undefined {
  if (textOf(format['name']) === '') return missingParameter('text.format.name')
  if (!isObject(format['schema'])) return missingParameter('text.format.schema')
  const known = ['type', 'name', 'schema', 'strict', 'description']
  const extra = Object.keys(format).find((name) => !known.includes(name))
  if (extra !== undefined) return unknownParameter(`text.format.${extra}`)
  const place = format['strict'] === true ? findLooseObject(format['schema'], []) : undefined
  if (place === undefined) return undefined
  const message = looseSchema(`response_format '${textOf(format['name'])}'`, place)
  return badRequest(message, 'text.format.schema', 'invalid_json_schema')
}
