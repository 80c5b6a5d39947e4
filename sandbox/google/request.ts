// Checks a generateContent request as strictly as Google does: fields, contents, tools and the
// generation settings of the model in question.

import { isAbsent, type JsonObject, listOf, numberOf, textOf } from '../json.ts'
import { badField, type GoogleError, invalidArgument } from './errors.ts'
import { checkSchema, checkShape, readFields, type ShapeName } from './fields.ts'
import type { GoogleModel } from './models.ts'
import { isOwnSignature } from './signature.ts'

const PART_MESSAGES = ['inlineData', 'fileData', 'functionCall', 'functionResponse'] as const
const NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/
const MODES = ['MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED']
const LEVELS = ['thinking_level_unspecified', 'minimal', 'low', 'medium', 'high']
const SKIPPED_SIGNATURES = [
  'skip_thought_signature_validator',
  'context_engineering_is_the_way_to_go',
]

export function checkRequest(body: JsonObject, model: GoogleModel): GoogleError | undefined {
  const request = readFields(body)
  return (
    checkShape(body, 'request', '') ??
    checkContents(request, model) ??
    checkContent(request['systemInstruction'], 'system_instruction') ??
    checkTools(request) ??
    checkConfig(readFields(request['generationConfig']), request, model)
  )
}

export function checkContents(request: JsonObject, model: GoogleModel): GoogleError | undefined {
  const contents = listOf(request['contents'])
  if (contents.length === 0) {
    return invalidArgument('* GenerateContentRequest.contents: contents is not specified\n')
  }
  const errors = contents.map((content, at) => checkContent(content, `contents[${at}]`))
  return errors.find(Boolean) ?? checkEmpty(contents) ?? checkCalls(contents, model)
}

function checkContent(content: unknown, path: string): GoogleError | undefined {
  const shape = checkShape(content, 'content', path)
  if (shape !== undefined || isAbsent(content)) return shape
  const { role, parts } = readFields(content)
  if (!isAbsent(role) && role !== 'user' && role !== 'model' && role !== 'function') {
    return path === 'system_instruction'
      ? undefined
      : invalidArgument('Please use a valid role: user, model.')
  }
  return listOf(parts)
    .map((part, at) => checkPart(part, `${path}.parts[${at}]`))
    .find(Boolean)
}

function checkPart(part: unknown, path: string): GoogleError | undefined {
  const shape = checkShape(part, 'part', path)
  if (shape !== undefined) return shape
  const fields = readFields(part)
  const nested = PART_MESSAGES.map((name) => {
    return checkShape(fields[name], name, `${path}.${snakeCase(name)}`)
  })
  const given = ['text', ...PART_MESSAGES].filter((name) => !isAbsent(fields[name]))
  if (given.length > 1) {
    return badField(path, `Invalid value at '${path}' (oneof), oneof field 'data' is already set.`)
  }
  return nested.find(Boolean)
}

function checkEmpty(contents: readonly unknown[]): GoogleError | undefined {
  const at = contents.findIndex((content) => listOf(readFields(content)['parts']).length === 0)
  if (at !== -1) {
    return invalidArgument(
      `* GenerateContentRequest.contents[${at}].parts: contents.parts must not be empty.\n`,
    )
  }
  for (const [index, content] of contents.entries()) {
    const parts = listOf(readFields(content)['parts']).map(readFields)
    const hollow = parts.findIndex((part) => Object.values(part).every(isAbsent))
    if (hollow !== -1) {
      return invalidArgument(
        `* GenerateContentRequest.contents[${index}].parts[${hollow}].data: required oneof field 'data' must have one initialized field\n`,
      )
    }
  }
  return undefined
}

/** A turn of calls is followed by as many responses; newer models want their signatures back. */
function checkCalls(contents: readonly unknown[], model: GoogleModel): GoogleError | undefined {
  const turns = contents.map((content) => listOf(readFields(content)['parts']).map(readFields))
  const asked_at = turns.findLastIndex((parts, at) => isAsked(readFields(contents[at]), parts))
  for (const [index, parts] of turns.entries()) {
    const calls = parts.filter((part) => !isAbsent(part['functionCall']))
    const next = turns[index + 1] ?? []
    const responses = next.filter((part) => !isAbsent(part['functionResponse']))
    if (calls.length > 0 && responses.length !== calls.length) {
      return invalidArgument(
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      )
    }
    const [first] = calls
    const current = index > asked_at && model.signs_calls && first !== undefined
    const error = current ? checkSignature(first, index) : undefined
    if (error !== undefined) return error
  }
  return undefined
}

/** A user's words begin a turn; the calls of turns before it need no signatures any more. */
function isAsked({ role }: JsonObject, parts: readonly JsonObject[]): boolean {
  return role !== 'model' && parts.some((part) => isAbsent(part['functionResponse']))
}

/** Of calls in parallel only the first is signed; of calls one after the other, each. */
function checkSignature(part: JsonObject, index: number): GoogleError | undefined {
  const signature = textOf(part['thoughtSignature'])
  if (signature === '') {
    const name = textOf(readFields(part['functionCall'])['name'])
    return invalidArgument(
      `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${index + 1}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`,
    )
  }
  if (SKIPPED_SIGNATURES.includes(signature) || isOwnSignature(signature)) return undefined
  return invalidArgument('Corrupted thought signature.')
}

function checkTools(request: JsonObject): GoogleError | undefined {
  const errors = listOf(request['tools']).map((tool, at) => {
    const path = `tools[${at}]`
    const declarations = listOf(readFields(tool)['functionDeclarations'])
    return (
      checkShape(tool, 'tool', path) ??
      declarations
        .map((item, index) => checkDeclaration(item, `${path}.function_declarations[${index}]`))
        .find(Boolean)
    )
  })
  const config = request['toolConfig']
  const calling = readFields(config)['functionCallingConfig']
  const mode = textOf(readFields(calling)['mode'] ?? 'AUTO')
  const error =
    errors.find(Boolean) ??
    checkShape(config, 'toolConfig', 'tool_config') ??
    checkShape(calling, 'callingConfig', 'tool_config.function_calling_config')
  if (error !== undefined || MODES.includes(mode.toUpperCase())) return error
  const field = 'tool_config.function_calling_config.mode'
  return badField(field, `Invalid value at '${field}', "${mode}"`)
}

function checkDeclaration(value: unknown, path: string): GoogleError | undefined {
  const { name, parameters, parametersJsonSchema } = readFields(value)
  const error =
    checkShape(value, 'declaration', path) ?? checkSchema(parameters, `${path}.parameters`)
  if (error !== undefined) return error
  if (!NAME.test(textOf(name))) {
    return invalidArgument(
      `* GenerateContentRequest.${path}.name: Invalid function name. Must start with a letter or an underscore.\n`,
    )
  }
  if (isAbsent(parameters) || isAbsent(parametersJsonSchema)) return undefined
  return invalidArgument('parameters and parameters_json_schema cannot both be set.')
}

const CONFIG = 'GenerateContentRequest.generation_config'

function checkConfig(
  config: JsonObject,
  request: JsonObject,
  model: GoogleModel,
): GoogleError | undefined {
  const shapes: readonly [unknown, ShapeName, string][] = [
    [request['generationConfig'], 'config', 'generation_config'],
    [config['thinkingConfig'], 'thinkingConfig', 'generation_config.thinking_config'],
    ...listOf(request['safetySettings']).map((setting, at): [unknown, ShapeName, string] => {
      return [setting, 'safetySetting', `safety_settings[${at}]`]
    }),
  ]
  return (
    shapes.map(([value, shape, path]) => checkShape(value, shape, path)).find(Boolean) ??
    checkSchema(config['responseSchema'], 'generation_config.response_schema') ??
    checkNumbers(config, model) ??
    checkPenalties(config, model) ??
    checkFormat(config, request, model) ??
    checkThinking(readFields(config['thinkingConfig']), model)
  )
}

function checkNumbers(config: JsonObject, model: GoogleModel): GoogleError | undefined {
  const temperature = numberOf(config['temperature']) ?? 0
  if (temperature < 0 || temperature > 2) {
    return invalidArgument(
      `* ${CONFIG}.temperature: temperature must be in the range [0.0, 2.0].\n`,
    )
  }
  const top_p = numberOf(config['topP']) ?? 1
  if (top_p < 0 || top_p > 1) {
    return invalidArgument(`* ${CONFIG}.top_p: top_p must be in the range [0.0, 1.0].\n`)
  }
  const max = numberOf(config['maxOutputTokens'])
  if (max !== undefined && max <= 0) {
    return invalidArgument(`* ${CONFIG}.max_output_tokens: max_output_tokens must be positive.\n`)
  }
  if (max !== undefined && max > model.output_tokens) {
    return invalidArgument(
      `Unable to submit request because it has a maxOutputTokens value of ${max} but the supported range is from 1 (inclusive) to ${model.output_tokens + 1} (exclusive).`,
    )
  }
  const count = numberOf(config['candidateCount']) ?? 1
  if (count < 1 || count > 8) {
    return invalidArgument(
      `* ${CONFIG}.candidate_count: candidate_count must be in the range [1, 8].\n`,
    )
  }
  if (listOf(config['stopSequences']).length <= 5) return undefined
  return invalidArgument(
    `* ${CONFIG}.stop_sequences: the number of stop_sequences must not exceed 5.\n`,
  )
}

function checkPenalties(config: JsonObject, model: GoogleModel): GoogleError | undefined {
  const given = ['presencePenalty', 'frequencyPenalty'].some((name) => {
    return (numberOf(config[name]) ?? 0) !== 0
  })
  if (!given || model.penalties) return undefined
  return invalidArgument('Penalty is not enabled for this model')
}

function checkFormat(
  config: JsonObject,
  request: JsonObject,
  model: GoogleModel,
): GoogleError | undefined {
  const type = textOf(config['responseMimeType'] ?? 'text/plain')
  const schema = config['responseSchema'] ?? config['responseJsonSchema']
  if (type !== 'text/plain' && type !== 'application/json') {
    return invalidArgument(
      `* ${CONFIG}.response_mime_type: allowed mimetypes are \`text/plain\` and \`application/json\`.\n`,
    )
  }
  if (!isAbsent(schema) && type === 'text/plain') {
    return invalidArgument(
      `* ${CONFIG}.response_schema: only allowed with response_mime_type \`application/json\`.\n`,
    )
  }
  if (!isAbsent(config['responseSchema']) && !isAbsent(config['responseJsonSchema'])) {
    return invalidArgument('response_schema and response_json_schema cannot both be set.')
  }
  if (type !== 'application/json' || model.tools_with_json) return undefined
  if (listOf(request['tools']).length === 0) return undefined
  return invalidArgument(
    "Function calling with a response mime type: 'application/json' is unsupported",
  )
}

function checkThinking(thinking: JsonObject, model: GoogleModel): GoogleError | undefined {
  const budget = numberOf(thinking['thinkingBudget'])
  if (Object.keys(thinking).length === 0) return undefined
  if (model.budget === null) return invalidArgument('Thinking is not enabled for this model.')
  if (budget !== undefined && !isAbsent(thinking['thinkingLevel'])) {
    return invalidArgument('You can only set only one of thinking budget and thinking level.')
  }
  const level = textOf(thinking['thinkingLevel']).toLowerCase()
  if (level !== '') return checkLevel(level, model)
  if (budget === undefined || budget === -1) return undefined
  if (budget === 0 && !model.can_stop_thinking) {
    return invalidArgument('Budget 0 is invalid. This model only works in thinking mode.')
  }
  const [least, most] = model.budget
  if (budget >= least && budget <= most) return undefined
  return invalidArgument(
    `The thinking budget ${budget} is invalid. Please choose a value between ${least} and ${most}.`,
  )
}

function checkLevel(level: string, model: GoogleModel): GoogleError | undefined {
  if (!LEVELS.includes(level)) {
    const field = 'generation_config.thinking_config.thinking_level'
    return badField(field, `Invalid value at '${field}', "${level}"`)
  }
  if (model.levels.length === 0) {
    return invalidArgument('Thinking level is not supported for this model.')
  }
  if (model.levels.includes(level)) return undefined
  return invalidArgument(
    `Thinking level ${level.toUpperCase()} is not supported for this model. Please retry with other thinking level.`,
  )
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
