// A chat call in our own words: what any client dialect can ask for and any upstream can answer. Dialects
// translate between this and what clients speak, upstreams between this and what providers speak.

import type { ResponsesTerms } from './responses/terms.ts'

export type ClientDialect = 'openai' | 'anthropic' | 'responses'

export type ChatRequest = {
  /** Public name, as the client sent it. */
  model: string
  /** Instructions before the conversation, in order. Later ones stand in it, as parts of a user turn. */
  system: TextPart[]
  /** Never empty. Turns of one role in a row are allowed; upstreams merge them where they must. */
  messages: ChatMessage[]
  tools: ToolDefinition[]
  tool_choice: ToolChoice | undefined
  parallel_tool_calls: boolean | undefined
  max_output_tokens: number | undefined
  temperature: number | undefined
  top_p: number | undefined
  top_k: number | undefined
  seed: number | undefined
  frequency_penalty: number | undefined
  presence_penalty: number | undefined
  stop: string[]
  reasoning: Reasoning | undefined
  verbosity: 'low' | 'medium' | 'high' | undefined
  response_format: ResponseFormat | undefined
  /** How many answers; above 1 on OpenAI models only. */
  n: number
  stream: boolean
  /** Whether the client asked for usage inside an OpenAI-style stream. */
  include_usage: boolean
  /** Anthropic's betas, by name, as its clients ask for them in a header. */
  betas?: readonly string[]
  /** What the client asked for and its format leaves out, by name; for the fields of a body there are tables. */
  ignored?: readonly string[]
  /** Set where the client's format has more than one way to write an answer. */
  style?: ReplyStyle
  /** The client's own body: an upstream of the same dialect starts from it, so nothing is lost on the way. */
  original: { dialect: ClientDialect; body: Readonly<Record<string, unknown>> }
}

export type ReplyStyle = {
  /** OpenAI's old form: one `function_call` in place of tool calls. */
  function_call: boolean
  /** The names of tools that take free text. Their calls travel as JSON with one member, `input`. */
  free_text_tools: readonly string[]
  hides_thinking: boolean
  /** For OpenAI's Responses API. */
  responses?: ResponsesTerms
}

export type ChatMessage =
  | { role: 'user'; content: UserPart[] }
  | { role: 'assistant'; content: AssistantPart[] }

export type CacheHint = { ttl: '5m' | '1h' }

export type TextPart = { kind: 'text'; text: string; cache?: CacheHint }

/** Bytes in base64, or an address that only the provider fetches: never we. */
export type MediaSource =
  | { kind: 'data'; media_type: string; data: string }
  | { kind: 'url'; url: string }

export type UserPart =
  /** `instruction`: the operator's, not the user's. Its place says from when on it holds, so it must not move. */
  | (TextPart & { instruction?: true })
  | { kind: 'image'; source: MediaSource; detail?: 'auto' | 'low' | 'high'; cache?: CacheHint }
  | { kind: 'file'; source: MediaSource; name?: string; cache?: CacheHint }
  | { kind: 'audio'; source: MediaSource }
  | {
      kind: 'tool_result'
      call_id: string
      content: (TextPart | Extract<UserPart, { kind: 'image' | 'file' }>)[]
      is_error?: boolean
      cache?: CacheHint
    }

export type AssistantPart =
  /**
   * A signed text that is empty proves the text beside it. `phase`: whether it is the answer or a word on the way to it,
   * as OpenAI's models say and want to hear again.
   */
  | (TextPart & { signature?: string; phase?: string })
  | { kind: 'refusal'; text: string }
  /** `signature` proves the block to the provider that made it; it must come back unchanged. */
  | { kind: 'thinking'; text: string; signature: string }
  | { kind: 'redacted_thinking'; data: string }
  | {
      kind: 'tool_call'
      id: string
      name: string
      input: unknown
      signature?: string
      cache?: CacheHint
    }

export type ToolDefinition = {
  name: string
  description: string | undefined
  /** JSON schema of the arguments: always of type object. */
  parameters: Readonly<Record<string, unknown>>
  strict?: boolean
  /** The client offered a tool that takes text; `parameters` say so as a schema, with one member, `input`. */
  free_text?: true
  /** Such a tool as the client described it, for models that know them: `format` is in the words of the Responses API. */
  custom?: { description?: string; format?: Readonly<Record<string, unknown>> }
  cache?: CacheHint
  /** The type of one of Anthropic's own tools that the client runs: only Claude knows how to call it. */
  client_tool?: string
  /** What the provider itself says about such a tool, in tokens. */
  prompt_tokens?: number
}

export type ToolChoice =
  | { kind: 'auto' }
  | { kind: 'none' }
  | { kind: 'required' }
  | { kind: 'tool'; name: string }

export type ReasoningEffort = 'none' | 'minimal' | 'low' | 'medium' | 'high'

export type Reasoning =
  | { kind: 'effort'; effort: ReasoningEffort }
  | { kind: 'budget'; tokens: number }

export type ResponseFormat =
  | { kind: 'text' }
  | { kind: 'json_object' }
  | {
      kind: 'json_schema'
      name: string
      description?: string
      schema: Readonly<Record<string, unknown>>
      strict?: boolean
    }

/**
 * Disjoint counts; their sum is the provider's total. `output_tokens` includes `reasoning_tokens`, which only
 * says how much of it was thought.
 */
export type Usage = {
  input_tokens: number
  cache_read_tokens: number
  cache_write_5m_tokens: number
  cache_write_1h_tokens: number
  output_tokens: number
  reasoning_tokens: number
  /** Of `input_tokens`: sound, where a provider counts it apart. */
  audio_input_tokens?: number
}

export type StopReason = 'end' | 'length' | 'stop_sequence' | 'tool_calls' | 'content_filter'

/** What an answer is made of, in the order in which it arrives. `choice` is 0 unless n > 1. */
export type ChatEvent =
  /** First, once: the provider's id of the answer. */
  | { kind: 'start'; id: string }
  | { kind: 'text'; choice: number; text: string }
  /** Proves the text before it, to the provider that made it. */
  | { kind: 'text_signature'; choice: number; signature: string }
  | { kind: 'refusal'; choice: number; text: string }
  | { kind: 'thinking'; text: string }
  /** Closes the thinking block before it. */
  | { kind: 'thinking_signature'; signature: string }
  | { kind: 'redacted_thinking'; data: string }
  /** Opens a tool call; `index` counts the calls of a choice from 0. */
  | {
      kind: 'tool_call'
      choice: number
      index: number
      id: string
      name: string
      signature?: string
    }
  | { kind: 'tool_arguments'; choice: number; index: number; fragment: string }
  /** `details`: why Claude declined, in Anthropic's own words, for clients of its format. */
  | {
      kind: 'stop'
      choice: number
      reason: StopReason
      stop_sequence: string | null
      details?: unknown
    }
  /** Totals so far: a later one replaces an earlier one. `raw` is what the provider reported. */
  | { kind: 'usage'; usage: Usage; raw: unknown }
