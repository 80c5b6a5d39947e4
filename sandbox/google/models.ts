// What each Gemini model can do, as far as it changes the wire. Models that Google has shut down are
// still served, unless a test retires them: the sandbox stands in for the whole catalogue.

export type GoogleModel = {
  id: string
  display_name: string
  input_tokens: number
  output_tokens: number
  /** Allowed thinking budgets; null for a model that does not think. */
  budget: readonly [least: number, most: number] | null
  /** Whether a budget of 0 turns thinking off. */
  can_stop_thinking: boolean
  /** The shortest prompt prefix that is cached without being asked; null for none. */
  cache_least_tokens: number | null
  /** Whether tool calls come with an id, and their signatures have to be sent back. */
  signs_calls: boolean
  /** Thinking levels that a request may ask for; a model without any takes budgets only. */
  levels: readonly string[]
  penalties: boolean
  /** Whether functions and a JSON answer may be asked for together. */
  tools_with_json: boolean
  /** How pictures and pages are counted. */
  media: 'tiles' | 'flat' | 'resolution'
}

const FLASH: Omit<GoogleModel, 'id' | 'display_name'> = {
  input_tokens: 1_048_576,
  output_tokens: 65_536,
  budget: [0, 24_576],
  can_stop_thinking: true,
  cache_least_tokens: 1_024,
  signs_calls: false,
  levels: [],
  penalties: false,
  tools_with_json: false,
  media: 'flat',
}
const PRO: typeof FLASH = {
  ...FLASH,
  budget: [128, 32_768],
  can_stop_thinking: false,
  cache_least_tokens: 4_096,
}

const THREE = {
  signs_calls: true,
  levels: ['minimal', 'low', 'medium', 'high'],
  tools_with_json: true,
  media: 'resolution',
} as const

export const GOOGLE_MODELS: readonly GoogleModel[] = [
  { ...PRO, id: 'gemini-2.5-pro', display_name: 'Gemini 2.5 Pro' },
  { ...FLASH, id: 'gemini-2.5-flash', display_name: 'Gemini 2.5 Flash' },
  {
    ...FLASH,
    output_tokens: 8_192,
    budget: null,
    cache_least_tokens: null,
    penalties: true,
    media: 'tiles',
    id: 'gemini-2.0-flash',
    display_name: 'Gemini 2.0 Flash',
  },
  {
    ...PRO,
    ...THREE,
    levels: ['low', 'medium', 'high'],
    id: 'gemini-3.1-pro-preview',
    display_name: 'Gemini 3.1 Pro Preview',
  },
  { ...FLASH, ...THREE, id: 'gemini-3.6-flash', display_name: 'Gemini 3.6 Flash' },
  {
    ...FLASH,
    ...THREE,
    id: 'gemini-3.1-flash-lite',
    display_name: 'Gemini 3.1 Flash-Lite',
  },
]

export function findGoogleModel(id: string): GoogleModel | undefined {
  return GOOGLE_MODELS.find((model) => model.id === id)
}
