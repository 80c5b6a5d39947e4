// The response object: what a whole reply is, and what the first and the last record of a stream hold.

import type { StopReason, Usage } from '../chat-types.ts'
import { presentNumbers, type SvcNumbers } from '../dialect.ts'
import { toSeconds } from '../openai/reply.ts'
import type { OutputItem } from './terms.ts'

const OUT_OF_CREDITS_HINT =
  'The credits covered no longer answer: add credits, or ask for less, and ask again.'

export type ResponseHead = {
  id: string
  model: string
  created: Date
  /** The fields that repeat the request. */
  echo: Readonly<Record<string, unknown>>
}

/** How far it has come. */
export type ResponseState =
  | { status: 'in_progress' }
  | { status: 'completed'; completed: Date; usage: Usage; svc: SvcNumbers }
  | { status: 'incomplete'; reason: IncompleteReason; usage: Usage; svc: ToldNumbers }
  | { status: 'failed'; error: { code: string; message: string } }

type IncompleteReason = 'max_output_tokens' | 'content_filter'
/** `out_of_credits`: what was held for the call ended the answer. */
type ToldNumbers = SvcNumbers & { out_of_credits: boolean }

/** Every field that OpenAI's clients are promised, in OpenAI's order, with what it is where nobody says otherwise. */
const EVERY_FIELD = {
  id: '',
  object: 'response',
  created_at: 0,
  completed_at: null,
  status: 'in_progress',
  background: false,
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  model: '',
  output: [],
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: { effort: null, summary: null },
  service_tier: 'default',
  store: true,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  usage: null,
  user: null,
}

export function presentResponse(
  { id, model, created, echo }: ResponseHead,
  output: readonly OutputItem[],
  state: ResponseState,
) {
  const { status } = state
  return {
    ...EVERY_FIELD,
    ...echo,
    id,
    model,
    output,
    status,
    created_at: toSeconds(created),
    ...(status === 'completed' && { completed_at: toSeconds(state.completed) }),
    ...(status === 'incomplete' && { incomplete_details: { reason: state.reason } }),
    ...(status === 'failed' && { error: state.error }),
    ...('usage' in state && { usage: presentUsage(state.usage) }),
    ...('svc' in state && { svc: presentSvc(state.svc) }),
  }
}

/** Of a response that somebody else wrote: what clients are promised, and nothing more. */
export function pickFields(response: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const fields = Object.entries(EVERY_FIELD)
  return Object.fromEntries(fields.map(([name, usual]) => [name, response[name] ?? usual]))
}

/** Undefined where the answer is complete. */
export function incompleteReason(reason: StopReason | undefined): IncompleteReason | undefined {
  if (reason === 'length') return 'max_output_tokens'
  return reason === 'content_filter' ? reason : undefined
}

function presentUsage(usage: Usage) {
  const cache_write_tokens = usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
  const input_tokens = usage.input_tokens + usage.cache_read_tokens + cache_write_tokens
  return {
    input_tokens,
    input_tokens_details: { cached_tokens: usage.cache_read_tokens, cache_write_tokens },
    output_tokens: usage.output_tokens,
    output_tokens_details: { reasoning_tokens: usage.reasoning_tokens },
    total_tokens: input_tokens + usage.output_tokens,
  }
}

export function presentSvc(svc: SvcNumbers | ToldNumbers) {
  const hints = 'out_of_credits' in svc && svc.out_of_credits
  return { ...presentNumbers(svc), ...(hints && { hint: OUT_OF_CREDITS_HINT }) }
}
