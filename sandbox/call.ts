// One request as a stand-in sees it, and what a stand-in is.

import type { IncomingHttpHeaders } from 'node:http'
import type { StoredResponses } from './openai/responses/store.ts'
import type { PromptCache } from './prompt-cache.ts'
import { makeLetters } from './random.ts'
import type { Outcome, Reply } from './reply.ts'
import { type Life, lifeOf, type Retirements } from './retirement.ts'

export const PROVIDERS = ['openai', 'anthropic', 'google', 'elevenlabs'] as const
export type Provider = (typeof PROVIDERS)[number]

export type Call = {
  /** Counts the requests of this process, so that equal requests still get different ids. */
  number: number
  provider: Provider
  method: string
  /** Without the provider's prefix: what the real provider would see. */
  path: string
  query: URLSearchParams
  headers: IncomingHttpHeaders
  body: Buffer
  cache: PromptCache
  retirements: Retirements
  /** What OpenAI keeps of its responses. */
  stored: StoredResponses
}

export type StandIn = {
  max_body_bytes: number
  /** The models that can be retired here. */
  model_ids: readonly string[]
  handle(call: Call): Outcome
  refuseTooLarge(call: Call): Reply
}

export function readHeader(call: Call, name: string): string {
  const value = call.headers[name]
  return typeof value === 'string' ? value.trim() : ''
}

export function readBearer(call: Call): string {
  return /^bearer\s+(.*)$/i.exec(readHeader(call, 'authorization'))?.[1]?.trim() ?? ''
}

/** Every credential is good except one that says it is not. */
export function isRefusedKey(key: string): boolean {
  return key.toLowerCase().includes('invalid')
}

/** Whether the provider still has a model. */
export function modelLife(call: Call, model: string): Life {
  return lifeOf(call.retirements, call.provider, model)
}

export function requestId(call: Call, length: number): string {
  return makeLetters(`request/${call.provider}/${call.number}`, length)
}
