// Types, choices and ranges of single fields, in OpenAI's words for what is wrong with them.

import { isAbsent, isObject, textOf } from '../json.ts'
import { badRequest, type OpenaiError } from './errors.ts'

export type Kind =
  | 'a string'
  | 'an integer'
  | 'a decimal'
  | 'a boolean'
  | 'an array'
  | 'an object'
  | 'any'

export type FieldRule = {
  kind: Kind
  choices?: readonly string[] | undefined
  range?: readonly [least: number, most: number] | undefined
}

/** An absent value and null pass: what is required is checked elsewhere. */
export function checkValue(
  name: string,
  value: unknown,
  { kind, choices, range }: FieldRule,
): OpenaiError | undefined {
  if (isAbsent(value)) return undefined
  if (!fits(kind, value)) {
    const message = `Invalid type for '${name}': expected ${kind}, but got ${describe(value)} instead.`
    return badRequest(message, name, 'invalid_type')
  }
  if (choices !== undefined && !choices.includes(textOf(value))) {
    return invalidValue(textOf(value), choices, name)
  }
  if (range === undefined) return undefined
  return checkRange(name, Number(value), { kind, range })
}

export function invalidValue(value: string, allowed: readonly string[], param: string) {
  const message = `Invalid value: '${value}'. Supported values are: ${quoteAll(allowed)}.`
  return badRequest(message, param, 'invalid_value')
}

export function missingParameter(param: string): OpenaiError {
  const message = `Missing required parameter: '${param}'.`
  return badRequest(message, param, 'missing_required_parameter')
}

export function unknownParameter(param: string): OpenaiError {
  return badRequest(`Unknown parameter: '${param}'.`, param, 'unknown_parameter')
}

export function quoteAll(values: readonly string[]): string {
  const quoted = values.map((value) => `'${value}'`)
  if (quoted.length < 3) return quoted.join(' and ')
  return `${quoted.slice(0, -1).join(', ')}, and ${quoted.at(-1)}`
}

function checkRange(
  name: string,
  value: number,
  { kind, range: [least, most] }: { kind: Kind; range: readonly [number, number] },
): OpenaiError | undefined {
  if (value >= least && value <= most) return undefined
  const number = kind === 'an integer' ? 'integer' : 'decimal'
  const low = value < least
  const [side, sign, limit] = low ? ['below minimum', '>=', least] : ['above maximum', '<=', most]
  const message = `Invalid '${name}': ${number} ${side} value. Expected a value ${sign} ${limit}, but got ${value} instead.`
  return badRequest(message, name, `${number}_${low ? 'below_min' : 'above_max'}_value`)
}

function fits(kind: Kind, value: unknown): boolean {
  switch (kind) {
    case 'a string':
      return typeof value === 'string'
    case 'an integer':
      return Number.isInteger(value)
    case 'a decimal':
      return typeof value === 'number'
    case 'a boolean':
      return typeof value === 'boolean'
    case 'an array':
      return Array.isArray(value)
    case 'an object':
      return isObject(value)
    case 'any':
      return true
  }
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal'
  return isObject(value) ? 'an object' : `a ${typeof value}`
}
