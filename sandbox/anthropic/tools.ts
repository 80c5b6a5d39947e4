// The tools of a messages request: checked as Anthropic checks them, and read into offers.

import type { ToolOffer } from '../answer.ts'
import { isAbsent, isObject, type JsonObject, listOf, objectOf, textOf, wordList } from '../json.ts'
import type { Betas } from './betas.ts'
import { checkDefinedTool, findClientTool } from './client-tools.ts'
import { type AnthropicError, extra, invalid, missing } from './errors.ts'

const TOOL_FIELDS = wordList(`
  type name description input_schema cache_control strict input_examples defer_loading
  allowed_callers eager_input_streaming
`)
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/

export function checkTools(body: JsonObject, betas: Betas): AnthropicError | undefined {
  const errors = listOf(body['tools']).map((value, index) => {
    const tool = objectOf(value)
    const defined = !isAbsent(tool['type']) && tool['type'] !== 'custom'
    return defined ? checkDefinedTool(tool, index, betas) : checkTool(tool, `tools.${index}.custom`)
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

export function checkToolChoice(body: JsonObject): AnthropicError | undefined {
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

/** Tools with a schema, and those whose schema the model knows; what runs at Anthropic is not used. */
export function readOffers(body: JsonObject): readonly ToolOffer[] {
  const choice = objectOf(body['tool_choice'])
  if (choice['type'] === 'none') return []
  const offers = listOf(body['tools'])
    .map(objectOf)
    .flatMap((tool) => {
      const schema = findClientTool(tool)?.schema ?? tool['input_schema']
      return isObject(schema) ? [{ name: textOf(tool['name']), schema, free_text: false }] : []
    })
  return choice['type'] === 'tool' ? offers.filter((tool) => tool.name === choice['name']) : offers
}
