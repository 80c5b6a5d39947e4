// Checks the fields of a messages request as strictly as Anthropic does. Turns, blocks, tools,
// thinking and output formats have files of their own.

import { isAbsent, type JsonObject, numberOf, objectOf, textOf, wordList } from '../json.ts'
import { type Betas, betaFields, checkBetaFields } from './betas.ts'
import { checkCitations } from './citations.ts'
import { type AnthropicError, extra, invalid, missing } from './errors.ts'
import type { AnthropicModel } from './models.ts'
import { checkOutput } from './output.ts'
import { checkEffort, checkThinking } from './thinking.ts'
import { checkToolChoice, checkTools } from './tools.ts'

const FIELDS = wordList(`
  model messages max_tokens system stop_sequences stream temperature top_p top_k
  thinking tools tool_choice metadata output_config cache_control service_tier
  inference_geo container speed diagnostics
`)
const COUNT_FIELDS = wordList(`
  model messages system thinking tools tool_choice output_config cache_control
  speed
`)
const MAX_BREAKPOINTS = 4

/** What can be said before the model is known. */
export function checkFields(
  body: JsonObject,
  betas: Betas,
  counting: boolean,
): AnthropicError | undefined {
  const known = [...(counting ? COUNT_FIELDS : FIELDS), ...betaFields(betas)]
  const unknown = Object.keys(body).find((name) => !known.includes(name))
  if (unknown !== undefined) return extra(unknown)
  const required = counting ? ['model', 'messages'] : ['model', 'messages', 'max_tokens']
  const absent = required.find((name) => isAbsent(body[name]))
  if (absent !== undefined) return missing(absent)
  if (typeof body['model'] !== 'string') return invalid('model: Input should be a valid string')
  if (!isAbsent(body['stream']) && typeof body['stream'] !== 'boolean') {
    return invalid('stream: Input should be a valid boolean')
  }
  return checkBetaFields(body)
}

export function checkModelFields(
  body: JsonObject,
  model: AnthropicModel,
  betas: Betas,
): AnthropicError | undefined {
  return (
    checkMaxTokens(body, model) ??
    checkSystem(body) ??
    checkStops(body) ??
    checkSampling(body, model) ??
    checkThinking(body, model, betas) ??
    checkEffort(body, model) ??
    checkTools(body, betas) ??
    checkToolChoice(body) ??
    checkMetadata(body) ??
    checkOutput(body, model, betas) ??
    checkCitations(body) ??
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
  const chosen = names.find((name) => body[name] !== 1)
  if (model.sampling === 'none' && chosen !== undefined) {
    return invalid(`\`${chosen}\` is deprecated for this model.`)
  }
  if (model.sampling === 'one' && names.includes('temperature') && names.includes('top_p')) {
    return invalid(
      '`temperature` and `top_p` cannot both be specified for this model. Please use only one.',
    )
  }
  return undefined
}

function checkMetadata(body: JsonObject): AnthropicError | undefined {
  const metadata = objectOf(body['metadata'])
  const unknown = Object.keys(metadata).find((name) => name !== 'user_id')
  return unknown === undefined ? undefined : extra(`metadata.${unknown}`)
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
