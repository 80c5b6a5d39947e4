// OpenAI's chat completions.

import { checkCapabilities } from '../capabilities.ts'
import type { Upstream } from '../contract.ts'
import { type Exchange, openExchange, readFrames, type UpstreamOptions } from '../exchange.ts'
import { createToolNames, type NameRule } from '../tool-names.ts'
import { createOpenaiReader } from './frames.ts'
import { openaiBody } from './request.ts'

const NAMES: NameRule = { pattern: /^[A-Za-z0-9_-]+$/, max_length: 64 }

export function createOpenaiUpstream(options: UpstreamOptions): Upstream {
  return {
    dialect: 'openai',
    async open(call) {
      const { request, model, address, signal } = call
      checkCapabilities(request, model)
      const names = createToolNames(NAMES)
      const exchange: Exchange = {
        provider: 'openai',
        url: `${address.base_url}/chat/completions`,
        headers: { authorization: `Bearer ${address.api_key}` },
        body: openaiBody(call, names),
        stream: request.stream,
        signal,
      }
      const reply = await openExchange(options, exchange)
      const reader = createOpenaiReader(names)
      return {
        request_id: reply.headers['x-request-id'],
        frames: readFrames(options, exchange, { reply, reader }),
      }
    },
  }
}
