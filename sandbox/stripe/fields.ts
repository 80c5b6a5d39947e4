// Checks parameters against what an endpoint takes. Stripe does this before its idempotency layer:
// a refused parameter is never remembered under the key.

import { isObject, type JsonObject, listOf } from '../json.ts'
import { badRequest, type StripeError } from './errors.ts'

const MAX_TEXT = 5_000
const MAX_METADATA = 50
const MAX_METADATA_NAME = 40
const MAX_METADATA_VALUE = 500

export type Field = { required?: boolean } & (
  | { type: 'text'; max?: number; choices?: readonly string[]; clearable?: boolean }
  | { type: 'whole'; min?: number; max?: number }
  | { type: 'flag' | 'url' | 'currency' }
  | { type: 'metadata' }
  | { type: 'moment' }
  | { type: 'anything' }
  | { type: 'object'; fields: Fields }
  | { type: 'list'; item: Field; max?: number }
)
export type Fields = Readonly<Record<string, Field>>

export const EXPAND: Fields = { expand: { type: 'list', item: { type: 'text' } } }
export const LIST: Fields = {
  ...EXPAND,
  limit: { type: 'whole', min: 1, max: 100 },
  starting_after: { type: 'text' },
  ending_before: { type: 'text' },
}
const RANGE: Fields = {
  gt: { type: 'whole' },
  gte: { type: 'whole' },
  lt: { type: 'whole' },
  lte: { type: 'whole' },
}

/** Parameters that Stripe takes and the stand-in does not look at. */
export function accepted(names: string): Fields {
  return Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, { type: 'anything' } as const]),
  )
}

export function checkFields(params: JsonObject, fields: Fields, parent = ''): void {
  for (const name of Object.keys(params)) {
    if (fields[name] === undefined) throw unknownParam(join(parent, name))
  }
  for (const [name, field] of Object.entries(fields)) {
    const value = params[name]
    if (value !== undefined) checkField(value, field, join(parent, name))
    else if (field.required === true) throw missingField(join(parent, name))
  }
}

function checkField(value: unknown, field: Field, path: string): void {
  if (field.type === 'anything') return
  if (field.type === 'object') {
    if (!isObject(value)) throw invalid(`Invalid object`, path)
    checkFields(value, field.fields, path)
  } else if (field.type === 'list') checkList(value, field, path)
  else if (field.type === 'metadata') checkMetadata(value, path)
  else if (field.type === 'moment') checkMoment(value, path)
  else checkText(value, field, path)
}

type ListField = Extract<Field, { type: 'list' }>
type TextField = Extract<Field, { type: 'text' | 'whole' }> | { type: 'flag' | 'url' | 'currency' }

function checkList(value: unknown, field: ListField, path: string): void {
  if (!Array.isArray(value)) throw invalid('Invalid array', path)
  if (value.length > (field.max ?? 100)) throw invalid('Array has too many items', path)
  for (const [at, item] of listOf(value).entries()) checkField(item, field.item, `${path}[${at}]`)
}

function checkText(value: unknown, field: TextField, path: string): void {
  if (typeof value !== 'string') throw invalid('Invalid string', path)
  const may_be_empty = field.type === 'text' && field.clearable === true
  if (value === '') {
    if (may_be_empty) return
    throw emptyField(path)
  }
  switch (field.type) {
    case 'whole':
      return checkWhole(value, field, path)
    case 'flag':
      if (value !== 'true' && value !== 'false') throw invalid(`Invalid boolean: ${value}`, path)
      return
    case 'url':
      if (!isWebAddress(value)) {
        throw badRequest('Not a valid URL', { code: 'url_invalid', param: path })
      }
      return
    case 'currency':
      if (!/^[a-z]{3}$/i.test(value)) throw invalid(`Invalid currency: ${value}`, path)
      return
    case 'text':
      return checkChoice(value, field, path)
  }
}

type WholeField = Extract<Field, { type: 'whole' }>

function checkWhole(value: string, field: WholeField, path: string): void {
  const number = Number(value)
  const code = 'parameter_invalid_integer'
  if (!/^-?\d+$/.test(value) || !Number.isSafeInteger(number)) {
    throw badRequest(`Invalid integer: ${value}`, { code, param: path })
  }
  if (field.min !== undefined && number < field.min) {
    throw badRequest(`This value must be greater than or equal to ${field.min}.`, {
      code,
      param: path,
    })
  }
  if (field.max !== undefined && number > field.max) {
    throw badRequest(`This value must be less than or equal to ${field.max}.`, {
      code,
      param: path,
    })
  }
}

type ChoiceField = Extract<Field, { type: 'text' }>

function checkChoice(value: string, field: ChoiceField, path: string): void {
  const max = field.max ?? MAX_TEXT
  if (value.length > max) {
    throw badRequest(`Invalid string: must be at most ${max} characters`, {
      code: 'parameter_invalid_string_too_long',
      param: path,
    })
  }
  if (field.choices === undefined || field.choices.includes(value)) return
  throw invalid(`Invalid ${path}: must be one of ${field.choices.join(', ')}`, path)
}

function checkMetadata(value: unknown, path: string): void {
  if (value === '') return
  if (!isObject(value)) throw invalid('Invalid metadata', path)
  const entries = Object.entries(value)
  if (entries.length > MAX_METADATA) {
    throw invalid(`You can have at most ${MAX_METADATA} metadata keys`, path)
  }
  for (const [name, text] of entries) {
    if (name.length > MAX_METADATA_NAME) {
      throw invalid(`Metadata keys must be at most ${MAX_METADATA_NAME} characters: ${name}`, path)
    }
    if (typeof text !== 'string' || text.length > MAX_METADATA_VALUE) {
      const limit = `Metadata values must be at most ${MAX_METADATA_VALUE} characters`
      throw invalid(limit, `${path}[${name}]`)
    }
  }
}

/** A moment, or a range of moments. */
function checkMoment(value: unknown, path: string): void {
  if (isObject(value)) checkFields(value, RANGE, path)
  else checkText(value, { type: 'whole' }, path)
}

function isWebAddress(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && (url.protocol === 'http:' || url.protocol === 'https:')
}

function join(parent: string, name: string): string {
  return parent === '' ? name : `${parent}[${name}]`
}

function unknownParam(param: string): StripeError {
  return badRequest(`Received unknown parameter: ${param}`, { code: 'parameter_unknown', param })
}

export function missingField(param: string): StripeError {
  return badRequest(`Missing required param: ${param}.`, { code: 'parameter_missing', param })
}

function emptyField(param: string): StripeError {
  const text = `You passed an empty string for '${param}'. We assume empty values are an attempt to unset a parameter; however '${param}' cannot be unset. You should remove '${param}' from your request or supply a non-empty value.`
  return badRequest(text, { code: 'parameter_invalid_empty', param })
}

function invalid(message: string, param: string): StripeError {
  return badRequest(message, { param })
}
