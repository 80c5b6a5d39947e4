// The input items of a Responses request, one by one: which kinds there are, which fields each has,
// and which parts a message may contain. How items must follow each other is turns.ts.

import {
  isAbsent,
  isObject,
  type JsonObject,
  listOf,
  objectOf,
  textOf,
  wordList,
} from '../../json.ts'
import { readDataUrl } from '../../media.ts'
import { badRequest, type OpenaiError } from '../errors.ts'
import {
  checkValue,
  invalidValue,
  type Kind,
  missingParameter,
  unknownParameter,
} from '../field-rules.ts'
import type { OpenaiModel } from '../models.ts'
import { notInSandbox } from './request.ts'

type ItemRule = {
  required: readonly string[]
  optional: readonly string[]
  /** How an id of such an item begins. */
  prefix: string
}

const CALL_EXTRAS = ['id', 'status', 'namespace', 'async', 'caller']
const ITEMS: Readonly<Record<string, ItemRule>> = {
  message: { required: ['role', 'content'], optional: ['id', 'status', 'phase'], prefix: 'msg' },
  function_call: {
    required: ['call_id', 'name', 'arguments'],
    optional: CALL_EXTRAS,
    prefix: 'fc',
  },
  function_call_output: {
    required: ['call_id', 'output'],
    optional: ['id', 'status', 'caller', 'name', 'namespace'],
    prefix: 'fc',
  },
  custom_tool_call: {
    required: ['call_id', 'name', 'input'],
    optional: CALL_EXTRAS,
    prefix: 'ctc',
  },
  custom_tool_call_output: {
    required: ['call_id', 'output'],
    optional: ['id', 'status', 'caller'],
    prefix: 'ctc',
  },
  reasoning: {
    required: ['summary'],
    optional: ['id', 'content', 'encrypted_content', 'status'],
    prefix: 'rs',
  },
  item_reference: { required: ['id'], optional: [], prefix: '' },
  additional_tools: { required: ['role', 'tools'], optional: ['id'], prefix: '' },
}
const HOSTED = wordList(`
  apply_patch_call apply_patch_call_output code_interpreter_call compaction
  compaction_trigger computer_call computer_call_output configuration_update
  file_search_call image_generation_call local_shell_call local_shell_call_output
  mcp_approval_request mcp_approval_response mcp_call mcp_list_tools program
  program_output shell_call shell_call_output tool_search_call tool_search_output
  web_search_call
`)
const KINDS: Readonly<Record<string, Kind>> = {
  id: 'a string',
  call_id: 'a string',
  name: 'a string',
  arguments: 'a string',
  input: 'a string',
  namespace: 'a string',
  encrypted_content: 'a string',
  summary: 'an array',
  tools: 'an array',
}
const ROLES = ['assistant', 'system', 'developer', 'user']
const STATUSES = ['in_progress', 'completed', 'incomplete']
const INPUT_PARTS = ['input_text', 'input_image', 'input_file']
const OUTPUT_PARTS = ['output_text', 'refusal']
const PARTS: Readonly<Record<string, { required: string; optional: readonly string[] }>> = {
  input_text: { required: 'text', optional: ['prompt_cache_breakpoint'] },
  input_image: {
    required: '',
    optional: ['image_url', 'file_id', 'detail', 'prompt_cache_breakpoint'],
  },
  input_file: {
    required: '',
    optional: ['file_data', 'file_url', 'file_id', 'filename', 'detail', 'prompt_cache_breakpoint'],
  },
  output_text: { required: 'text', optional: ['annotations', 'logprobs'] },
  refusal: { required: 'refusal', optional: [] },
}

/** The items of a request; a text is one message of the user. */
export function readItems(input: unknown): readonly JsonObject[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }]
  // A message may leave its type out.
  return listOf(input).map((item) => ({ type: 'message', ...objectOf(item) }))
}

export function checkItems(input: unknown, model: OpenaiModel): OpenaiError | undefined {
  const wrong = listOf(input).findIndex((item) => !isObject(item))
  if (wrong !== -1) {
    const param = `input[${wrong}]`
    return checkValue(param, listOf(input)[wrong] ?? '', { kind: 'an object' })
  }
  for (const [index, item] of readItems(input).entries()) {
    const error = checkItem(item, `input[${index}]`, model)
    if (error !== undefined) return error
  }
  return undefined
}

function checkItem(item: JsonObject, path: string, model: OpenaiModel): OpenaiError | undefined {
  const type = textOf(item['type'])
  if (HOSTED.includes(type)) return notInSandbox(`items of type '${type}'`, path)
  const rule = Object.hasOwn(ITEMS, type) ? ITEMS[type] : undefined
  if (rule === undefined) return invalidValue(type, [...Object.keys(ITEMS), ...HOSTED], path)
  const missing = rule.required.find((name) => isAbsent(item[name]))
  if (missing !== undefined) return missingParameter(`${path}.${missing}`)
  return (
    checkNames(item, ['type', ...rule.required, ...rule.optional], path) ??
    checkKinds(item, path) ??
    checkId(item['id'], rule.prefix, `${path}.id`) ??
    checkValue(`${path}.status`, item['status'], { kind: 'a string', choices: STATUSES }) ??
    checkContents(item, path, model)
  )
}

function checkNames(
  object: JsonObject,
  known: readonly string[],
  path: string,
): OpenaiError | undefined {
  const extra = Object.keys(object).find((name) => !known.includes(name))
  return extra === undefined ? undefined : unknownParameter(`${path}.${extra}`)
}

function checkKinds(item: JsonObject, path: string): OpenaiError | undefined {
  return Object.entries(KINDS)
    .map(([name, kind]) => checkValue(`${path}.${name}`, item[name], { kind }))
    .find((error) => error !== undefined)
}

function checkId(id: unknown, prefix: string, param: string): OpenaiError | undefined {
  if (isAbsent(id) || textOf(id).startsWith(prefix)) return undefined
  const message = `Invalid '${param}': '${textOf(id)}'. Expected an ID that begins with '${prefix}'.`
  return badRequest(message, param, 'invalid_value')
}

function checkContents(
  item: JsonObject,
  path: string,
  model: OpenaiModel,
): OpenaiError | undefined {
  if (item['type'] === 'message') {
    const role = textOf(item['role'])
    if (!ROLES.includes(role)) return invalidValue(role, ROLES, path)
    const allowed = role === 'assistant' ? OUTPUT_PARTS : INPUT_PARTS
    return checkParts(item['content'], { path: `${path}.content`, allowed, model })
  }
  if (item['type'] === 'function_call_output' || item['type'] === 'custom_tool_call_output') {
    return checkParts(item['output'], { path: `${path}.output`, allowed: INPUT_PARTS, model })
  }
  if (item['type'] !== 'additional_tools' || item['role'] === 'developer') return undefined
  return invalidValue(textOf(item['role']), ['developer'], `${path}.role`)
}

type Place = { path: string; allowed: readonly string[]; model: OpenaiModel }

function checkParts(content: unknown, { path, allowed, model }: Place): OpenaiError | undefined {
  if (typeof content === 'string') return undefined
  if (!Array.isArray(content)) {
    const message = `Invalid type for '${path}': expected one of an array of objects or string, but got something else instead.`
    return badRequest(message, path, 'invalid_type')
  }
  for (const [index, part] of listOf(content).entries()) {
    const place = { path: `${path}[${index}]`, allowed, model }
    const error = checkPart(objectOf(part), place)
    if (error !== undefined) return error
  }
  return undefined
}

function checkPart(part: JsonObject, { path, allowed, model }: Place): OpenaiError | undefined {
  const type = textOf(part['type'])
  const rule = PARTS[type]
  if (rule === undefined || !allowed.includes(type)) return invalidValue(type, allowed, path)
  const { required, optional } = rule
  if (required !== '' && isAbsent(part[required])) return missingParameter(`${path}.${required}`)
  const error =
    checkNames(part, ['type', required, ...optional], path) ??
    checkValue(`${path}.${required}`, part[required], { kind: 'a string' })
  if (error !== undefined) return error
  if (!isAbsent(part['file_id'])) return notInSandbox('uploaded files', `${path}.file_id`)
  if (type === 'input_image') return checkImage(part, path, model)
  return type === 'input_file' ? checkFile(part, path) : undefined
}

/** The address is a plain text; chat completions have it in an object. */
function checkImage(part: JsonObject, path: string, model: OpenaiModel): OpenaiError | undefined {
  if (!model.sees_images) {
    const message = 'Invalid content type. image_url is only supported by certain models.'
    return badRequest(message, path, null)
  }
  const param = `${path}.image_url`
  const url = part['image_url']
  if (isAbsent(url)) return missingParameter(param)
  if (typeof url !== 'string') {
    const message = `Invalid type for '${param}': expected an image URL, but got an object instead.`
    return badRequest(message, param, 'invalid_type')
  }
  if (/^https?:\/\//.test(url) || readDataUrl(url)?.type.startsWith('image/') === true) {
    const choices = ['low', 'high', 'auto', 'original']
    return checkValue(`${path}.detail`, part['detail'], { kind: 'a string', choices })
  }
  const message = `Invalid '${param}'. Expected a valid URL, but got a value with an invalid format.`
  return badRequest(message, param, 'invalid_value')
}

function checkFile(part: JsonObject, path: string): OpenaiError | undefined {
  const { file_data, file_url } = part
  if (!isAbsent(file_url)) return notInSandbox('files by address', `${path}.file_url`)
  if (isAbsent(file_data)) return missingParameter(`${path}.file_data`)
  if (readDataUrl(textOf(file_data)) !== undefined) return undefined
  const message = `Invalid '${path}.file_data'. Expected a base64-encoded data URL with a MIME type.`
  return badRequest(message, `${path}.file_data`, 'invalid_value')
}
