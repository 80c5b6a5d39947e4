// Audio that is made: hold, ask, wait for the first bytes, settle, and pass on what comes as it comes. The provider
// charges for the whole text once it has begun, and so do we. Until then nothing is owed.

import type { FastifyReply } from 'fastify'
import type { AudioModel } from '../../catalog/models.ts'
import { renderError } from '../../http/error-handler.ts'
import { EventStream } from '../../http/event-stream.ts'
import { ApiError } from '../../platform/errors.ts'
import type { CallSignal } from '../../platform/http-call.ts'
import type { Hold } from '../../wallet/holds.ts'
import { CallLifetime } from '../call-lifetime.ts'
import { presentNumbers, type SvcNumbers } from '../dialects/dialect.ts'
import { AudioRecord } from '../idempotency/audio-record.ts'
import { serviceStopped } from '../provider-answer.ts'
import type { AudioReply } from '../upstreams/elevenlabs/elevenlabs.ts'
import { errorFromTransport, senseless } from '../upstreams/error-mapping.ts'
import {
  type AudioCall,
  type AudioParts,
  holdAudio,
  type Quantity,
  releaseAudio,
  setNumbers,
  settleAudio,
} from './audio-call.ts'

export type AudioWanted = {
  model: AudioModel
  quantity: Quantity
  /** What is counted, by its name. */
  counted: Record<string, number>
  content_type: string
  /** Whether the audio travels in server-sent events. */
  events: boolean
  ask(signal: CallSignal): Promise<AudioReply>
}

/** Throws only while nothing was sent. */
export async function serveAudio(
  parts: AudioParts,
  call: AudioCall,
  wanted: AudioWanted,
  reply: FastifyReply,
): Promise<void> {
  const { model, quantity } = wanted
  const client = new EventStream(reply)
  const hold = await holdAudio(parts, call, { model, least: quantity, most: quantity })
  // An abort would not stop the provider's bill.
  const lifetime = new CallLifetime({ policy: 'drain', drains: parts.drains })
  client.onLeave(() => lifetime.leave())
  call.running.onStop(() => lifetime.stop())
  try {
    const begun = await begin(parts, { wanted, hold, lifetime })
    const svc = await settleAudio(parts, call, { ...wanted, ...begun, hold, stream: true })
    setNumbers(reply, svc)
    const { request_id, claim } = call
    const kept = claim && new AudioRecord(claim)
    await passOn({ wanted, client, svc, pieces: begun.pieces, request_id, kept })
  } finally {
    lifetime.close()
  }
}

type Begun = {
  pieces: AsyncIterator<Uint8Array>
  first: Uint8Array
  provider_request_id: string | undefined
  started_at: number
}

/** The first bytes, or nothing is owed. */
async function begin(
  parts: AudioParts,
  { wanted, hold, lifetime }: { wanted: AudioWanted; hold: Hold; lifetime: CallLifetime },
): Promise<Omit<Begun, 'first'>> {
  const started_at = performance.now()
  try {
    if (lifetime.came_first) throw new Error('ended before the provider was asked')
    const audio = await wanted.ask(lifetime.signal)
    const rest = audio.body[Symbol.asyncIterator]()
    const first = await rest.next()
    if (first.done) throw senseless('elevenlabs', 'the audio is empty')
    return {
      pieces: startingWith(first.value, rest),
      provider_request_id: audio.request_id,
      started_at,
    }
  } catch (error) {
    await releaseAudio(parts, wanted.model, hold)
    if (lifetime.came_first === 'service') throw serviceStopped(false)
    if (lifetime.came_first === 'client') {
      throw new ApiError('bad_request', { status: 499, detail: 'the client left' })
    }
    throw errorFromTransport('elevenlabs', error)
  }
}

async function* startingWith(
  first: Uint8Array,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield first
    for (let read = await rest.next(); !read.done; read = await rest.next()) yield read.value
  } finally {
    await rest.return?.()
  }
}

type Passing = {
  wanted: AudioWanted
  client: EventStream
  svc: SvcNumbers
  pieces: AsyncIterator<Uint8Array>
  request_id: string
  /** Set where the client will come back for what it could not read. */
  kept: AudioRecord | undefined
}

/** It is paid for: whatever goes wrong now cuts the answer, so that nobody takes a part of it for the whole. */
async function passOn(passing: Passing): Promise<void> {
  const { wanted, client, svc, pieces, request_id, kept } = passing
  const { events, content_type } = wanted
  client.start(events ? undefined : content_type)
  const isWanted = () => !client.left || kept?.has_room === true
  try {
    for (let read = await pieces.next(); !read.done && isWanted(); read = await pieces.next()) {
      kept?.add(read.value)
      await client.write(events ? toDelta(read.value) : read.value)
    }
    await kept?.keep(svc, {
      content_type: events ? 'text/event-stream; charset=utf-8' : content_type,
      present: (audio) => (events ? toDelta(audio) + toDone(wanted, svc) : audio),
    })
    if (events) await client.write(toDone(wanted, svc))
    client.end()
  } catch (error) {
    const fault = error instanceof ApiError ? error : errorFromTransport('elevenlabs', error)
    await kept?.fail(fault)
    if (!events) {
      client.cut()
      return
    }
    await client.write(
      `data: ${renderError(fault, { dialect: 'openai', request_id, public_url: '' })}\n\n`,
    )
    client.end()
  } finally {
    await pieces.return?.()
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
