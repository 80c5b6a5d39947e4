// Anthropic's messages.

import { checkCapabilities } from '../capabilities.ts'
import type { Upstream } from '../contract.ts'
import { type Exchange, openExchange, readFrames, type UpstreamOptions } from '../exchange.ts'
import { createToolNames, type NameRule } from '../tool-names.ts'
import { createAnthropicReader } from './frames.ts'
import { anthropicRequest } from './request.ts'

const VERSION = '2023-06-01'
const NAMES: NameRule = { pattern: /^[A-Za-z0-9_-]+$/, max_length: 128 }

export function createAnthropicUpstream(options: UpstreamOptions): Upstream {
  return {
    dialect: 'anthropic',
    async open(call) {
      const { request, model, address, signal } = call
      checkCapabilities(request, model)
      const names = createToolNames(NAMES)
      const { body, json_tool } = anthropicRequest(call, names)
      const exchange: Exchange = {
        provider: 'anthropic',
        url: `${address.base_url}/v1/messages`,
        headers: { 'x-api-key': address.api_key, 'anthropic-version': VERSION },
        body,
        stream: request.stream,
        signal,
      }
      const reply = await openExchange(options, exchange)
      const reader = createAnthropicReader({ names, json_tool })
      return {
        request_id: reply.headers['request-id'],
        frames: readFrames(options, exchange, { reply, reader }),
      }
    },
  }
}
