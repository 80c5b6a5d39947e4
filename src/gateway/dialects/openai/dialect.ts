// The OpenAI chat completions format, for clients of POST /v1/chat/completions.

import type { Dialect } from '../dialect.ts'
import { relayBody } from '../relay-body.ts'
import { OPENAI_FIELDS } from './fields.ts'
import { formatOpenAiReply } from './reply.ts'
import { parseOpenAiRequest } from './request.ts'
import { OpenAiStream } from './stream.ts'

export const openAiDialect: Dialect = {
  name: 'openai',
  fields: OPENAI_FIELDS,
  parse: (body) => parseOpenAiRequest(body),
  formatReply: formatOpenAiReply,
  relayReply: relayBody,
  openStream: (options) => new OpenAiStream(options),
}
