// Google's native generateContent. Its OpenAI-compatible endpoint leaves thoughts out of the usage.

import { checkCapabilities } from '../capabilities.ts'
import type { Upstream } from '../contract.ts'
import { type Exchange, openExchange, readFrames, type UpstreamOptions } from '../exchange.ts'
import { createToolNames, type NameRule } from '../tool-names.ts'
import { createGoogleReader } from './frames.ts'
import { googleBody } from './request.ts'

const NAMES: NameRule = { pattern: /^[A-Za-z_][A-Za-z0-9_.-]*$/, max_length: 64 }

export function createGoogleUpstream(options: UpstreamOptions): Upstream {
  return {
    dialect: undefined,
    async open(call) {
      const { request, model, address, signal } = call
      checkCapabilities(request, model)
      const names = createToolNames(NAMES)
      const method = request.stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
      const path = `/v1beta/models/${encodeURIComponent(model.upstream_id)}:${method}`
      const exchange: Exchange = {
        provider: 'google',
        url: address.base_url + path,
        headers: { 'x-goog-api-key': address.api_key },
        body: googleBody(call, names),
        stream: request.stream,
        signal,
      }
      const reply = await openExchange(options, exchange)
      const reader = createGoogleReader(names)
      return {
        request_id: reply.headers['x-goog-request-id'] ?? reply.headers['x-request-id'],
        frames: readFrames(options, exchange, { reply, reader }),
      }
    },
  }
}
