// The versions of the API, by the `anthropic-version` header, and what the newest no longer takes. The
// documentation lists more changes than these; what is not known here is served as before.

import { type Call, readHeader } from '../call.ts'
import { isAbsent, type JsonObject, listOf, objectOf } from '../json.ts'
import { type AnthropicError, extra, invalid } from './errors.ts'
import { blocksOf } from './messages.ts'

const NEWEST = '2026-10-21'
const VERSIONS = ['2023-01-01', '2023-06-01', NEWEST]
const REMOVED = ['temperature', 'top_p', 'top_k']

export function readVersion(call: Call): string {
  return readHeader(call, 'anthropic-version')
}

export function checkVersion(version: string): AnthropicError | undefined {
  if (version === '') return invalid('anthropic-version: header is required')
  if (VERSIONS.includes(version)) return undefined
  return invalid(`anthropic-version: "${version}" is not a valid version`)
}

export function checkVersionFields(body: JsonObject, version: string): AnthropicError | undefined {
  if (version !== NEWEST) return undefined
  const removed = REMOVED.find((name) => !isAbsent(body[name]))
  if (removed !== undefined) return extra(removed)
  const errors = listOf(body['messages']).map((value, at) => checkMessage(objectOf(value), at))
  return errors.find((error) => error !== undefined)
}

/** That these are refused is documented, the wording is not. */
function checkMessage(message: JsonObject, at: number): AnthropicError | undefined {
  const blocks = blocksOf(message['content'])
  const path = `messages.${at}.content`
  if (message['role'] === 'assistant') {
    const wrong = blocks.findIndex((block) => block['type'] === 'document')
    if (wrong === -1) return undefined
    return invalid(`${path}.${wrong}: \`document\` blocks can only be in \`user\` messages`)
  }
  const cited = blocks.findIndex((block) => {
    return block['type'] === 'text' && listOf(block['citations']).length > 0
  })
  return cited === -1 ? undefined : extra(`${path}.${cited}.text.citations`)
}
