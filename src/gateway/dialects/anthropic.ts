// The Anthropic messages format, for clients of POST /v1/messages. Any `anthropic-version` will do, and
// `anthropic-beta` is not read: betas change prices and shapes.

import { formatAnthropicReply } from './anthropic-reply.ts'
import { parseAnthropicRequest } from './anthropic-request.ts'
import { AnthropicStream } from './anthropic-stream.ts'
import type { Dialect } from './dialect.ts'
import { relayBody } from './relay-body.ts'

export const anthropicDialect: Dialect = {
  name: 'anthropic',
  parse: (body) => parseAnthropicRequest(body),
  formatReply: formatAnthropicReply,
  relayReply: relayBody,
  openStream: (options) => new AnthropicStream(options),
}
