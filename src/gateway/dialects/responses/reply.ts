// Writes whole responses. A whole response is the last record of its stream, so one writer makes both.

import type { StreamOptions, WholeAnswer } from '../dialect.ts'
import { Records } from './records.ts'
import { type ReplyParts, ResponsesStream } from './stream.ts'
import type { OutputItem } from './terms.ts'

export function formatResponsesReply(answer: WholeAnswer, parts: ReplyParts): string {
  return JSON.stringify(writeAll(answer, parts).respond(answer.svc))
}

/** `body`: the response as the provider wrote it. */
export function relayResponsesReply(body: string, answer: WholeAnswer, parts: ReplyParts): string {
  const relay = streamFor(answer, parts).openRelay()
  relay.hearWhole(body, answer.events)
  return JSON.stringify(relay.end(answer.svc))
}

/** What was said, whole, with what brings thoughts back. */
export function outputItems(answer: Omit<WholeAnswer, 'svc'>, parts: ReplyParts): OutputItem[] {
  if (answer.relayed === undefined) return writeAll(answer, parts).items()
  const relay = streamFor(answer, parts).openRelay()
  relay.hearWhole(answer.relayed, answer.events)
  return relay.items()
}

function writeAll(answer: Omit<WholeAnswer, 'svc'>, parts: ReplyParts): ResponsesStream {
  const stream = streamFor(answer, parts)
  for (const event of answer.events) stream.write(event)
  return stream
}

function streamFor(answer: Omit<WholeAnswer, 'svc'>, parts: ReplyParts): ResponsesStream {
  const options: StreamOptions = { ...answer, include_usage: true }
  return new ResponsesStream(options, parts, new Records({ is_silent: true }))
}
