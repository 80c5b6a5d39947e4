// What the service sells: each model's public name, what it is called upstream, what it costs and what it can
// do. Three separate values on purpose: providers retire models and change prices, our names stay.

export const PROVIDERS = ['openai', 'anthropic', 'google', 'elevenlabs'] as const
export type Provider = (typeof PROVIDERS)[number]

/** Credits per million units. All whole numbers. */
export type TokenPrices = {
  input: bigint
  cache_read: bigint
  cache_write_5m: bigint
  cache_write_1h: bigint
  output: bigint
  /** Where sound in a prompt has a price of its own. */
  audio_input?: bigint
}

export const CHAT_APIS = ['chat', 'responses'] as const
export type ChatApi = (typeof CHAT_APIS)[number]

/** What is called upstream: at which price, within which limits. */
export type UpstreamModel = {
  /** What is sent to the provider. */
  upstream_id: string
  /** Of OpenAI's models: the interface that they are asked through; chat completions unless it says otherwise. */
  api?: ChatApi
  prices: TokenPrices
  /** For prompts above a size the whole request costs more. */
  long_prompt?: { above_tokens: number; prices: TokenPrices }
  context_window: number
  /** Where the provider takes less prompt than the window would hold. */
  max_input_tokens?: number
  max_output_tokens: number
  /** The most that one picture counts for, in low detail and otherwise. */
  image_tokens?: { low: number; high: number }
  capabilities: {
    images: boolean
    files: boolean
    audio_input: boolean
    tools: boolean
    json_object: boolean
    json_schema: boolean
    reasoning: boolean
  }
  /** What happens upstream when the client leaves; a call that reasons is drained whatever this says. */
  on_disconnect: 'cancel' | 'drain'
}

export type ChatModel = UpstreamModel & {
  kind: 'chat'
  /** Public name: what clients send and see. */
  name: string
  /** Further names that clients may send: those of other gateways and of the providers' own clients. */
  aliases?: readonly string[]
  /** For people, in lists; without one the name is shown. */
  display_name?: string
  /** The day the model came out, as YYYY-MM-DD. */
  created?: string
  provider: Exclude<Provider, 'elevenlabs'>
  /** The day, in UTC, on which the provider shuts the model down, as YYYY-MM-DD. */
  retires_on?: string
  /** What serves the name from that day on. */
  successor?: UpstreamModel
  /** Set by the catalog: that day has come, and nothing takes the model's place. */
  retired?: true
}

export const AUDIO_KINDS = ['speech', 'transcription', 'sound'] as const

/** What is counted: characters (code points) spoken, hours heard, sounds made, tokens embedded. */
export const INPUT_UNITS = {
  speech: 'character',
  transcription: 'hour',
  sound: 'generation',
  embedding: 'token',
} as const

export type AudioModel = {
  kind: (typeof AUDIO_KINDS)[number]
  name: string
  aliases?: readonly string[]
  display_name?: string
  created?: string
  provider: 'elevenlabs'
  upstream_id: string
  /** Credits per million units of INPUT_UNITS. */
  price: bigint
  /** The longest text of one request. */
  max_characters?: number
}

export type EmbeddingModel = {
  kind: 'embedding'
  name: string
  aliases?: readonly string[]
  display_name?: string
  created?: string
  provider: 'openai' | 'google'
  upstream_id: string
  /** Credits per million tokens. */
  price: bigint
  /** Of one text. */
  max_input_tokens: number
  /** Of all texts of a request, where the provider limits them. */
  max_request_tokens?: number
  /** Of a vector, if no other length is asked for; none is longer. */
  dimensions: number
  /** Whether shorter vectors can be asked for. */
  shortens: boolean
}

/** Each has one price, for what goes in. */
export type InputModel = AudioModel | EmbeddingModel

export type Model = ChatModel | InputModel

/**
 * What becomes of a model whose provider has shut it down: `succeed` lets its successor serve the name, `refuse`
 * does not, and `ignore` is for stand-ins, which never shut anything down.
 */
export type RetirementRule = 'succeed' | 'refuse' | 'ignore'

export type Catalog = {
  readonly retirement_rule: RetirementRule
  /** By public name or alias, exactly, as the model is served now: one object until a retirement changes it. */
  find(name: string): Model | undefined
  /** In the order of the price list; added models last. */
  list(): readonly Model[]
  /** For a name that is not known: the public name it is most like. `kind`: only of such models. */
  nearest(name: string, kind?: Model['kind']): string | undefined
}

/**
 * Thought that is under way cannot be counted, nor an answer that comes in one piece, and providers may bill
 * both to their end: such a call is read to its real usage. `reasons`: the request asked for it; models that
 * always reason say so in the catalog.
 */
export function disconnectPolicy(
  model: ChatModel,
  call: { reasons: boolean; stream: boolean },
): 'cancel' | 'drain' {
  return call.reasons || !call.stream ? 'drain' : model.on_disconnect
}
