// The OpenAI chat completions format, for clients of POST /v1/chat/completions.

import type { Dialect } from './dialect.ts'
import { formatOpenAiReply } from './openai-reply.ts'
import { parseOpenAiRequest } from './openai-request.ts'
import { OpenAiStream } from './openai-stream.ts'
import { relayBody } from './relay-body.ts'

export const openAiDialect: Dialect = {
  name: 'openai',
  parse: (body) => parseOpenAiRequest(body),
  formatReply: formatOpenAiReply,
  relayReply: relayBody,
  openStream: (options) => new OpenAiStream(options),
}
