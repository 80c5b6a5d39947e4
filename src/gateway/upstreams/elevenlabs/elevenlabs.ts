// ElevenLabs: speech, sounds, transcripts and voices. What is sent is built here; what comes back is bytes, or JSON.

import type { Readable } from 'node:stream'
import { type Clock, systemClock } from '../../../platform/clock.ts'
import type { CallSignal, HttpCall, HttpReply } from '../../../platform/http-call.ts'
import type { HttpClient } from '../../../platform/http-client.ts'
import type { UpstreamAddress } from '../contract.ts'
import { errorFromAnswer, errorFromTransport, senseless } from '../error-mapping.ts'
import { UPSTREAM_LIMITS, type UpstreamLimits } from '../exchange.ts'
import { isRecord, type JsonRecord, parseJson } from '../json-values.ts'
import { ELEVENLABS_ERRORS } from './errors.ts'

const MAX_ERROR_BYTES = 1024 * 1024
const MAX_TRANSCRIPT_BYTES = 32 * 1024 * 1024
const MAX_LIST_BYTES = 8 * 1024 * 1024

export type ElevenlabsOptions = {
  client: HttpClient
  clock?: Clock
  limits?: Partial<UpstreamLimits>
}

export type SpeechWanted = {
  model_id: string
  voice_id: string
  text: string
  output_format: string
  speed: number | undefined
}

export type SoundWanted = {
  model_id: string
  text: string
  output_format: string
  seconds: number | undefined
  prompt_influence: number | undefined
  loop: boolean | undefined
}

export type Upload = { body: Readable; content_type: string; length: number }

export type AudioReply = {
  request_id: string | undefined
  content_type: string
  body: AsyncIterable<Uint8Array>
}

/** Each throws an ApiError of our table. Nothing is retried. */
export class Elevenlabs {
  readonly #options: ElevenlabsOptions
  readonly #address: UpstreamAddress

  constructor(options: ElevenlabsOptions, address: UpstreamAddress) {
    this.#options = options
    this.#address = address
  }

  async speak(wanted: SpeechWanted, signal: CallSignal): Promise<AudioReply> {
    const { model_id, voice_id, text, output_format, speed } = wanted
    const path = `/v1/text-to-speech/${encodeURIComponent(voice_id)}/stream`
    const body = { text, model_id, ...(speed !== undefined && { voice_settings: { speed } }) }
    return toAudio(await this.#post(`${path}?output_format=${output_format}`, body, signal))
  }

  async makeSound(wanted: SoundWanted, signal: CallSignal): Promise<AudioReply> {
    const { model_id, text, output_format, seconds, prompt_influence, loop } = wanted
    const body = {
      text,
      model_id,
      ...(seconds !== undefined && { duration_seconds: seconds }),
      ...(prompt_influence !== undefined && { prompt_influence }),
      ...(loop !== undefined && { loop }),
    }
    const path = `/v1/sound-generation?output_format=${output_format}`
    return toAudio(await this.#post(path, body, signal))
  }

  async transcribe(
    upload: Upload,
    signal: CallSignal,
  ): Promise<{ request_id: string | undefined; transcript: JsonRecord }> {
    const reply = await this.#send('/v1/speech-to-text', {
      body: upload.body,
      headers: {
        'content-type': upload.content_type,
        'content-length': String(upload.length),
      },
      signal,
      // It says nothing before it has heard everything.
      headers_ms: this.#limits.first_byte_ms,
    })
    const transcript = await readJson(reply, MAX_TRANSCRIPT_BYTES)
    return { request_id: requestIdOf(reply), transcript }
  }

  async voices(signal: CallSignal): Promise<JsonRecord> {
    const reply = await this.#send('/v1/voices', { method: 'GET', headers: {}, signal })
    return await readJson(reply, MAX_LIST_BYTES)
  }

  async #post(path: string, body: object, signal: CallSignal): Promise<HttpReply> {
    const headers = { 'content-type': 'application/json' }
    return await this.#send(path, { body: JSON.stringify(body), headers, signal })
  }

  get #limits(): UpstreamLimits {
    return { ...UPSTREAM_LIMITS, ...this.#options.limits }
  }

  async #send(
    path: string,
    { headers_ms, ...call }: Omit<HttpCall, 'url' | 'limits'> & { headers_ms?: number },
  ): Promise<HttpReply> {
    const { client, clock = systemClock } = this.#options
    const limits = this.#limits
    try {
      const reply = await client.send({
        ...call,
        url: this.#address.base_url + path,
        headers: { ...call.headers, 'xi-api-key': this.#address.api_key },
        limits: {
          headers_ms: headers_ms ?? limits.first_byte_stream_ms,
          idle_ms: limits.idle_ms,
          total_ms: limits.total_ms,
        },
      })
      if (reply.status === 200) return reply
      const { status, headers } = reply
      const body = await reply.text(MAX_ERROR_BYTES).catch(() => '')
      throw errorFromAnswer(ELEVENLABS_ERRORS, { status, headers, body, now: clock.now() })
    } catch (error) {
      throw errorFromTransport('elevenlabs', error)
    }
  }
}

function toAudio(reply: HttpReply): AudioReply {
  const content_type = reply.headers['content-type'] ?? 'application/octet-stream'
  return { request_id: requestIdOf(reply), content_type, body: reply.body }
}

function requestIdOf({ headers }: HttpReply): string | undefined {
  return headers['request-id'] ?? headers['x-trace-id']
}

async function readJson(reply: HttpReply, max_bytes: number): Promise<JsonRecord> {
  try {
    const body = parseJson(await reply.text(max_bytes))
    if (!isRecord(body)) throw senseless('elevenlabs', 'the answer is no JSON object')
    return body
  } catch (error) {
    throw errorFromTransport('elevenlabs', error)
  }
}
