// What replies of the Responses API are made with in tests.

import { FrozenClock } from '../../../platform/clock.ts'
import { mintSecretKey, parseSecretKeys } from '../../../platform/secret-box.ts'
import { TOO_LONG } from '../../upstreams/error-mapping.ts'
import type { StreamOptions, SvcNumbers } from '../dialect.ts'
import { ReasoningSeal } from './sealed-reasoning.ts'
import type { ClientTool, ResponsesTerms } from './terms.ts'

const key = mintSecretKey()

export const parts = {
  id_secret: Buffer.alloc(32, 7),
  reasoning: new ReasoningSeal(() => parseSecretKeys(key) ?? []),
  clock: new FrozenClock('2026-11-15T12:00:03Z'),
}

export const svc: SvcNumbers = {
  credits_used: 54_399n,
  balance_before: 9_007_199_254_740_991n,
  balance_after: 9_007_199_254_686_592n,
  billing_mode: 'user',
}

/** By their upstream names. */
export const TOOLS = new Map<string, ClientTool>([
  ['tools__look', { kind: 'function', name: 'look', namespace: 'tools' }],
  ['run', { kind: 'custom', name: 'run' }],
])

export const TERMS: ResponsesTerms = {
  echo: {},
  tools: TOOLS,
  shows_summary: true,
  includes_sealed_reasoning: false,
  sealed_for: 'anthropic/x',
  stores_items: false,
}

export const FAULT = '{"error":{"code":"provider_error","message":"The provider failed."}}'
export const TOO_LONG_BODY = JSON.stringify({ error: { ...TOO_LONG, message: 'Too long.' } })

export function optionsOf(responses: ResponsesTerms = TERMS): StreamOptions {
  return {
    call_id: 'call',
    model: 'claude-sonnet-4',
    created: new Date('2026-11-15T12:00:00.900Z'),
    include_usage: false,
    style: { function_call: false, free_text_tools: [], hides_thinking: false, responses },
  }
}
