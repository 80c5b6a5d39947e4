// What each OpenAI model can do, as far as it changes the wire. Models that OpenAI has shut down are
// still served here, unless a test retires them: the sandbox stands in for the whole catalogue.

export type OpenaiModel = {
  id: string
  /** The dated name that answers carry. */
  snapshot: string
  created: number
  /** Longest prompt, and longest prompt and answer together. */
  input_tokens: number
  context_tokens: number
  output_tokens: number
  /** Accepted reasoning efforts; a model without any does not reason. */
  efforts: readonly string[]
  sees_images: boolean
  json: 'none' | 'object' | 'schema'
  caches: boolean
  reports_cache_writes: boolean
  /** The effort of a request that names none. */
  default_effort: string
  /** Whether chat completions serve it; every model is served by the Responses API. */
  in_chat: boolean
  /**
   * When chat completions take function tools: always; unless an effort other than none was sent; or
   * only beside the effort none. The Responses API takes them always.
   */
  chat_functions: 'always' | 'unless_effort' | 'effort_none'
  /** Whether the messages of a response say which phase of the answer they are. */
  tells_phase: boolean
  /** Whether predicted outputs are taken. */
  predicts: boolean
  /** Tokens of an image: at low detail, and at any other. */
  image_tokens: readonly [low: number, high: number]
}

type Family = Omit<OpenaiModel, 'id' | 'snapshot' | 'created'>

const CHAT: Family = {
  input_tokens: 128_000,
  context_tokens: 128_000,
  output_tokens: 16_384,
  efforts: [],
  sees_images: true,
  json: 'schema',
  caches: true,
  reports_cache_writes: false,
  default_effort: 'medium',
  in_chat: true,
  chat_functions: 'always',
  tells_phase: false,
  predicts: false,
  image_tokens: [85, 765],
}
const REASONING: Family = {
  ...CHAT,
  input_tokens: 272_000,
  context_tokens: 400_000,
  output_tokens: 128_000,
  efforts: ['minimal', 'low', 'medium', 'high'],
}
const LATER: Family = {
  ...REASONING,
  // The window is published; that the rest of it is for the prompt follows from the output limit.
  input_tokens: 922_000,
  context_tokens: 1_050_000,
  efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
  reports_cache_writes: true,
  chat_functions: 'effort_none',
  tells_phase: true,
}
const EARLIER: Family = {
  ...LATER,
  efforts: ['none', 'low', 'medium', 'high', 'xhigh'],
  reports_cache_writes: false,
  chat_functions: 'unless_effort',
}
const OLD: Family = { ...CHAT, output_tokens: 4_096, caches: false }

export const OPENAI_MODELS: readonly OpenaiModel[] = [
  {
    ...CHAT,
    predicts: true,
    id: 'gpt-4o',
    snapshot: 'gpt-4o-2024-08-06',
    created: 1_715_367_049,
  },
  {
    ...CHAT,
    predicts: true,
    id: 'gpt-4o-mini',
    snapshot: 'gpt-4o-mini-2024-07-18',
    created: 1_721_172_741,
    image_tokens: [2_833, 25_501],
  },
  {
    ...OLD,
    id: 'gpt-4-turbo',
    snapshot: 'gpt-4-turbo-2024-04-09',
    created: 1_712_361_441,
    json: 'object',
  },
  {
    ...OLD,
    id: 'gpt-4',
    snapshot: 'gpt-4-0613',
    created: 1_687_882_411,
    input_tokens: 8_192,
    context_tokens: 8_192,
    sees_images: false,
    json: 'none',
  },
  {
    ...OLD,
    id: 'gpt-3.5-turbo',
    snapshot: 'gpt-3.5-turbo-0125',
    created: 1_677_610_602,
    input_tokens: 16_385,
    context_tokens: 16_385,
    sees_images: false,
    json: 'object',
  },
  { ...REASONING, id: 'gpt-5', snapshot: 'gpt-5-2025-08-07', created: 1_754_425_777 },
  { ...REASONING, id: 'gpt-5-mini', snapshot: 'gpt-5-mini-2025-08-07', created: 1_754_425_928 },
  {
    ...REASONING,
    id: 'gpt-5-codex',
    snapshot: 'gpt-5-codex',
    created: 1_757_527_818,
    efforts: ['low', 'medium', 'high'],
    in_chat: false,
  },
  {
    ...REASONING,
    id: 'gpt-5-pro',
    snapshot: 'gpt-5-pro-2025-10-06',
    created: 1_759_469_822,
    output_tokens: 272_000,
    efforts: ['high'],
    default_effort: 'high',
    in_chat: false,
  },
  {
    ...EARLIER,
    id: 'gpt-5.4',
    snapshot: 'gpt-5.4-2026-03-05',
    created: 1_772_000_000,
    default_effort: 'none',
  },
  { ...EARLIER, id: 'gpt-5.5', snapshot: 'gpt-5.5-2026-04-23', created: 1_776_000_000 },
  { ...LATER, id: 'gpt-5.6-sol', snapshot: 'gpt-5.6-sol', created: 1_780_000_000 },
  { ...LATER, id: 'gpt-5.6-terra', snapshot: 'gpt-5.6-terra', created: 1_780_000_000 },
  { ...LATER, id: 'gpt-5.6-luna', snapshot: 'gpt-5.6-luna', created: 1_780_000_000 },
  { ...LATER, id: 'gpt-6-luna', snapshot: 'gpt-6-luna', created: 1_790_000_000 },
]

export function findOpenaiModel(name: string): OpenaiModel | undefined {
  return OPENAI_MODELS.find((model) => model.id === name || model.snapshot === name)
}
