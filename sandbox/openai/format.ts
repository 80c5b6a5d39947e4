// The `response_format` of a chat request: which models take it, and what strict schemas must be.

import { isObject, type JsonObject, listOf, objectOf, textOf } from '../json.ts'
import { badRequest, type OpenaiError } from './errors.ts'
import type { OpenaiModel } from './models.ts'

export function checkFormat(body: JsonObject, model: OpenaiModel): OpenaiError | undefined {
  const format = objectOf(body['response_format'])
  const type = format['type'] ?? 'text'
  if (type === 'text') return undefined
  if (type !== 'json_object' && type !== 'json_schema') {
    const message = `Invalid value: '${textOf(type)}'. Supported values are: 'json_object', 'json_schema', and 'text'.`
    return badRequest(message, 'response_format.type', 'invalid_value')
  }
  const supported = type === 'json_schema' ? ['schema'] : ['schema', 'object']
  if (!supported.includes(model.json)) {
    const message = `Invalid parameter: 'response_format' of type '${type}' is not supported with this model.`
    return badRequest(message, 'response_format', null)
  }
  if (type === 'json_schema') return checkSchemaFormat(objectOf(format['json_schema']))
  if (/json/i.test(JSON.stringify(body['messages']))) return undefined
  const message =
    "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
  return badRequest(message, 'messages', null)
}

function checkSchemaFormat(wanted: JsonObject): OpenaiError | undefined {
  if (textOf(wanted['name']) === '') {
    const param = 'response_format.json_schema.name'
    return badRequest(
      `Missing required parameter: '${param}'.`,
      param,
      'missing_required_parameter',
    )
  }
  const place = wanted['strict'] === true ? findLooseObject(wanted['schema'], []) : undefined
  if (place === undefined) return undefined
  const message = looseSchema(`response_format '${textOf(wanted['name'])}'`, place)
  return badRequest(message, 'response_format', null)
}

export function looseSchema(owner: string, place: readonly string[]): string {
  const context = `(${place.map((step) => `'${step}'`).join(', ')})`
  return `Invalid schema for ${owner}: In context=${context}, every object needs 'additionalProperties' false and all its properties in 'required'.`
}

/** Strict mode wants closed objects with everything required; the path of the first that is not. */
export function findLooseObject(
  schema: unknown,
  path: readonly string[],
): readonly string[] | undefined {
  if (path.length > 24) return undefined
  if (Array.isArray(schema)) {
    return schema.map((part, at) => findLooseObject(part, [...path, String(at)])).find(Boolean)
  }
  if (!isObject(schema)) return undefined
  const names = Object.keys(objectOf(schema['properties']))
  const required = listOf(schema['required'])
  const loose = schema['type'] === 'object' && schema['additionalProperties'] !== false
  if (loose || names.some((name) => !required.includes(name))) return path
  const inner = ['properties', '$defs', 'definitions', 'items', 'anyOf', 'allOf']
  return inner
    .flatMap((name) => {
      const part = schema[name]
      if (!isObject(part) || name === 'items') return [{ steps: [name], part }]
      return Object.entries(part).map(([key, value]) => ({ steps: [name, key], part: value }))
    })
    .map(({ steps, part }) => findLooseObject(part, [...path, ...steps]))
    .find(Boolean)
}
