// The price list: providers' list prices as read on 15 November 2026, in credits per million units. One dollar
// is 1,000,000 credits, so $2.50 per million tokens is 2,500,000. A change here changes no past record: usage
// rows keep the prices they were charged at. CATALOG_FILE overrides any field without a release.
//
// Providers that do not sell a bucket apart have the input price there, so nothing reported is ever free.

import type { AudioModel, ChatModel, TokenPrices } from './models.ts'

const TEXT_ONLY = {
  images: false,
  files: false,
  audio_input: false,
  tools: true,
  json_object: true,
  json_schema: false,
  reasoning: false,
}

const MULTIMODAL = { ...TEXT_ONLY, images: true, files: true, json_schema: true }

const GEMINI_FLASH = { ...MULTIMODAL, audio_input: true }

// Pictures are scaled to 2048 by 768 at most: eight tiles.
const GPT_4O_IMAGE = { low: 85, high: 85 + 8 * 170 }
const GPT_4O_MINI_IMAGE = { low: 2_833, high: 2_833 + 8 * 5_667 }
const GPT_5_IMAGE = { low: 70, high: 70 + 8 * 140 }
/** 1,536 patches at most, each counted 1.62 times. */
const GPT_5_MINI_IMAGE = { low: 2_489, high: 2_489 }
const CLAUDE_IMAGE = { low: 1_600, high: 1_600 }
// Scaled to 3,072 pixels at most and cut into tiles of two thirds of its shorter side, 256 to 768 pixels: up to 24,
// and the whole picture once more. Google has no low detail.
const GEMINI_IMAGE = { low: 25 * 258, high: 25 * 258 }

export const CHAT_MODELS: readonly ChatModel[] = [
  {
    kind: 'chat',
    name: 'gpt-4o',
    display_name: 'GPT-4o',
    created: '2024-05-13',
    provider: 'openai',
    upstream_id: 'gpt-4o',
    prices: pricesOf({ input: 2_500_000n, cache_read: 1_250_000n, output: 10_000_000n }),
    context_window: 128_000,
    max_output_tokens: 16_384,
    image_tokens: GPT_4O_IMAGE,
    capabilities: MULTIMODAL,
    on_disconnect: 'cancel',
  },
  {
    kind: 'chat',
    name: 'gpt-4o-mini',
    display_name: 'GPT-4o mini',
    created: '2024-07-18',
    provider: 'openai',
    upstream_id: 'gpt-4o-mini',
    prices: pricesOf({ input: 150_000n, cache_read: 75_000n, output: 600_000n }),
    context_window: 128_000,
    max_output_tokens: 16_384,
    image_tokens: GPT_4O_MINI_IMAGE,
    capabilities: MULTIMODAL,
    on_disconnect: 'cancel',
  },
  {
    kind: 'chat',
    name: 'gpt-4-turbo',
    display_name: 'GPT-4 Turbo',
    created: '2024-04-09',
    provider: 'openai',
    upstream_id: 'gpt-4-turbo',
    prices: pricesOf({ input: 10_000_000n, output: 30_000_000n }),
    context_window: 128_000,
    max_output_tokens: 4_096,
    image_tokens: GPT_4O_IMAGE,
    capabilities: { ...TEXT_ONLY, images: true },
    on_disconnect: 'cancel',
  },
  {
    kind: 'chat',
    name: 'gpt-4',
    display_name: 'GPT-4',
    created: '2023-06-13',
    provider: 'openai',
    upstream_id: 'gpt-4',
    prices: pricesOf({ input: 30_000_000n, output: 60_000_000n }),
    context_window: 8_192,
    max_output_tokens: 4_096,
    capabilities: { ...TEXT_ONLY, json_object: false },
    on_disconnect: 'cancel',
  },
  {
    kind: 'chat',
    name: 'gpt-3.5-turbo',
    display_name: 'GPT-3.5 Turbo',
    created: '2023-02-28',
    provider: 'openai',
    upstream_id: 'gpt-3.5-turbo',
    prices: pricesOf({ input: 500_000n, output: 1_500_000n }),
    context_window: 16_385,
    max_output_tokens: 4_096,
    capabilities: TEXT_ONLY,
    on_disconnect: 'cancel',
  },
  {
    kind: 'chat',
    name: 'gpt-5',
    display_name: 'GPT-5',
    created: '2025-08-07',
    provider: 'openai',
    upstream_id: 'gpt-5',
    api: 'responses',
    prices: pricesOf({ input: 1_250_000n, cache_read: 125_000n, output: 10_000_000n }),
    context_window: 400_000,
    max_input_tokens: 272_000,
    max_output_tokens: 128_000,
    image_tokens: GPT_5_IMAGE,
    capabilities: { ...MULTIMODAL, reasoning: true },
    on_disconnect: 'drain',
  },
  {
    kind: 'chat',
    name: 'gpt-5-mini',
    display_name: 'GPT-5 mini',
    created: '2025-08-07',
    provider: 'openai',
    upstream_id: 'gpt-5-mini',
    api: 'responses',
    prices: pricesOf({ input: 250_000n, cache_read: 25_000n, output: 2_000_000n }),
    context_window: 400_000,
    max_input_tokens: 272_000,
    max_output_tokens: 128_000,
    image_tokens: GPT_5_MINI_IMAGE,
    capabilities: { ...MULTIMODAL, reasoning: true },
    on_disconnect: 'drain',
  },
  {
    kind: 'chat',
    name: 'anthropic/claude-opus-4',
    display_name: 'Claude Opus 4',
    created: '2025-05-22',
    provider: 'anthropic',
    upstream_id: 'claude-opus-4-20250514',
    prices: {
      input: 15_000_000n,
      cache_read: 1_500_000n,
      cache_write_5m: 18_750_000n,
      cache_write_1h: 30_000_000n,
      output: 75_000_000n,
    },
    context_window: 200_000,
    max_output_tokens: 32_000,
    image_tokens: CLAUDE_IMAGE,
    capabilities: { ...MULTIMODAL, reasoning: true },
    on_disconnect: 'cancel',
  },
  {
    kind: 'chat',
    name: 'anthropic/claude-sonnet-4',
    display_name: 'Claude Sonnet 4',
    created: '2025-05-22',
    provider: 'anthropic',
    upstream_id: 'claude-sonnet-4-20250514',
    prices: {
      input: 3_000_000n,
      cache_read: 300_000n,
      cache_write_5m: 3_750_000n,
      cache_write_1h: 6_000_000n,
      output: 15_000_000n,
    },
    context_window: 200_000,
    max_output_tokens: 64_000,
    image_tokens: CLAUDE_IMAGE,
    capabilities: { ...MULTIMODAL, reasoning: true },
    on_disconnect: 'cancel',
  },
  {
    kind: 'chat',
    name: 'anthropic/claude-haiku-3.5',
    display_name: 'Claude Haiku 3.5',
    created: '2024-10-22',
    provider: 'anthropic',
    upstream_id: 'claude-3-5-haiku-20241022',
    prices: {
      input: 800_000n,
      cache_read: 80_000n,
      cache_write_5m: 1_000_000n,
      cache_write_1h: 1_600_000n,
      output: 4_000_000n,
    },
    context_window: 200_000,
    max_output_tokens: 8_192,
    image_tokens: CLAUDE_IMAGE,
    capabilities: MULTIMODAL,
    on_disconnect: 'cancel',
  },
  {
    kind: 'chat',
    name: 'google/gemini-2.5-pro',
    display_name: 'Gemini 2.5 Pro',
    created: '2025-06-17',
    provider: 'google',
    upstream_id: 'gemini-2.5-pro',
    prices: pricesOf({ input: 1_250_000n, cache_read: 125_000n, output: 10_000_000n }),
    long_prompt: {
      above_tokens: 200_000,
      prices: pricesOf({ input: 2_500_000n, cache_read: 250_000n, output: 15_000_000n }),
    },
    context_window: 1_048_576,
    max_output_tokens: 65_536,
    image_tokens: GEMINI_IMAGE,
    capabilities: { ...MULTIMODAL, audio_input: true, reasoning: true },
    on_disconnect: 'drain',
  },
  {
    kind: 'chat',
    name: 'google/gemini-2.5-flash',
    display_name: 'Gemini 2.5 Flash',
    created: '2025-06-17',
    provider: 'google',
    upstream_id: 'gemini-2.5-flash',
    prices: {
      ...pricesOf({ input: 300_000n, cache_read: 30_000n, output: 2_500_000n }),
      audio_input: 1_000_000n,
    },
    context_window: 1_048_576,
    max_output_tokens: 65_536,
    image_tokens: GEMINI_IMAGE,
    capabilities: { ...GEMINI_FLASH, reasoning: true },
    on_disconnect: 'drain',
  },
  {
    kind: 'chat',
    name: 'google/gemini-2.0-flash',
    display_name: 'Gemini 2.0 Flash',
    created: '2025-02-05',
    provider: 'google',
    upstream_id: 'gemini-2.0-flash',
    prices: {
      ...pricesOf({ input: 100_000n, cache_read: 25_000n, output: 400_000n }),
      audio_input: 700_000n,
    },
    context_window: 1_048_576,
    max_output_tokens: 8_192,
    image_tokens: GEMINI_IMAGE,
    capabilities: GEMINI_FLASH,
    on_disconnect: 'drain',
  },
]

// Third-party reports of the 2026 list; no primary page was readable. Check them before going live.
export const AUDIO_MODELS: readonly AudioModel[] = [
  speech({ id: 'eleven_multilingual_v2', created: '2023-08-22', credits: 100n, max: 10_000 }),
  speech({ id: 'eleven_v3', created: '2025-06-05', credits: 100n, max: 5_000 }),
  speech({ id: 'eleven_flash_v2_5', created: '2024-12-18', credits: 50n, max: 40_000 }),
  speech({ id: 'eleven_turbo_v2_5', created: '2024-07-19', credits: 50n, max: 40_000 }),
  transcription({ id: 'scribe_v1', created: '2025-02-26' }),
  transcription({ id: 'scribe_v2', created: '2026-01-09' }),
  {
    kind: 'sound',
    ...elevenlabs('eleven_text_to_sound_v2'),
    created: '2025-09-01',
    price: 120_000n * 1_000_000n,
  },
]

function speech(of: { id: string; created: string; credits: bigint; max: number }): AudioModel {
  return {
    kind: 'speech',
    ...elevenlabs(of.id),
    created: of.created,
    price: of.credits * 1_000_000n,
    max_characters: of.max,
  }
}

function transcription(of: { id: string; created: string }): AudioModel {
  // $0.22 an hour. A second would be no whole number of credits, so the hour is the unit.
  return {
    kind: 'transcription',
    ...elevenlabs(of.id),
    created: of.created,
    price: 220_000n * 1_000_000n,
  }
}

function elevenlabs(id: string): Pick<AudioModel, 'name' | 'provider' | 'upstream_id'> {
  return { name: `elevenlabs/${id}`, provider: 'elevenlabs', upstream_id: id }
}

function pricesOf(listed: { input: bigint; cache_read?: bigint; output: bigint }): TokenPrices {
  const { input, output } = listed
  return {
    input,
    cache_read: listed.cache_read ?? input,
    cache_write_5m: input,
    cache_write_1h: input,
    output,
  }
}
