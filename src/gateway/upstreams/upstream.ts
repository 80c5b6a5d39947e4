// One call to any provider: what its profile says, sent and read in the one way that all share.

import type { ChatRequest } from '../dialects/chat-types.ts'
import { checkCapabilities } from './capabilities.ts'
import type {
  Asked,
  Draft,
  OpenTerms,
  ProviderProfile,
  Upstream,
  UpstreamReply,
} from './contract.ts'
import { type Exchange, openExchange, readFrames, type UpstreamOptions } from './exchange.ts'
import { createToolNames } from './tool-names.ts'

export function createUpstream(profile: ProviderProfile, options: UpstreamOptions): Upstream {
  return {
    prepare(asked) {
      checkCapabilities(asked.request, asked.model)
      const draft = profile.draft(asked, createToolNames(profile.tool_names))
      return {
        ignored: [...draft.ignored, ...foreignBetas(profile, asked.request)],
        relays: draft.relays,
        open: (terms) => open(profile, options, { asked, draft, terms }),
      }
    },
  }
}

/** Betas are Anthropic's, and only its own draft judges them. */
function foreignBetas({ dialect }: ProviderProfile, { betas = [] }: ChatRequest): string[] {
  return dialect === 'anthropic' ? [] : betas.map((beta) => `anthropic-beta: ${beta}`)
}

async function open(
  profile: ProviderProfile,
  options: UpstreamOptions,
  { asked, draft, terms }: { asked: Asked; draft: Draft; terms: OpenTerms },
): Promise<UpstreamReply> {
  const { stream, address, signal } = terms
  const { url, headers } = profile.endpoint(address, { model: asked.model, stream })
  const exchange: Exchange = {
    errors: profile.errors,
    url,
    headers: { ...headers, ...draft.headers },
    body: draft.body(terms),
    stream,
    signal,
  }
  const reply = await openExchange(options, exchange)
  const named = profile.request_id_headers.find((name) => reply.headers[name] !== undefined)
  return {
    request_id: named === undefined ? undefined : reply.headers[named],
    frames: readFrames(options, exchange, { reply, reader: draft.createReader() }),
  }
}
