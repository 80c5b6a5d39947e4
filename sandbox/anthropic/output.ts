// Structured output: `output_config.format`, and the beta field `output_format` that came before it.

import { isAbsent, isObject, type JsonObject, listOf, objectOf, textOf } from '../json.ts'
import type { Betas } from './betas.ts'
import { type AnthropicError, extra, invalid, missing } from './errors.ts'
import type { AnthropicModel } from './models.ts'

const MAX_DEPTH = 40
// Keywords that the documentation names as not supported, by the type they belong to.
const UNSUPPORTED: Readonly<Record<string, readonly string[]>> = {
  integer: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  string: ['minLength', 'maxLength'],
  array: ['maxItems', 'uniqueItems'],
}

export function readFormat(body: JsonObject): unknown {
  return objectOf(body['output_config'])['format'] ?? body['output_format']
}

export function checkOutput(
  body: JsonObject,
  model: AnthropicModel,
  betas: Betas,
): AnthropicError | undefined {
  const known = ['effort', 'format', ...(betas.some(isTaskBudget) ? ['task_budget'] : [])]
  const unknown = Object.keys(objectOf(body['output_config'])).find((name) => !known.includes(name))
  if (unknown !== undefined) return extra(`output_config.${unknown}`)
  const format = readFormat(body)
  if (isAbsent(format)) return undefined
  const place = isAbsent(body['output_format']) ? 'output_config.format' : 'output_format'
  if (!model.structured_output) {
    return invalid(`${place}: '${model.id}' does not support structured outputs`)
  }
  const { type, schema } = objectOf(format)
  if (type !== 'json_schema') return invalid(`${place}.type: Input should be 'json_schema'`)
  if (!isObject(schema)) return missing(`${place}.schema`)
  return checkSchema(schema, `${place}.schema`, 0) ?? checkBesideFormat(body)
}

function checkSchema(schema: unknown, place: string, depth: number): AnthropicError | undefined {
  if (!isObject(schema) || depth > MAX_DEPTH) return undefined
  const type = textOf(schema['type'])
  if (type === 'object' && schema['additionalProperties'] !== false) {
    return invalid(
      `${place}: For 'object' type, 'additionalProperties' must be explicitly set to false`,
    )
  }
  const found = Object.keys(schema).filter((name) => UNSUPPORTED[type]?.includes(name))
  if (found.length > 0) {
    return invalid(`${place}: For '${type}' type, properties ${found.join(', ')} are not supported`)
  }
  const least = schema['minItems'] ?? 0
  if (type === 'array' && least !== 0 && least !== 1) {
    return invalid(
      `${place}: For 'array' type, 'minItems' values other than 0 or 1 are not supported`,
    )
  }
  const inner = [
    ...Object.values(objectOf(schema['properties'])),
    ...Object.values(objectOf(schema['$defs'] ?? schema['definitions'])),
    ...listOf(schema['anyOf']),
    ...listOf(schema['allOf']),
    schema['items'],
  ]
  return inner.map((part) => checkSchema(part, place, depth + 1)).find(Boolean)
}

/** The documentation refuses two things beside a schema: citations, and an answer already begun. */
function checkBesideFormat(body: JsonObject): AnthropicError | undefined {
  const messages = listOf(body['messages']).map(objectOf)
  if (messages.at(-1)?.['role'] === 'assistant') {
    return invalid('Prefilling assistant messages is not supported with structured outputs.')
  }
  const blocks = messages.flatMap((message) => listOf(message['content']).map(objectOf))
  const cited = blocks.some((block) => objectOf(block['citations'])['enabled'] === true)
  return cited ? invalid('Citations are not supported with structured outputs.') : undefined
}

function isTaskBudget(beta: string): boolean {
  return beta.startsWith('task-budgets-')
}
