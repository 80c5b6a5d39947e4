// What each provider would be sent, for tests that look at it field by field.

import assert from 'node:assert/strict'
import type { ChatModel } from '../../catalog/models.ts'
import { ApiError } from '../../platform/errors.ts'
import type { ChatMessage, ChatRequest } from '../dialects/chat-types.ts'
import { draftAnthropic } from './anthropic/request.ts'
import type { ProviderProfile } from './contract.ts'
import { draftGoogle } from './google/request.ts'
import type { JsonRecord } from './json-values.ts'
import { draftOpenai } from './openai/request.ts'
import { draftResponses } from './openai-responses/request.ts'
import {
  type CallParts,
  MODELS,
  type RequestParts,
  type TestCall,
  testCall,
  testRequest,
} from './test-call.ts'
import { createToolNames } from './tool-names.ts'

export const names = () => createToolNames({ pattern: /^[A-Za-z_][A-Za-z0-9_-]*$/, max_length: 64 })
export const at = (parts: Partial<CallParts> = {}): CallParts => ({
  base_url: 'http://x',
  ...parts,
})

const bodyOf = (draft: ProviderProfile['draft'], call: TestCall) => draft(call, names()).body(call)
export const toOpenai = (request: RequestParts, model = MODELS.gpt4o, parts?: Partial<CallParts>) =>
  bodyOf(draftOpenai, testCall(model, testRequest({ dialect: 'anthropic', ...request }), at(parts)))
export const toResponses = (
  request: RequestParts,
  model: ChatModel = MODELS.sol,
  parts?: Partial<CallParts>,
) => bodyOf(draftResponses, testCall(model, testRequest(request), at(parts)))
export const toAnthropic = (
  request: RequestParts,
  model = MODELS.sonnet,
  parts?: Partial<CallParts>,
) => bodyOf(draftAnthropic, testCall(model, testRequest(request), at(parts)))
export const toGoogle = (request: RequestParts, model = MODELS.flash, parts?: Partial<CallParts>) =>
  bodyOf(draftGoogle, testCall(model, testRequest(request), at(parts)))

export function original(
  dialect: 'openai' | 'anthropic',
  body: JsonRecord,
): Pick<ChatRequest, 'original'> {
  const messages = [{ role: 'user', content: 'Hello' }]
  return { original: { dialect, body: { model: 'public', messages, ...body } } }
}

export function refuses(run: () => unknown, words: RegExp): void {
  assert.throws(run, (error) => {
    assert.ok(error instanceof ApiError)
    assert.equal(error.code, 'bad_request')
    assert.match(error.message, words)
    return true
  })
}

export const say = (text: string): ChatMessage => ({
  role: 'user',
  content: [{ kind: 'text', text }],
})
