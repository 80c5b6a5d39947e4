// The `anthropic-beta` header, and the request fields that exist only under it.

import { type Call, readHeader } from '../call.ts'
import { isAbsent, isObject, type JsonObject, objectOf } from '../json.ts'
import { type AnthropicError, extra, invalid } from './errors.ts'

export type Betas = readonly string[]

// A beta's name ends in its date. New ones appear all the time, so any such name is taken for one.
const BETA = /^[a-z0-9-]+-(\d{4}-\d{2}-\d{2}|\d{8})$/
const FIELDS: Readonly<Record<string, Betas>> = {
  output_format: ['structured-outputs-2025-11-13'],
  context_management: ['context-management-2025-06-27', 'compact-2026-01-12'],
  compaction: ['compact-2026-09-04'],
  mcp_servers: ['mcp-client-2025-04-04', 'mcp-client-2025-11-20', 'mcp-client-2026-09-15'],
  fallbacks: ['server-side-fallback-2026-06-01', 'server-side-fallback-2026-07-01'],
  fallback_credit_token: ['fallback-credit-2026-06-01', 'fallback-credit-2026-07-01'],
  thread: ['message-threads-2026-08-12'],
}

export function readBetas(call: Call): Betas {
  return readHeader(call, 'anthropic-beta')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
}

export function checkBetas(betas: Betas): AnthropicError | undefined {
  const unknown = betas.find((name) => !BETA.test(name))
  if (unknown === undefined) return undefined
  return invalid(
    `Unexpected value(s) \`${unknown}\` for the \`anthropic-beta\` header. Please consult our documentation at platform.claude.com/docs or try again without the header.`,
  )
}

/** The fields that the header adds to those everybody has. */
export function betaFields(betas: Betas): readonly string[] {
  return Object.keys(FIELDS).filter((field) => FIELDS[field]?.some((beta) => betas.includes(beta)))
}

export function checkBetaFields(body: JsonObject): AnthropicError | undefined {
  return checkThread(body['thread']) ?? checkContextManagement(body['context_management'])
}

/**
 * Threads exist, but not for every organisation, and not for the one of this stand-in: nothing here
 * holds a conversation. The SDKs know the code and send the whole conversation instead.
 */
function checkThread(thread: unknown): AnthropicError | undefined {
  if (isAbsent(thread)) return undefined
  const error = invalid('thread: Threads are not supported for this organization.')
  return { ...error, details: { error_code: 'thread_unsupported_request', unsupported: null } }
}

function checkContextManagement(value: unknown): AnthropicError | undefined {
  if (isAbsent(value)) return undefined
  if (!isObject(value)) return invalid('context_management: Input should be an object')
  const unknown = Object.keys(objectOf(value)).find((name) => name !== 'edits')
  return unknown === undefined ? undefined : extra(`context_management.${unknown}`)
}
