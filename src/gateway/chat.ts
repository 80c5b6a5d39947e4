// One chat call from hold to settlement, streamed or not. The order is always the same: hold, ask, relay,
// settle, and only then say that it is over: whoever sees the end of an answer has been charged for it.

import { disconnectPolicy } from '../catalog/models.ts'
import { renderError } from '../http/error-handler.ts'
import type { EventStream } from '../http/event-stream.ts'
import { ApiError } from '../platform/errors.ts'
import { Answer } from './answer.ts'
import { Departure } from './departure.ts'
import type { ChatEvent } from './dialects/chat-types.ts'
import type { DialectStream, StreamOptions, SvcNumbers } from './dialects/dialect.ts'
import { HoldGrowth } from './hold-growth.ts'
import { type ChatCall, type ChatParts, type Order, placeOrder } from './order.ts'
import { promptTokens } from './prompt-size.ts'
import { settleCall } from './settlement.ts'
import { mayThink } from './upstreams/capabilities.ts'
import type { UpstreamFrame } from './upstreams/contract.ts'

const KEEP_ALIVE_MS = 15_000

/** The whole answer as JSON text. */
export async function completeChat(
  parts: ChatParts,
  call: ChatCall,
  client: EventStream,
): Promise<string> {
  const order = await placeOrder(parts, call)
  const departure = watchFor(parts, { call, order, client })
  try {
    const answer = await askProvider(parts, { call, order, departure })
    const frames: UpstreamFrame[] = []
    for (let read = await answer.read(); read; read = await answer.read()) frames.push(...read)
    const svc = await conclude(parts, { call, order, answer })
    if (answer.fault) throw svc ? withoutRetry(answer.fault) : answer.fault
    if (!svc) throw new Error('an answer without a fault is charged')
    return presentReply({ call, order, answer }, frames, svc)
  } finally {
    departure.close()
  }
}

/** Throws only while nothing was sent; after that, faults are told inside the stream. */
export async function streamChat(
  parts: ChatParts,
  call: ChatCall,
  client: EventStream,
): Promise<void> {
  const order = await placeOrder(parts, call)
  const departure = watchFor(parts, { call, order, client })
  try {
    const answer = await askProvider(parts, { call, order, departure })
    if (answer.fault) {
      const svc = await conclude(parts, { call, order, answer })
      throw svc ? withoutRetry(answer.fault) : answer.fault
    }
    await sendStream(parts, { call, order, answer, client })
  } finally {
    departure.close()
  }
}

async function askProvider(
  parts: ChatParts,
  { call, order, departure }: { call: ChatCall; order: Order; departure: Departure },
): Promise<Answer> {
  const { growth: terms } = order
  const growth = terms && new HoldGrowth(parts, { call, order, terms }, departure.signal)
  const answer = new Answer(call, order, { departure, growth })
  await answer.open(call, order)
  return answer
}

async function sendStream(
  parts: ChatParts,
  { call, order, answer, client }: Asked & { answer: Answer },
): Promise<void> {
  const { model, include_usage } = call.request
  const relays = order.upstream.dialect === call.dialect.name
  const options = { model, created: order.placed_at, include_usage }
  const writer = call.dialect.openStream(relays ? options : withEstimate(options, call, order))
  client.start()
  const stopKeepAlive = client.keepAlive(KEEP_ALIVE_MS, () => writer.keepAlive())
  const present = (frames: readonly UpstreamFrame[]) =>
    relays ? relay(writer, frames) : translate(writer, frames)
  await guarded(parts, { call, answer }, async () => {
    for (let read = await answer.read(); read; read = await answer.read()) {
      await client.write(present(read))
    }
  })
  const svc = await guarded(parts, { call, answer }, () => conclude(parts, { call, order, answer }))
  stopKeepAlive()
  try {
    const { cut_usage } = answer
    const end = cut_usage ? writer.reachLimit(cut_usage) : ''
    const last =
      svc && !answer.fault ? end + writer.finish(svc) : describeFault(parts, call, writer, answer)
    await client.write(last)
  } finally {
    // Whatever goes wrong with its last words, a stream that has begun ends.
    client.end()
  }
}

/** Anthropic's format begins with the size of the prompt, which the providers of other formats say at the end. */
function withEstimate(options: StreamOptions, call: ChatCall, order: Order): StreamOptions {
  if (call.dialect.name !== 'anthropic') return options
  const estimated_input_tokens = promptTokens(call.request, order.model, 'close')
  return { ...options, estimated_input_tokens }
}

/** Once the stream has begun, a mistake of ours ends it as one of the provider's does: nobody would see it thrown. */
async function guarded<Result>(
  parts: ChatParts,
  { call, answer }: { call: ChatCall; answer: Answer },
  step: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await step()
  } catch (error) {
    parts.log.error({ err: error, request_id: call.request_id }, 'a stream failed')
    await answer.breakOff(error)
    return undefined
  }
}

type Asked = { call: ChatCall; order: Order; client: EventStream }

function watchFor(parts: ChatParts, { call, order, client }: Asked): Departure {
  const { request } = call
  const how = { reasons: mayThink(request), stream: request.stream }
  const policy = disconnectPolicy(order.model, how)
  const departure = new Departure({ policy, drains: parts.drains })
  client.onLeave(() => departure.leave())
  call.running.onStop(() => departure.stop())
  return departure
}

/** Charges what was used, or gives everything back where nothing is owed. */
async function conclude(
  parts: ChatParts,
  { call, order, answer }: { call: ChatCall; order: Order; answer: Answer },
): Promise<SvcNumbers | undefined> {
  if (answer.is_free) {
    await parts.ledger().release(order.hold)
    parts.metrics.gateway_calls.inc({ model: order.model.name, outcome: 'free' })
    return undefined
  }
  try {
    return await settleCall(parts, call, order, answer.record())
  } catch (error) {
    throw withoutRetry(error)
  }
}

/** Tells the official clients not to ask again for what the provider has already done. */
function withoutRetry(thrown: unknown): ApiError {
  const error =
    thrown instanceof ApiError ? thrown : new ApiError('internal_error', { cause: thrown })
  return new ApiError(error.code, {
    message: error.message,
    status: error.status,
    cause: error.cause,
    headers: { ...error.headers, 'x-should-retry': 'false' },
    ...(error.hint !== undefined && { hint: error.hint }),
    ...(error.detail !== undefined && { detail: error.detail }),
  })
}

function presentReply(
  { call, order, answer }: { call: ChatCall; order: Order; answer: Answer },
  frames: readonly UpstreamFrame[],
  svc: SvcNumbers,
): string {
  const { dialect, request } = call
  const [only] = frames
  try {
    if (only && !order.stream && order.upstream.dialect === dialect.name) {
      return dialect.relayReply(only.data, request.model, svc)
    }
    const events = eventsOf(frames, answer)
    return dialect.formatReply({ model: request.model, created: order.placed_at, events, svc })
  } catch (error) {
    throw withoutRetry(error)
  }
}

/** All that was said; where we ended it, with the end that the provider would have given it at its limit. */
function eventsOf(frames: readonly UpstreamFrame[], { cut_usage: usage }: Answer): ChatEvent[] {
  const events = frames.flatMap((frame) => frame.events)
  if (usage) {
    events.push({ kind: 'usage', usage, raw: null })
    events.push({ kind: 'stop', choice: 0, reason: 'length', stop_sequence: null })
  }
  return events
}

function relay(writer: DialectStream, frames: readonly UpstreamFrame[]): string {
  let text = ''
  for (const frame of frames) text += writer.relay(frame)
  return text
}

function translate(writer: DialectStream, frames: readonly UpstreamFrame[]): string {
  let text = ''
  for (const { events } of frames) for (const event of events) text += writer.write(event)
  return text
}

function describeFault(
  parts: ChatParts,
  call: ChatCall,
  writer: DialectStream,
  { fault }: Answer,
): string {
  if (!fault) return ''
  const { request_id, dialect } = call
  return writer.fail(
    renderError(fault, { dialect: dialect.name, request_id, public_url: parts.public_url }),
  )
}
