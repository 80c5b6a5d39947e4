// The providers this process can call, and where: one HTTP client for all of them.

import type { ChatModel } from '../catalog/models.ts'
import type { HttpClient } from '../platform/http-client.ts'
import type { EmbeddingParts } from './embeddings/embed.ts'
import type { ChatParts } from './order.ts'
import { Elevenlabs } from './upstreams/elevenlabs/elevenlabs.ts'
import { createEmbedder } from './upstreams/embeddings.ts'
import { googleEmbeddings } from './upstreams/google/embeddings.ts'
import { openaiEmbeddings } from './upstreams/openai/embeddings.ts'
import { PROFILES, type UpstreamName } from './upstreams/registry.ts'
import { createUpstream } from './upstreams/upstream.ts'

type ChatProvider = ChatModel['provider']
type Settings = `${Uppercase<ChatProvider>}_${'API_KEY' | 'BASE_URL'}`

export type ProviderConfig = Readonly<Record<Settings, string | undefined>> & {
  PROVIDER_TIMEOUT_MS: number
  PROVIDER_IDLE_TIMEOUT_MS: number
}

export type AudioConfig = Pick<
  ProviderConfig,
  'PROVIDER_TIMEOUT_MS' | 'PROVIDER_IDLE_TIMEOUT_MS'
> & {
  ELEVENLABS_API_KEY: string | undefined
  ELEVENLABS_BASE_URL: string | undefined
}

const ELEVENLABS_URL = 'https://api.elevenlabs.io'

export function createProviders(
  config: ProviderConfig,
  client: HttpClient,
): ChatParts['upstreams'] {
  const limits = {
    first_byte_stream_ms: config.PROVIDER_TIMEOUT_MS,
    idle_ms: config.PROVIDER_IDLE_TIMEOUT_MS,
  }
  const provider = (
    name: UpstreamName,
    api_key: string | undefined,
    base_url: string | undefined,
  ) => {
    const profile = PROFILES[name]
    return {
      upstream: createUpstream(profile, { client, limits }),
      address:
        api_key === undefined
          ? undefined
          : { api_key, base_url: tidy(base_url ?? profile.base_url) },
    }
  }
  return {
    openai: provider('openai', config.OPENAI_API_KEY, config.OPENAI_BASE_URL),
    'openai-responses': provider('openai-responses', config.OPENAI_API_KEY, config.OPENAI_BASE_URL),
    anthropic: provider('anthropic', config.ANTHROPIC_API_KEY, config.ANTHROPIC_BASE_URL),
    google: provider('google', config.GOOGLE_API_KEY, config.GOOGLE_BASE_URL),
  }
}

/** Where they are asked is said by the providers above. */
export function createEmbedders(
  config: Pick<ProviderConfig, 'PROVIDER_IDLE_TIMEOUT_MS'>,
  client: HttpClient,
): EmbeddingParts['embedders'] {
  const limits = { idle_ms: config.PROVIDER_IDLE_TIMEOUT_MS }
  return {
    openai: createEmbedder(openaiEmbeddings, { client, limits }),
    google: createEmbedder(googleEmbeddings, { client, limits }),
  }
}

export function createElevenlabs(config: AudioConfig, client: HttpClient): Elevenlabs | undefined {
  const { ELEVENLABS_API_KEY: api_key, ELEVENLABS_BASE_URL: base_url } = config
  if (api_key === undefined) return undefined
  const limits = {
    first_byte_stream_ms: config.PROVIDER_TIMEOUT_MS,
    idle_ms: config.PROVIDER_IDLE_TIMEOUT_MS,
  }
  return new Elevenlabs({ client, limits }, { api_key, base_url: tidy(base_url ?? ELEVENLABS_URL) })
}

/** As the client takes it: paths are put behind it, and it is not parsed again. */
function tidy(base_url: string): string {
  const { origin, pathname } = new URL(base_url)
  return (origin + pathname).replace(/\/+$/, '')
}
