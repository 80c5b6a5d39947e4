// One chat call from hold to settlement, streamed or not. The order is always the same: hold, ask, relay,
// settle, and only then say that it is over: whoever sees the end of an answer has been charged for it.

import { disconnectPolicy } from '../catalog/models.ts'
import { renderError } from '../http/error-handler.ts'
import type { ApiError } from '../platform/errors.ts'
import { Answer } from './answer.ts'
import { Departure } from './departure.ts'
import type { ChatRequest } from './dialects/chat-types.ts'
import type { DialectStream, SvcNumbers } from './dialects/dialect.ts'
import type { EventStream } from './event-stream.ts'
import { type ChatCall, type ChatParts, type Order, placeOrder } from './order.ts'
import { settleCall } from './settlement.ts'
import type { UpstreamFrame } from './upstreams/contract.ts'

const KEEP_ALIVE_MS = 15_000

/** The whole answer as JSON text. */
export async function completeChat(
  parts: ChatParts,
  call: ChatCall,
  gone: AbortSignal,
): Promise<string> {
  const order = await placeOrder(parts, call)
  return await withAnswer(parts, { call, order, gone }, async (answer) => {
    const frames: UpstreamFrame[] = []
    for await (const frame of answer.frames()) frames.push(frame)
    if (answer.fault) {
      await conclude(parts, { call, order, answer })
      throw answer.fault
    }
    const svc = await settleCall(parts, call, order, answer.record())
    return presentReply(call, order, frames, svc)
  })
}

/** Throws only while nothing was sent; after that, faults are told inside the stream. */
export async function streamChat(
  parts: ChatParts,
  call: ChatCall,
  client: EventStream,
): Promise<void> {
  const order = await placeOrder(parts, call)
  await withAnswer(parts, { call, order, gone: client.gone }, async (answer) => {
    if (answer.fault) {
      await conclude(parts, { call, order, answer })
      throw answer.fault
    }
    const { model, include_usage } = call.request
    const writer = call.dialect.openStream({ model, created: order.placed_at, include_usage })
    client.start()
    const stopKeepAlive = client.keepAlive(KEEP_ALIVE_MS, () => writer.keepAlive())
    try {
      const relays = order.upstream.dialect === call.dialect.name
      for await (const frame of answer.frames()) {
        await client.write(relays ? writer.relay(frame) : translate(writer, frame))
      }
    } finally {
      stopKeepAlive()
    }
    const svc = await conclude(parts, { call, order, answer })
    const last =
      svc && !answer.fault ? writer.finish(svc) : describeFault(parts, call, writer, answer.fault)
    await client.write(last)
    client.end()
  })
}

type Asked = { call: ChatCall; order: Order; gone: AbortSignal }

async function withAnswer<Result>(
  parts: ChatParts,
  { call, order, gone }: Asked,
  work: (answer: Answer) => Promise<Result>,
): Promise<Result> {
  const policy = disconnectPolicy(order.model, reasons(call.request))
  const departure = new Departure(gone, { policy, drains: parts.drains })
  try {
    const answer = new Answer(call, order, departure)
    await answer.open(call, order)
    return await work(answer)
  } finally {
    departure.close()
  }
}

/** Charges what was used, or gives everything back where nothing is owed. */
async function conclude(
  parts: ChatParts,
  { call, order, answer }: { call: ChatCall; order: Order; answer: Answer },
): Promise<SvcNumbers | undefined> {
  if (!answer.is_free) return await settleCall(parts, call, order, answer.record())
  await parts.ledger().release(order.hold)
  parts.metrics.gateway_calls.labels(order.model.name, 'free').inc()
  return undefined
}

function presentReply(
  call: ChatCall,
  order: Order,
  frames: readonly UpstreamFrame[],
  svc: SvcNumbers,
): string {
  const { dialect, request } = call
  const [only] = frames
  if (only && order.upstream.dialect === dialect.name) {
    return dialect.relayReply(only.data, request.model, svc)
  }
  const events = frames.flatMap((frame) => frame.events)
  return dialect.formatReply({ model: request.model, created: order.placed_at, events, svc })
}

/** Whether the request asks the model to think: its thoughts cannot be counted while they are under way. */
function reasons({ reasoning }: ChatRequest): boolean {
  return reasoning !== undefined && !(reasoning.kind === 'effort' && reasoning.effort === 'none')
}

function translate(writer: DialectStream, frame: UpstreamFrame): string {
  return frame.events.map((event) => writer.write(event)).join('')
}

function describeFault(
  parts: ChatParts,
  call: ChatCall,
  writer: DialectStream,
  fault: ApiError | undefined,
): string {
  if (!fault) return ''
  const { request_id, dialect } = call
  return writer.fail(
    renderError(fault, { dialect: dialect.name, request_id, public_url: parts.public_url }),
  )
}
