// Audio that is made: hold, ask, wait for the first bytes, settle, and pass on what comes as it comes. The provider
// charges for the whole text once it has begun, and so do we. Until then nothing is owed.

import type { FastifyReply } from 'fastify'
import type { AudioModel } from '../../catalog/models.ts'
import { renderError } from '../../http/error-handler.ts'
import { EventStream } from '../../http/event-stream.ts'
import type { CallSignal } from '../../platform/http-call.ts'
import type { CallLifetime } from '../call-lifetime.ts'
import { presentNumbers, type SvcNumbers } from '../dialects/dialect.ts'
import { AudioRecord } from '../idempotency/audio-record.ts'
import {
  beginLifetime,
  concludeFailed,
  holdInput,
  type InputCall,
  type Quantity,
  requireStillWanted,
  setNumbers,
  settleInput,
} from '../input-call.ts'
import { serviceStopped } from '../provider-answer.ts'
import type { AudioReply } from '../upstreams/elevenlabs/elevenlabs.ts'
import { errorFromTransport, senseless } from '../upstreams/error-mapping.ts'
import type { AudioParts } from './audio-call.ts'

export type AudioWanted = {
  model: AudioModel
  quantity: Quantity
  /** What is counted, by its name. */
  counted: Record<string, number>
  /** What was asked for and cannot be done. */
  ignored: readonly string[]
  content_type: string
  /** Whether the audio travels in server-sent events. */
  events: boolean
  ask(signal: CallSignal): Promise<AudioReply>
}

/** Throws only while nothing was sent. */
export async function serveAudio(
  parts: AudioParts,
  call: InputCall,
  wanted: AudioWanted,
  reply: FastifyReply,
): Promise<void> {
  const { model, quantity } = wanted
  const client = new EventStream(reply)
  const hold = await holdInput(parts, call, { model, least: quantity, most: quantity })
  const lifetime = beginLifetime(parts, call, client)
  const use = { ...wanted, hold, started_at: performance.now() }
  try {
    const begun = await begin(wanted, lifetime).catch(async (error: unknown) => {
      throw await concludeFailed(parts, call, { use, lifetime, error })
    })
    try {
      const svc = await settleInput(parts, call, { ...use, ...begun })
      setNumbers(reply, svc)
      const kept = call.claim && new AudioRecord(call.claim)
      await passOn(parts, { call, wanted, lifetime, client, svc, begun, kept })
    } finally {
      await begun.rest.return?.()
    }
  } finally {
    lifetime.close()
  }
}

type Begun = {
  first: Uint8Array
  rest: AsyncIterator<Uint8Array>
  provider_request_id: string | undefined
}

/** The first bytes, or nothing is owed. */
async function begin(wanted: AudioWanted, lifetime: CallLifetime): Promise<Begun> {
  requireStillWanted(lifetime)
  const { body, request_id } = await wanted.ask(lifetime.signal)
  const rest = body[Symbol.asyncIterator]()
  const { done, value: first } = await rest.next()
  if (done) throw senseless('elevenlabs', 'the audio is empty')
  return { first, rest, provider_request_id: request_id }
}

type Passing = {
  call: InputCall
  wanted: AudioWanted
  lifetime: CallLifetime
  client: EventStream
  svc: SvcNumbers
  begun: Begun
  /** Set where the client will come back for what it could not read. */
  kept: AudioRecord | undefined
}

/** It is paid for: whatever goes wrong now cuts the answer, so that nobody takes a part of it for the whole. */
async function passOn(parts: AudioParts, passing: Passing): Promise<void> {
  const { wanted, client, svc, begun, lifetime, kept } = passing
  const { events, content_type } = wanted
  const write = async (piece: Uint8Array) => {
    kept?.add(piece)
    await client.write(events ? toDelta(piece) : piece)
  }
  const isWanted = () => !client.left || kept?.has_room === true
  client.start(events ? undefined : content_type)
  try {
    await write(begun.first)
    while (isWanted()) {
      const read = await begun.rest.next()
      if (read.done) break
      await write(read.value)
    }
    await kept?.keep(svc, {
      content_type: events ? 'text/event-stream; charset=utf-8' : content_type,
      present: (audio) => (events ? toDelta(audio) + toDone(wanted, svc) : audio),
    })
    if (events) await client.write(toDone(wanted, svc))
    else client.end()
  } catch (error) {
    const fault =
      lifetime.ended_by === 'service'
        ? serviceStopped(true)
        : errorFromTransport('elevenlabs', error)
    await kept?.fail(fault)
    if (!events) {
      client.cut()
      return
    }
    const about = { request_id: passing.call.request_id, public_url: parts.public_url }
    await client.write(`data: ${renderError(fault, { dialect: 'openai', ...about })}\n\n`)
  } finally {
    // Whatever goes wrong with its last words, a stream that has begun ends.
    if (events) client.end()
  }
}

function toDelta(piece: Uint8Array): string {
  const audio = Buffer.from(piece).toString('base64')
  return `data: {"type":"speech.audio.delta","audio":"${audio}"}\n\n`
}

/** Characters stand where OpenAI counts tokens: its clients ask for the fields. */
function toDone({ quantity }: AudioWanted, svc: SvcNumbers): string {
  const usage = { input_tokens: quantity, output_tokens: 0, total_tokens: quantity }
  const done = { type: 'speech.audio.done', usage, svc: presentNumbers(svc) }
  return `data: ${JSON.stringify(done)}\n\n`
}
