// One chat call from hold to settlement, streamed or not. The order is always the same: hold, ask, relay,
// settle, and only then say that it is over: whoever sees the end of an answer has been charged for it.

import { renderError } from '../http/error-handler.ts'
import type { EventStream } from '../http/event-stream.ts'
import { ApiError } from '../platform/errors.ts'
import { CallLifetime } from './call-lifetime.ts'
import type { ChatEvent } from './dialects/chat-types.ts'
import {
  type DialectStream,
  ERROR_DIALECTS,
  type SvcNumbers,
  type WholeAnswer,
} from './dialects/dialect.ts'
import type { OutputItem } from './dialects/responses/terms.ts'
import { noteFailure, placeOrNote } from './failures.ts'
import { HoldGrowth } from './hold-growth.ts'
import type { ChatCall, ChatParts, Order } from './order.ts'
import { promptTokens } from './prompt-size.ts'
import { type Outcome, ProviderAnswer } from './provider-answer.ts'
import { settleCall, withoutRetry } from './settlement.ts'
import type { UpstreamFrame } from './upstreams/contract.ts'

const KEEP_ALIVE_MS = 15_000

/** The whole answer as JSON text. */
export async function completeChat(
  parts: ChatParts,
  call: ChatCall,
  client: EventStream,
): Promise<string> {
  const order = await placeOrNote(parts, call)
  const lifetime = beginLifetime(parts, { call, order, client })
  try {
    const answer = await askProvider(parts, { call, order, lifetime })
    const frames: UpstreamFrame[] = []
    for (let read = await answer.read(); read; read = await answer.read()) frames.push(...read)
    const svc = await conclude(parts, { call, order, outcome: answer.conclude() })
    if (svc instanceof ApiError) throw svc
    const said = { call, order, answer }
    await keepItems(parts, call, () => call.dialect.itemsOf?.(wholeAnswer(said, frames)))
    return presentReply(said, frames, svc)
  } finally {
    lifetime.close()
  }
}

/** Throws only while nothing was sent; after that, faults are told inside the stream. */
export async function streamChat(
  parts: ChatParts,
  call: ChatCall,
  client: EventStream,
): Promise<void> {
  const order = await placeOrNote(parts, call)
  const lifetime = beginLifetime(parts, { call, order, client })
  try {
    const answer = await askProvider(parts, { call, order, lifetime })
    if (answer.fault) {
      const svc = await conclude(parts, { call, order, outcome: answer.conclude() })
      throw svc instanceof ApiError ? svc : answer.fault
    }
    await sendStream(parts, { call, order, answer, client })
  } finally {
    lifetime.close()
  }
}

function beginLifetime({ drains }: ChatParts, { call, order, client }: Asked): CallLifetime {
  return CallLifetime.begin(call, { model: order.model, drains, client })
}

async function askProvider(
  parts: ChatParts,
  { call, order, lifetime }: { call: ChatCall; order: Order; lifetime: CallLifetime },
): Promise<ProviderAnswer> {
  const { growth: terms } = order
  const growth = terms && new HoldGrowth(parts, { call, order, terms }, lifetime.signal)
  const answer = new ProviderAnswer(call, order, { lifetime, growth })
  await answer.open(order)
  return answer
}

async function sendStream(
  parts: ChatParts,
  { call, order, answer, client }: Asked & { answer: ProviderAnswer },
): Promise<void> {
  const { include_usage, style } = call.request
  const writer = call.dialect.openStream({
    call_id: call.id,
    model: order.model.name,
    created: order.placed_at,
    include_usage,
    style,
    credits_limit: order.credits_limit,
    estimatePrompt: () => promptTokens(call.request, order.model, 'close'),
  })
  client.start()
  const stopKeepAlive = client.keepAlive(KEEP_ALIVE_MS, () => writer.keepAlive())
  const present = (frames: readonly UpstreamFrame[]) =>
    relaysStream(call, order) ? relay(writer, frames) : translate(writer, frames)
  await guarded(parts, { call, answer }, async () => {
    for (let read = await answer.read(); read; read = await answer.read()) {
      call.claim?.hear(read)
      await client.write(present(read))
    }
  })
  const svc = await guarded(parts, { call, answer }, () =>
    conclude(parts, { call, order, outcome: answer.conclude() }),
  )
  stopKeepAlive()
  try {
    const { cut_usage } = answer
    const end = cut_usage ? writer.reachLimit(cut_usage) : ''
    const fault = svc instanceof ApiError ? svc : answer.fault
    const is_whole = svc !== undefined && !(svc instanceof ApiError)
    if (is_whole) await keepItems(parts, call, () => writer.items?.())
    const ended = parts.clock.now()
    const { placed_at: created, credits_limit } = order
    const times = { created, ended, credits_limit }
    await call.claim?.keepStream(times, { end: is_whole ? svc : fault, cut_usage })
    await client.write(
      is_whole ? end + writer.finish(svc, ended) : describeFault(parts, call, { writer, fault }),
    )
  } finally {
    // Whatever goes wrong with its last words, a stream that has begun ends.
    client.end()
  }
}

/** A stream is kept as neutral events, so the ids of one that may be told again are ours. */
function relaysStream({ claim, dialect }: ChatCall, { prepared }: Order): boolean {
  return prepared.relays && !(claim && dialect.has_lasting_ids)
}

/** Once the stream has begun, a mistake of ours ends it as one of the provider's does: nobody would see it thrown. */
async function guarded<Result>(
  parts: ChatParts,
  { call, answer }: { call: ChatCall; answer: ProviderAnswer },
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

/**
 * Charges what was used, or gives everything back where nothing is owed. The numbers of a whole answer, or what
 * went wrong with the others, charged or not.
 */
async function conclude(
  parts: ChatParts,
  { call, order, outcome }: { call: ChatCall; order: Order; outcome: Outcome },
): Promise<SvcNumbers | ApiError> {
  if (outcome.kind === 'free') {
    await parts.ledger().release(order.hold)
    parts.metrics.gateway_calls.inc({ model: order.model.name, outcome: 'free' })
    noteFailure(parts, call, { error: outcome.fault, outcome: outcome.ended })
    return outcome.fault
  }
  try {
    const svc = await settleCall(parts, call, order, outcome.record)
    return outcome.fault ? withoutRetry(outcome.fault) : svc
  } catch (error) {
    throw withoutRetry(error)
  }
}

/** Once it is paid for and before its last words: whoever sees an id can refer to it. */
async function keepItems(
  { response_items }: ChatParts,
  { request, payer }: ChatCall,
  present: () => readonly OutputItem[] | undefined,
): Promise<void> {
  if (request.style?.responses?.stores_items) await response_items.keep(payer, present)
}

type Answered = { call: ChatCall; order: Order; answer: ProviderAnswer }

function presentReply(
  answered: Answered,
  frames: readonly UpstreamFrame[],
  svc: SvcNumbers,
): string {
  const { dialect } = answered.call
  try {
    const whole = { ...wholeAnswer(answered, frames), svc }
    const { relayed } = whole
    return relayed === undefined ? dialect.formatReply(whole) : dialect.relayReply(relayed, whole)
  } catch (error) {
    throw withoutRetry(error)
  }
}

function wholeAnswer(
  { call, order, answer }: Answered,
  frames: readonly UpstreamFrame[],
): Omit<WholeAnswer, 'svc'> {
  return {
    call_id: call.id,
    model: order.model.name,
    created: order.placed_at,
    events: eventsOf(frames, answer),
    style: call.request.style,
    credits_limit: order.credits_limit || answer.cut_usage !== undefined,
    relayed: order.prepared.relays && !order.stream ? frames[0]?.data : undefined,
  }
}

/** All that was said; where we ended it, with the end that the provider would have given it at its limit. */
function eventsOf(
  frames: readonly UpstreamFrame[],
  { cut_usage: usage }: ProviderAnswer,
): ChatEvent[] {
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
  { request_id, dialect }: ChatCall,
  { writer, fault }: { writer: DialectStream; fault: ApiError | undefined },
): string {
  if (!fault) return ''
  return writer.fail(
    renderError(fault, {
      dialect: ERROR_DIALECTS[dialect.name],
      request_id,
      public_url: parts.public_url,
    }),
  )
}
