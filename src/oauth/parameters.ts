// How parameters of OAuth requests are read: each at most once, empty is absent, nothing unbounded.

import type { FastifyRequest } from 'fastify'
import { ApiError } from '../platform/errors.ts'

const LENGTH_MAX: Record<string, number> = {
  state: 1024,
  redirect_uri: 2048,
}
const OTHER_LENGTH_MAX = 256
/** Held against a list of ours by whoever reads it: what is too long or odd is an unknown scope, no more. */
const LISTED = ['scope']

export type Parameters = {
  /** The value, or undefined where it is absent or empty. Refuses what comes twice or is too long. */
  read(name: string): string | undefined
  /** Refuses also what is absent. */
  require(name: string): string
}

/** `given` is a parsed query or form: text, or a list where a name came twice. */
export function readParameters(given: unknown): Parameters {
  const values = new Map(Object.entries(given ?? {}))
  const read = (name: string): string | undefined => {
    const value: unknown = values.get(name)
    if (value === undefined || value === '') return undefined
    if (typeof value !== 'string') throw refusal(`${name} must be sent once, as text.`)
    if (LISTED.includes(name)) return value
    const length_max = LENGTH_MAX[name] ?? OTHER_LENGTH_MAX
    if (value.length > length_max || value.includes('\u0000')) {
      throw refusal(`${name} has at most ${length_max} characters.`)
    }
    return value
  }
  const require = (name: string): string => {
    const value = read(name)
    if (value === undefined) throw refusal(`${name} is missing.`)
    return value
  }
  return { read, require }
}

/** Forms only: a JSON body would be read by nobody else's server. */
export function readForm(request: FastifyRequest): { parameters: Parameters } {
  if (!request.headers['content-type']?.startsWith('application/x-www-form-urlencoded')) {
    throw refusal(
      'The body must be form-encoded.',
      'Send Content-Type: application/x-www-form-urlencoded.',
    )
  }
  return { parameters: readParameters(request.body) }
}

export function refusal(message: string, hint?: string): ApiError {
  return new ApiError('invalid_request', { message, ...(hint !== undefined && { hint }) })
}
