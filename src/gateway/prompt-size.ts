// How large a prompt is where no provider has counted it: `safe` before the call, since the hold made from it
// must cover the real count, `close` where a call ended without a count and is charged. Linear in the size of
// the request, and never more than the model can take, because beyond that the provider refuses the call.

import type { ChatModel } from '../catalog/models.ts'
import { citingTokens } from './citations.ts'
import type { ChatRequest } from './dialects/chat-types.ts'
import { isRelayed, relayedValues } from './relayed-prompt.ts'
import { estimateTokens, type Accuracy as TextAccuracy, type Vocabulary } from './token-count.ts'
import { type UpstreamName, upstreamOf } from './upstreams/registry.ts'

/** The parts of a neutral chat request that count as prompt. */
export type Prompt = {
  readonly system: readonly PromptPart[]
  readonly messages: readonly { readonly content: readonly PromptPart[] }[]
  readonly tools: readonly {
    readonly name: string
    readonly description: string | undefined
    readonly parameters: unknown
    readonly prompt_tokens?: number
  }[]
  readonly response_format?:
    | { readonly kind: 'text' | 'json_object' }
    | { readonly kind: 'json_schema'; readonly schema: unknown; readonly description?: string }
    | undefined
  readonly original?: ChatRequest['original']
}

type MediaSource =
  | { readonly kind: 'data'; readonly media_type: string; readonly data: string }
  | { readonly kind: 'url'; readonly url: string }

type PromptPart =
  | {
      readonly kind: 'text' | 'refusal' | 'thinking'
      readonly text: string
      readonly signature?: string
    }
  | { readonly kind: 'redacted_thinking'; readonly data: string }
  | {
      readonly kind: 'image'
      readonly source: MediaSource
      readonly detail?: 'auto' | 'low' | 'high'
    }
  | { readonly kind: 'file'; readonly source: MediaSource; readonly name?: string }
  | { readonly kind: 'audio'; readonly source: MediaSource }
  | {
      readonly kind: 'tool_call'
      readonly name: string
      readonly input: unknown
      readonly signature?: string
    }
  | { readonly kind: 'tool_result'; readonly content: readonly PromptPart[] }

type Provider = ChatModel['provider']

type Accuracy = Exclude<TextAccuracy, 'cautious'>

type Ruler = {
  readonly model: ChatModel
  readonly accuracy: Accuracy
  readonly vocabulary: Vocabulary
  /** What is relayed, where it is counted as it came; the rest is counted in our own form. */
  readonly relayed: readonly unknown[] | undefined
}

/** Other tokenizers against those of OpenAI, which the counts are fitted to. */
const PERCENT_OF_O200K: Record<Accuracy, Record<Provider, number>> = {
  safe: { openai: 100, anthropic: 125, google: 110 },
  close: { openai: 100, anthropic: 115, google: 110 },
}
/** OpenAI's models before gpt-4o. */
const OLDER_OPENAI = /^gpt-(3\.5|4(-|$))/

const TOKENS_PER_CALL = { safe: 16, close: 3 }
const TOKENS_PER_PART = { safe: 8, close: 2 }
const TOKENS_PER_TOOL = { safe: 16, close: 8 }
/** The instructions that come with the first tool; a schema for the answer may be sent as one. */
const TOOL_PREAMBLE_TOKENS: Record<Provider, number> = { openai: 32, anthropic: 550, google: 32 }
const IMAGE_TOKENS = { low: 1_600, high: 1_600 }
/** Of the most that a picture counts for; Google's are cut into tiles, seldom into as many as can be. */
const IMAGE_PERCENT: Record<Accuracy, Record<Provider, number>> = {
  safe: { openai: 100, anthropic: 100, google: 100 },
  close: { openai: 100, anthropic: 100, google: 50 },
}
/** Pages a provider takes, times what it counts for one: its text and its picture. */
const FILE_TOKENS_MAX: Record<Provider, number> = {
  openai: 100 * 3_000,
  anthropic: 100 * 4_600,
  google: 1_000 * 258,
}
const FILE_BYTES_PER_TOKEN = { safe: 1, close: 20 }
const FILE_TOKENS_TYPICAL = 10 * 2_000
/** 32 tokens a second, at the lowest bit rate that speech is sent with. */
const AUDIO_BYTES_PER_TOKEN = 24
/**
 * Tokens of a hundred characters of base64 that prove a thought to the provider that made it: Google counts them as
 * text, Anthropic and OpenAI count the thought inside, and chat completions are sent none.
 */
const SIGNATURE_PERCENT: Record<Accuracy, Record<UpstreamName, number>> = {
  safe: { openai: 0, 'openai-responses': 50, anthropic: 50, google: 100 },
  close: { openai: 0, 'openai-responses': 20, anthropic: 20, google: 65 },
}
const REDACTED_PERCENT = { safe: 50, close: 33 }
/** A character that a client has written as \uXXXX is four tokens. */
const TOKENS_PER_ESCAPED_BYTE = 2

/** `safe`: an upper estimate, for the hold. `close`: for charging. */
export function promptTokens(
  prompt: Prompt,
  model: ChatModel,
  accuracy: Accuracy = 'safe',
): number {
  const parts = [...prompt.system, ...prompt.messages.flatMap((message) => message.content)]
  const { original } = prompt
  const counts_original = accuracy === 'safe' && isRelayed(original, model)
  const relayed = counts_original ? relayedValues(original) : undefined
  const ruler = { model, accuracy, vocabulary: vocabularyOf(model), relayed }
  const text_tokens =
    TOKENS_PER_CALL[accuracy] +
    TOKENS_PER_PART[accuracy] * prompt.messages.length +
    sum(parts, (part) => textTokens(part, ruler)) +
    toolTokens(prompt, ruler) +
    sum(relayed ?? [], (value) => jsonTokens(value, ruler))
  const tokens =
    percentOf(text_tokens, PERCENT_OF_O200K[accuracy][model.provider]) +
    sum(parts, (part) => mediaTokens(part, ruler)) +
    (model.provider === 'anthropic' ? citingTokens(original, accuracy) : 0)
  return Math.min(tokens, model.max_input_tokens ?? model.context_window)
}

/** A close estimate, for what a provider produced and never counted for us. Gather short pieces first. */
export function countTokens(text: string, model?: ChatModel): number {
  return model ? outputTokens(text, model, 'close') : estimateTokens(text, 'close')
}

/**
 * As close, but not as low where a text is such that no tokenizer can shorten it: for output that is covered by a
 * hold while it comes.
 */
export function countTokensCautiously(text: string, model: ChatModel): number {
  return Math.max(countTokens(text, model), outputTokens(text, model, 'cautious'))
}

function outputTokens(text: string, model: ChatModel, accuracy: 'close' | 'cautious'): number {
  const tokens = estimateTokens(text, accuracy, vocabularyOf(model))
  return percentOf(tokens, PERCENT_OF_O200K.close[model.provider])
}

function vocabularyOf({ provider, upstream_id }: ChatModel): Vocabulary {
  return provider === 'anthropic' || OLDER_OPENAI.test(upstream_id) ? 'small' : 'large'
}

function textTokens(part: PromptPart, ruler: Ruler): number {
  const { accuracy } = ruler
  const measure = (text: string) => estimateTokens(text, accuracy, ruler.vocabulary)
  switch (part.kind) {
    case 'text':
    case 'refusal':
    case 'thinking':
      return TOKENS_PER_PART[accuracy] + measure(part.text) + signatureTokens(part, ruler)
    case 'redacted_thinking':
      return TOKENS_PER_PART[accuracy] + percentOf(part.data.length, REDACTED_PERCENT[accuracy])
    case 'tool_call':
      return (
        TOKENS_PER_TOOL[accuracy] +
        measure(part.name) +
        inputTokens(part.input, ruler) +
        signatureTokens(part, ruler)
      )
    case 'tool_result':
      return TOKENS_PER_TOOL[accuracy] + sum(part.content, (inner) => textTokens(inner, ruler))
    case 'file':
      return TOKENS_PER_PART[accuracy] + measure(part.name ?? '')
    case 'image':
    case 'audio':
      return TOKENS_PER_PART[accuracy]
  }
}

/** OpenAI is sent the text of the arguments, and Claude the values. */
function inputTokens(input: unknown, ruler: Ruler): number {
  const escaped = ruler.model.provider === 'openai'
  return ruler.relayed && escaped ? 0 : jsonTokens(input, { ...ruler, escaped })
}

function signatureTokens(part: { readonly signature?: string }, ruler: Ruler): number {
  const percent = SIGNATURE_PERCENT[ruler.accuracy][upstreamOf(ruler.model)]
  return percentOf(part.signature?.length ?? 0, percent)
}

function mediaTokens(part: PromptPart, ruler: Ruler): number {
  switch (part.kind) {
    case 'image':
      return imageTokens(part.detail === 'low' ? 'low' : 'high', ruler)
    case 'file':
      return fileTokens(part.source, ruler)
    case 'audio':
      return part.source.kind === 'url'
        ? ruler.model.context_window
        : Math.ceil(decodedBytes(part.source.data) / AUDIO_BYTES_PER_TOKEN)
    case 'tool_result':
      return sum(part.content, (inner) => mediaTokens(inner, ruler))
    case 'text':
    case 'refusal':
    case 'thinking':
    case 'redacted_thinking':
    case 'tool_call':
      return 0
  }
}

function imageTokens(detail: 'low' | 'high', { model, accuracy }: Ruler): number {
  const most = (model.image_tokens ?? IMAGE_TOKENS)[detail]
  return percentOf(most, IMAGE_PERCENT[accuracy][model.provider])
}

// A dense page of compressed text is about as many bytes as its text and picture are tokens. The pages of a
// scan are larger by far and hit the limit, which is dear but safe: only the provider knows how many they are.
function fileTokens(source: MediaSource, { model, accuracy }: Ruler): number {
  const most = FILE_TOKENS_MAX[model.provider]
  if (source.kind === 'url') return accuracy === 'safe' ? most : FILE_TOKENS_TYPICAL
  return Math.min(Math.ceil(decodedBytes(source.data) / FILE_BYTES_PER_TOKEN[accuracy]), most)
}

function decodedBytes(base64: string): number {
  return Math.ceil((base64.length * 3) / 4)
}

function toolTokens(prompt: Prompt, ruler: Ruler): number {
  const { tools, response_format: format } = prompt
  const { model, accuracy } = ruler
  const per_tool = TOKENS_PER_TOOL[accuracy]
  const schema = format?.kind === 'json_schema' ? per_tool + schemaTokens(format, ruler) : 0
  const preamble = tools.length > 0 || schema > 0 ? TOOL_PREAMBLE_TOKENS[model.provider] : 0
  const described = sum(
    tools,
    (tool) =>
      per_tool + (tool.prompt_tokens ?? 0) + (ruler.relayed ? 0 : describedTokens(tool, ruler)),
  )
  return preamble + schema + described
}

function describedTokens(
  { name, description = '', parameters }: Prompt['tools'][number],
  ruler: Ruler,
): number {
  const { accuracy, vocabulary } = ruler
  return (
    estimateTokens(name, accuracy, vocabulary) +
    estimateTokens(description, accuracy, vocabulary) +
    jsonTokens(parameters, ruler)
  )
}

function schemaTokens(
  { schema, description = '' }: { schema: unknown; description?: string },
  ruler: Ruler,
): number {
  const { accuracy, vocabulary } = ruler
  return jsonTokens(schema, ruler) + estimateTokens(description, accuracy, vocabulary)
}

/** As text, without writing it: a loop, so that no depth of nesting exhausts the stack. */
function jsonTokens(
  value: unknown,
  { accuracy, vocabulary, escaped }: Ruler & { escaped?: boolean },
): number {
  const measure = (text: string) => {
    const escapes = escaped && accuracy === 'safe' ? Buffer.byteLength(text) - text.length : 0
    return estimateTokens(text, accuracy, vocabulary) + TOKENS_PER_ESCAPED_BYTE * escapes
  }
  const open: unknown[] = [value]
  let tokens = 0
  while (open.length > 0) {
    const next = open.pop()
    // Brackets, quotes and commas; a word such as true is one token.
    tokens += accuracy === 'safe' ? 2 : 1
    if (typeof next === 'string') tokens += measure(next)
    else if (typeof next === 'number') tokens += measure(String(next))
    else if (Array.isArray(next)) for (const item of next) open.push(item)
    else if (typeof next === 'object' && next !== null) {
      for (const [key, item] of Object.entries(next)) {
        tokens += (accuracy === 'safe' ? 2 : 1) + measure(key)
        open.push(item)
      }
    }
  }
  return tokens
}

function percentOf(tokens: number, percent: number): number {
  return Math.ceil((tokens * percent) / 100)
}

function sum<Item>(items: readonly Item[], measure: (item: Item) => number): number {
  let total = 0
  for (const item of items) total += measure(item)
  return total
}
