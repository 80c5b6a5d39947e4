// The Anthropic messages format, for clients of POST /v1/messages. Any `anthropic-version` will do. The betas that
// `anthropic-beta` names are judged one by one where the provider is known: some change prices and shapes.

import type { Dialect } from '../dialect.ts'
import { relayBody } from '../relay-body.ts'
import { ANTHROPIC_FIELDS } from './fields.ts'
import { formatAnthropicReply } from './reply.ts'
import { parseAnthropicRequest } from './request.ts'
import { AnthropicStream } from './stream.ts'

export const anthropicDialect: Dialect = {
  name: 'anthropic',
  fields: ANTHROPIC_FIELDS,
  parse: parseAnthropicRequest,
  formatReply: formatAnthropicReply,
  relayReply: relayBody,
  openStream: (options) => new AnthropicStream(options),
}
