// Google's JSON is a protocol buffer in disguise: every message has a closed set of fields, each may
// be written in camelCase or snake_case, and anything else is refused by its path.

import { isAbsent, isObject, type JsonObject, listOf, objectOf, wordList } from '../json.ts'
import { badField, type GoogleError, unknownField } from './errors.ts'

const SHAPES = {
  request: wordList(`
    contents systemInstruction tools toolConfig safetySettings model generationConfig
    cachedContent serviceTier store
  `),
  content: ['role', 'parts'],
  part: wordList(`
    text thought thoughtSignature inlineData fileData functionCall functionResponse
    executableCode codeExecutionResult videoMetadata partMetadata mediaResolution
    toolCall toolResponse
  `),
  inlineData: ['mimeType', 'data', 'displayName'],
  fileData: ['mimeType', 'fileUri', 'displayName'],
  functionCall: ['id', 'name', 'args', 'partialArgs', 'willContinue'],
  functionResponse: ['id', 'name', 'response', 'willContinue', 'scheduling', 'parts'],
  config: wordList(`
    temperature topP topK candidateCount maxOutputTokens stopSequences seed
    presencePenalty frequencyPenalty responseLogprobs logprobs responseMimeType
    responseSchema responseJsonSchema thinkingConfig responseModalities speechConfig
    mediaResolution imageConfig enableEnhancedCivicAnswers responseFormat
  `),
  thinkingConfig: ['thinkingBudget', 'includeThoughts', 'thinkingLevel'],
  tool: wordList(`
    functionDeclarations googleSearch googleSearchRetrieval codeExecution urlContext
    computerUse googleMaps fileSearch mcpServers
  `),
  declaration: wordList(`
    name description parameters parametersJsonSchema behavior response
    responseJsonSchema
  `),
  toolConfig: ['functionCallingConfig', 'retrievalConfig', 'includeServerSideToolInvocations'],
  callingConfig: ['mode', 'allowedFunctionNames', 'streamFunctionCallArguments'],
  safetySetting: ['category', 'threshold', 'method'],
  schema: wordList(`
    type format title description nullable enum maxItems minItems properties required
    minProperties maxProperties minLength maxLength pattern example anyOf
    propertyOrdering default items minimum maximum
  `),
  countRequest: ['contents', 'generateContentRequest'],
  embedRequest: wordList(`
    model content taskType title outputDimensionality autoTruncate embedContentConfig
  `),
  embedConfig: wordList(`
    taskType title outputDimensionality autoTruncate documentOcr audioTrackExtraction
  `),
  embedBatch: ['model', 'requests'],
} as const

export type ShapeName = keyof typeof SHAPES

const SCHEMA_TYPES = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']
const MAX_SCHEMA_DEPTH = 40

/** The fields of a message under their camelCase names. */
export function readFields(value: unknown): JsonObject {
  const entries = Object.entries(objectOf(value))
  return Object.fromEntries(entries.map(([name, field]) => [camelCase(name), field]))
}

export function checkShape(
  value: unknown,
  shape: ShapeName,
  path: string,
): GoogleError | undefined {
  if (isAbsent(value)) return undefined
  if (!isObject(value)) {
    return badField(path, `Invalid value at '${path}': a message was expected.`)
  }
  const known: readonly string[] = SHAPES[shape]
  const unknown = Object.keys(value).find((name) => !known.includes(camelCase(name)))
  return unknown === undefined ? undefined : unknownField(unknown, path)
}

/** Only a subset of JSON Schema has fields; `additionalProperties`, `$ref` and `const` have none. */
export function checkSchema(schema: unknown, path: string, depth = 0): GoogleError | undefined {
  if (isAbsent(schema) || depth > MAX_SCHEMA_DEPTH) return undefined
  const error = checkShape(schema, 'schema', path) ?? checkSchemaType(objectOf(schema), path)
  if (error !== undefined) return error
  const fields = readFields(schema)
  const properties = Object.entries(objectOf(fields['properties']))
  const inner = [
    ...properties.map(([, value], at) => ({ value, path: `${path}.properties[${at}].value` })),
    ...listOf(fields['anyOf']).map((value, at) => ({ value, path: `${path}.any_of[${at}]` })),
    { value: fields['items'], path: `${path}.items` },
  ]
  return inner.map((part) => checkSchema(part.value, part.path, depth + 1)).find(Boolean)
}

function checkSchemaType(schema: JsonObject, path: string): GoogleError | undefined {
  const type = schema['type']
  if (Array.isArray(type)) {
    return badField(
      path,
      `Invalid JSON payload received. Unknown name "type" at '${path}': Proto field is not repeating, cannot start list.`,
    )
  }
  if (typeof type === 'string' && !SCHEMA_TYPES.includes(type.toLowerCase())) {
    return badField(`${path}.type`, `Invalid value at '${path}.type', "${type}"`)
  }
  const numbers = listOf(schema['enum']).findIndex((value) => typeof value !== 'string')
  if (numbers === -1) return undefined
  const field = `${path}.enum[${numbers}]`
  return badField(
    field,
    `Invalid value at '${field}' (TYPE_STRING), ${String(listOf(schema['enum'])[numbers])}`,
  )
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
