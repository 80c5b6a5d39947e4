// One attempt to deliver: what came of it, in one word and in one sentence. It never throws. Once a status has arrived
// it decides; the body is only kept for the developer to read, as far as it came within the limits.

import { isUtf8 } from 'node:buffer'
import { CallSignal, type HttpReply } from '../platform/http-call.ts'
import { judgeUrl } from '../platform/public-address.ts'
import { describeFailure, describeStatus, type Outcome, SHORT_REASONS } from './attempt-outcome.ts'
import type { WebhookClient } from './client.ts'

const TOTAL_MS = 10_000
const READ_BYTES_MAX = 64 * 1024
const KEPT_BYTES_MAX = 4 * 1024
/** No character of UTF-8 has more bytes behind its first. */
const CONTINUATION_BYTES_MAX = 3

export type AttemptRequest = {
  url: string
  headers: Record<string, string>
  body: string | Uint8Array
}

export type AttemptResult = {
  outcome: Outcome
  /** 0 if there was no answer. */
  response_status: number
  /** At most 4 KiB of text without NUL; a few words in its place if there was no answer or no text. */
  response_body: string
  duration_ms: number
  /** For the developer. It names the host, and neither path, query nor header. */
  reason: string
}

export type AttemptOptions = {
  total_ms?: number
  /** Gives the attempt up: `not_sent`. */
  signal?: CallSignal
}

export async function sendAttempt(
  client: WebhookClient,
  request: AttemptRequest,
  options: AttemptOptions = {},
): Promise<AttemptResult> {
  const began_at = performance.now()
  const result = await attempt(client, request, { total_ms: TOTAL_MS, ...options })
  return { ...result, duration_ms: Math.round(performance.now() - began_at) }
}

type Result = Omit<AttemptResult, 'duration_ms'>

async function attempt(
  client: WebhookClient,
  request: AttemptRequest,
  { total_ms, signal = new CallSignal() }: AttemptOptions & { total_ms: number },
): Promise<Result> {
  // Again, though it was judged when it was stored: the mode may be another, and so may the rules.
  const verdict = judgeUrl(request.url, client.rules)
  if ('refused' in verdict) return withoutAnswer({ outcome: 'blocked', reason: verdict.refused })
  const { href, host, hostname, port, protocol } = verdict.url
  const place = { host, hostname, port: port || (protocol === 'https:' ? '443' : '80') }
  try {
    const reply = await client.send({
      url: href,
      headers: { ...request.headers, 'Accept-Encoding': 'identity' },
      body: request.body,
      limits: { headers_ms: total_ms, idle_ms: total_ms, total_ms },
      signal,
    })
    const response_body = await readBody(reply)
    const location = reply.headers['location']
    return { ...describeStatus(place, reply.status, location), response_body }
  } catch (error) {
    const limits = { connect_ms: client.connect_ms, total_ms }
    return withoutAnswer(describeFailure(error, place, limits))
  }
}

function withoutAnswer(failure: { outcome: Outcome; reason: string }): Result {
  const response_body = SHORT_REASONS[failure.outcome] ?? 'connection failed'
  return { ...failure, response_status: 0, response_body }
}

/** What does not fit is not read: leaving the loop closes the connection. */
async function readBody(reply: HttpReply): Promise<string> {
  const pieces: Uint8Array[] = []
  let size = 0
  let complete = true
  try {
    for await (const piece of reply.body) {
      if (size < KEPT_BYTES_MAX) pieces.push(piece)
      size += piece.length
      if (size <= READ_BYTES_MAX) continue
      complete = false
      break
    }
  } catch {
    // Cut by the receiver or by the time limit. The status has been said.
    complete = false
  }
  const count = complete ? `${size}` : `more than ${Math.min(size, READ_BYTES_MAX)}`
  const encoding = reply.headers['content-encoding']?.toLowerCase() ?? 'identity'
  if (size > 0 && encoding !== 'identity') {
    return `(${/^[a-z0-9-]{1,20}$/.test(encoding) ? encoding : 'encoded'}, ${count} bytes)`
  }
  const bytes = Buffer.concat(pieces)
  const is_cut = !complete || bytes.length > KEPT_BYTES_MAX
  return toText(is_cut ? cutAtCharacter(bytes) : bytes) ?? `(binary, ${count} bytes)`
}

/** Without the first bytes of a character whose rest is missing. */
function cutAtCharacter(bytes: Buffer): Buffer {
  const end = Math.min(bytes.length, KEPT_BYTES_MAX)
  for (let back = 1; back <= Math.min(CONTINUATION_BYTES_MAX, end); back += 1) {
    const byte = bytes[end - back] ?? 0
    const is_continuation = (byte & 0b1100_0000) === 0b1000_0000
    if (is_continuation) continue
    return bytes.subarray(0, isUtf8(bytes.subarray(end - back, end)) ? end : end - back)
  }
  return bytes.subarray(0, end)
}

// oxlint-disable-next-line no-control-regex -- they are what is taken out
const CONTROL_CHARACTERS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g

/** Control characters go too: the text is shown in terminals. */
function toText(bytes: Buffer): string | undefined {
  if (!isUtf8(bytes)) return undefined
  return bytes.toString('utf8').replace(CONTROL_CHARACTERS, '')
}
