// Checks the fields of a messages request as strictly as Anthropic does. Turns and blocks are
// messages.ts and blocks.ts.

import {
  isAbsent,
  isObject,
  type JsonObject,
  listOf,
  numberOf,
  objectOf,
  textOf,
  wordList,
} from '../json.ts'
import { type AnthropicError, extra, invalid, missing } from './errors.ts'
import type { AnthropicModel } from './models.ts'

const FIELDS = wordList(`
  model messages max_tokens system stop_sequences stream temperature top_p top_k
  thinking tools tool_choice metadata output_config cache_control service_tier
  inference_geo container speed diagnostics context_management
`)
const COUNT_FIELDS = wordList(`
  model messages system thinking tools tool_choice output_config cache_control
  context_management
`)
const TOOL_FIELDS = wordList(`
  type name description input_schema cache_control strict input_examples defer_loading
  allowed_callers eager_input_streaming
`)
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/
const MAX_BREAKPOINTS = 4

/** What can be said before the model is known. */
export function checkFields(body: JsonObject, counting: boolean): AnthropicError | undefined {
  const known = counting ? COUNT_FIELDS : FIELDS
  const unknown = Object.keys(body).find((name) => !known.includes(name))
  if (unknown !== undefined) return extra(unknown)
  const required = counting ? ['model', 'messages'] : ['model', 'messages', 'max_tokens']
  const absent = required.find((name) => isAbsent(body[name]))
  if (absent !== undefined) return missing(absent)
  if (typeof body['model'] !== 'string') return invalid('model: Input should be a valid string')
  if (!isAbsent(body['stream']) && typeof body['stream'] !== 'boolean') {
    return invalid('stream: Input should be a valid boolean')
  }
  return undefined
}

export function checkModelFields(
  body: JsonObject,
  model: AnthropicModel,
): AnthropicError | undefined {
  return (
    checkMaxTokens(body, model) ??
    checkSystem(body) ??
    checkStops(body) ??
    checkSampling(body, model) ??
    checkThinking(body, model) ??
    checkTools(body) ??
    checkToolChoice(body) ??
    checkMetadata(body) ??
    checkOutput(body, model) ??
    checkBreakpoints(body)
  )
}

function checkMaxTokens(body: JsonObject, model: AnthropicModel): AnthropicError | undefined {
  const max_tokens = body['max_tokens']
  if (isAbsent(max_tokens)) return undefined
  if (!Number.isInteger(max_tokens)) return invalid('max_tokens: Input should be a valid integer')
  const asked = Number(max_tokens)
  if (asked < 0) return invalid('max_tokens: Input should be greater than or equal to 0')
  if (asked <= model.output_tokens) return undefined
  return invalid(
    `max_tokens: ${asked} > ${model.output_tokens}, which is the maximum allowed number of output tokens for ${model.id}`,
  )
}

function checkSystem(body: JsonObject): AnthropicError | undefined {
  const system = body['system']
  if (isAbsent(system) || typeof system === 'string') return undefined
  if (!Array.isArray(system)) return invalid('system: Input should be a valid string or list')
  const errors = system.map((value: unknown, index) => {
    const block = objectOf(value)
    const path = `system.${index}`
    if (block['type'] !== 'text') return invalid(`${path}.type: Input should be 'text'`)
    if (typeof block['text'] !== 'string') return missing(`${path}.text`)
    if (block['text'] === '') return invalid('system: text content blocks must be non-empty')
    const known = ['type', 'text', 'cache_control', 'citations']
    const unknown = Object.keys(block).find((name) => !known.includes(name))
    return unknown === undefined ? undefined : extra(`${path}.${unknown}`)
  })
  return errors.find((error) => error !== undefined)
}

function checkStops(body: JsonObject): AnthropicError | undefined {
  const stops = body['stop_sequences']
  if (isAbsent(stops)) return undefined
  if (!Array.isArray(stops)) return invalid('stop_sequences: Input should be a valid list')
  const wrong = stops.findIndex((stop) => typeof stop !== 'string')
  if (wrong !== -1) return invalid(`stop_sequences.${wrong}: Input should be a valid string`)
  const blank = stops.some((stop) => textOf(stop).trim() === '')
  return blank
    ? invalid('stop_sequences: each stop sequence must contain non-whitespace')
    : undefined
}

function checkSampling(body: JsonObject, model: AnthropicModel): AnthropicError | undefined {
  const names = ['temperature', 'top_p', 'top_k'].filter((name) => !isAbsent(body[name]))
  const wrong = names.find((name) => typeof body[name] !== 'number')
  if (wrong !== undefined) return invalid(`${wrong}: Input should be a valid number`)
  for (const name of ['temperature', 'top_p']) {
    const value = numberOf(body[name]) ?? 0
    if (value < 0) return invalid(`${name}: Input should be greater than or equal to 0`)
    if (value > 1) return invalid(`${name}: Input should be less than or equal to 1`)
  }
  const [first] = names
  if (model.sampling === 'none' && first !== undefined && body[first] !== 1) {
    return invalid(`\`${first}\` is deprecated for this model.`)
  }
  if (model.sampling === 'one' && names.includes('temperature') && names.includes('top_p')) {
    return invalid(
      '`temperature` and `top_p` cannot both be specified for this model. Please use only one.',
    )
  }
  return undefined
}

function checkThinking(body: JsonObject, model: AnthropicModel): AnthropicError | undefined {
  const thinking = body['thinking']
  if (isAbsent(thinking)) return undefined
  const { type, budget_tokens } = objectOf(thinking)
  if (type === 'disabled') return undefined
  if (type !== 'enabled' && type !== 'adaptive') {
    return invalid(
      `thinking: Input tag '${textOf(type)}' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'`,
    )
  }
  if (model.thinking.length === 0) return invalid(`'${model.id}' does not support thinking.`)
  if (!model.thinking.includes(type)) {
    return invalid(`thinking.type: '${type}' is not supported by ${model.id}`)
  }
  return checkBudget(body, type, budget_tokens) ?? checkBesideThinking(body)
}

function checkBudget(body: JsonObject, type: string, value: unknown): AnthropicError | undefined {
  if (type !== 'enabled') return undefined
  if (isAbsent(value)) return missing('thinking.enabled.budget_tokens')
  const budget = numberOf(value) ?? 0
  if (budget < 1_024) {
    return invalid('thinking.enabled.budget_tokens: Input should be greater than or equal to 1024')
  }
  const max_tokens = numberOf(body['max_tokens'])
  if (max_tokens === undefined || max_tokens > budget) return undefined
  return invalid('`max_tokens` must be greater than `thinking.budget_tokens`.')
}

function checkBesideThinking(body: JsonObject): AnthropicError | undefined {
  if ((body['temperature'] ?? 1) !== 1) {
    return invalid('`temperature` may only be set to 1 when thinking is enabled.')
  }
  if (!isAbsent(body['top_k'])) return invalid('`top_k` must be unset when thinking is enabled.')
  if ((numberOf(body['top_p']) ?? 1) < 0.95) {
    return invalid(
      '`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.',
    )
  }
  const choice = objectOf(body['tool_choice'])['type']
  if (choice !== 'any' && choice !== 'tool') return undefined
  return invalid('Thinking may not be enabled when tool_choice forces tool use.')
}

function checkTools(body: JsonObject): AnthropicError | undefined {
  const errors = listOf(body['tools']).map((value, index) => {
    const tool = objectOf(value)
    const server = !isAbsent(tool['type']) && tool['type'] !== 'custom'
    // Tools that Anthropic itself defines come with a dated type and fields of their own.
    return server ? undefined : checkTool(tool, `tools.${index}.custom`)
  })
  const names = listOf(body['tools']).map((tool) => textOf(objectOf(tool)['name']))
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  const error = errors.find((found) => found !== undefined)
  if (error !== undefined || twice === undefined) return error
  return invalid(`tools: Tool names must be unique.`)
}

function checkTool(tool: JsonObject, path: string): AnthropicError | undefined {
  const unknown = Object.keys(tool).find((name) => !TOOL_FIELDS.includes(name))
  if (unknown !== undefined) return extra(`${path}.${unknown}`)
  const absent = ['name', 'input_schema'].find((name) => isAbsent(tool[name]))
  if (absent !== undefined) return missing(`${path}.${absent}`)
  if (!TOOL_NAME.test(textOf(tool['name']))) {
    return invalid(`${path}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`)
  }
  const schema = tool['input_schema']
  if (!isObject(schema)) return invalid(`${path}.input_schema: Input should be a valid dictionary`)
  if (isAbsent(schema['type'])) return missing(`${path}.input_schema.type`)
  if (schema['type'] !== 'object')
    return invalid(`${path}.input_schema.type: Input should be 'object'`)
  return undefined
}

function checkToolChoice(body: JsonObject): AnthropicError | undefined {
  if (isAbsent(body['tool_choice'])) return undefined
  const choice = objectOf(body['tool_choice'])
  const type = textOf(choice['type'])
  if (!['auto', 'any', 'tool', 'none'].includes(type)) {
    return invalid(
      `tool_choice: Input tag '${type}' found using 'type' does not match any of the expected tags: 'any', 'auto', 'none', 'tool'`,
    )
  }
  if (listOf(body['tools']).length === 0) {
    return invalid('tool_choice: `tool_choice` may only be specified while providing `tools`')
  }
  if (type === 'none' && !isAbsent(choice['disable_parallel_tool_use'])) {
    return extra('tool_choice.none.disable_parallel_tool_use')
  }
  if (type !== 'tool') return undefined
  const name = textOf(choice['name'])
  if (name === '') return missing('tool_choice.tool.name')
  const known = listOf(body['tools']).some((tool) => objectOf(tool)['name'] === name)
  return known ? undefined : invalid(`Tool '${name}' not found in provided tools`)
}

function checkMetadata(body: JsonObject): AnthropicError | undefined {
  const metadata = objectOf(body['metadata'])
  const unknown = Object.keys(metadata).find((name) => name !== 'user_id')
  return unknown === undefined ? undefined : extra(`metadata.${unknown}`)
}

function checkOutput(body: JsonObject, model: AnthropicModel): AnthropicError | undefined {
  const format = objectOf(body['output_config'])['format']
  if (isAbsent(format)) return undefined
  if (!model.structured_output) {
    return invalid(`output_config.format: '${model.id}' does not support structured outputs`)
  }
  if (objectOf(format)['type'] === 'json_schema' && isObject(objectOf(format)['schema'])) {
    return undefined
  }
  return missing('output_config.format.schema')
}

function checkBreakpoints(body: JsonObject): AnthropicError | undefined {
  const marks = JSON.stringify([body['tools'], body['system'], body['messages']]).match(
    /"cache_control":\{/g,
  )
  const found = (marks?.length ?? 0) + (isAbsent(body['cache_control']) ? 0 : 1)
  if (found <= MAX_BREAKPOINTS) return undefined
  return invalid(
    `A maximum of ${MAX_BREAKPOINTS} blocks with cache_control may be provided. Found ${found}.`,
  )
}
