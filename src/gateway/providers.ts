// The providers this process can call, and where: one HTTP client for all of them.

import type { HttpClient } from '../platform/http-client.ts'
import type { ChatParts } from './order.ts'
import { createAnthropicUpstream } from './upstreams/anthropic/profile.ts'
import { createGoogleUpstream } from './upstreams/google/profile.ts'
import { createOpenaiUpstream } from './upstreams/openai/profile.ts'

export type ProviderConfig = {
  OPENAI_API_KEY: string | undefined
  OPENAI_BASE_URL: string | undefined
  ANTHROPIC_API_KEY: string | undefined
  ANTHROPIC_BASE_URL: string | undefined
  GOOGLE_API_KEY: string | undefined
  GOOGLE_BASE_URL: string | undefined
  PROVIDER_TIMEOUT_MS: number
  PROVIDER_IDLE_TIMEOUT_MS: number
}

export function createProviders(
  config: ProviderConfig,
  client: HttpClient,
): ChatParts['upstreams'] {
  const limits = {
    first_byte_stream_ms: config.PROVIDER_TIMEOUT_MS,
    idle_ms: config.PROVIDER_IDLE_TIMEOUT_MS,
  }
  const options = { client, limits }
  const address = (api_key: string | undefined, base_url: string) =>
    api_key === undefined ? undefined : { api_key, base_url: tidy(base_url) }
  return {
    openai: {
      upstream: createOpenaiUpstream(options),
      address: address(
        config.OPENAI_API_KEY,
        config.OPENAI_BASE_URL ?? 'https://api.openai.com/v1',
      ),
    },
    anthropic: {
      upstream: createAnthropicUpstream(options),
      address: address(
        config.ANTHROPIC_API_KEY,
        config.ANTHROPIC_BASE_URL ?? 'https://api.anthropic.com',
      ),
    },
    google: {
      upstream: createGoogleUpstream(options),
      address: address(
        config.GOOGLE_API_KEY,
        config.GOOGLE_BASE_URL ?? 'https://generativelanguage.googleapis.com',
      ),
    },
  }
}

/** As the client takes it: paths are put behind it, and it is not parsed again. */
function tidy(base_url: string): string {
  const { origin, pathname } = new URL(base_url)
  return (origin + pathname).replace(/\/+$/, '')
}
