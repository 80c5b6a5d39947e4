// What a response that failed says of it, read from the error envelope that every other fault is told in.

import { TOO_LONG } from '../../upstreams/error-mapping.ts'
import { type Fields, isObject } from '../body-fields.ts'

const UNKNOWN: Fields = { code: 'internal_error', message: 'Something went wrong on our side.' }

export type Fault = {
  /** For `error` in the response. */
  told: { code: string; message: string }
  /** For the record `error`, in our own words. */
  fields: Readonly<Record<string, unknown>>
}

/** `body`: the envelope in OpenAI's form. */
export function readFault(body: string): Fault {
  const envelope: unknown = JSON.parse(body)
  const error = isObject(envelope) && isObject(envelope['error']) ? envelope['error'] : UNKNOWN
  const { code, message, param = null, hint, docs_url, request_id } = error
  const told = { code: toTheirCode(String(code), hint), message: String(message) }
  return { told, fields: { code, message, param, hint, docs_url, request_id } }
}

/** Codex repeats a call that failed, and pays for each repeat, unless the code is one of a few that it knows. */
function toTheirCode(code: string, hint: unknown): string {
  if (code === 'content_filtered') return 'invalid_prompt'
  return code === TOO_LONG.code && hint === TOO_LONG.hint ? 'context_length_exceeded' : code
}
