// OpenAI's Responses format, for clients of POST /v1/responses. Unlike the other formats it needs secrets and the catalog:
// its ids cannot be guessed, and thoughts that come back are read by the model that had them alone.

import type { Dialect } from '../dialect.ts'
import { RESPONSES_FIELDS } from './fields.ts'
import { formatResponsesReply, outputItems, relayResponsesReply } from './reply.ts'
import { parseResponsesRequest, type ResponsesParts } from './request.ts'
import { type ReplyParts, ResponsesStream } from './stream.ts'

export function createResponsesDialect(parts: ResponsesParts & ReplyParts): Dialect {
  return {
    name: 'responses',
    has_lasting_ids: true,
    fields: RESPONSES_FIELDS,
    parse: (body) => parseResponsesRequest(parts, body),
    formatReply: (answer) => formatResponsesReply(answer, parts),
    relayReply: (body, answer) => relayResponsesReply(body, answer, parts),
    openStream: (options) => new ResponsesStream(options, parts),
    itemsOf: (answer) => outputItems(answer, parts),
  }
}
