// One request for vectors, as all providers of embedding models are asked: JSON out, one JSON body back. Whatever goes
// wrong leaves here as an ApiError, and nothing is retried.

import type { EmbeddingModel } from '../../catalog/models.ts'
import type { CallSignal } from '../../platform/http-call.ts'
import type { UpstreamAddress } from './contract.ts'
import { errorFromTransport, type ProviderErrors, senseless } from './error-mapping.ts'
import { openExchange, type UpstreamOptions } from './exchange.ts'
import { isRecord, type JsonRecord, parseJson } from './json-values.ts'

const FLOAT_BYTES = 4

/** A text, or the ids of its tokens. */
export type EmbeddingInput = string | readonly number[]

export type EmbeddingsAsked = {
  model: EmbeddingModel
  inputs: readonly EmbeddingInput[]
  /** Undefined: as long as the model makes them. */
  dimensions: number | undefined
}

export type EmbeddingsAnswer = {
  /** In the order of the inputs: float32, little-endian, in base64. Digits would take four times the memory. */
  vectors: string[]
  /** Undefined: the provider has not said. */
  tokens: number | undefined
  request_id: string | undefined
}

/** All that is special about one provider. */
export type EmbeddingProfile = {
  errors: ProviderErrors
  request_id_headers: readonly string[]
  /** The most inputs of one request. */
  inputs_max: number
  takes_token_ids: boolean
  draft(
    address: UpstreamAddress,
    asked: EmbeddingsAsked,
  ): { url: string; headers: Record<string, string>; body: JsonRecord }
  /** Each vector as it came, in the order of the inputs. */
  read(body: JsonRecord): { vectors: readonly unknown[]; tokens: number | undefined }
}

export type Embedder = Pick<EmbeddingProfile, 'inputs_max' | 'takes_token_ids'> & {
  embed(
    asked: EmbeddingsAsked,
    terms: { address: UpstreamAddress; signal: CallSignal },
  ): Promise<EmbeddingsAnswer>
}

export function createEmbedder(profile: EmbeddingProfile, options: UpstreamOptions): Embedder {
  const { errors, inputs_max, takes_token_ids } = profile
  return {
    inputs_max,
    takes_token_ids,
    async embed(asked, { address, signal }) {
      const draft = profile.draft(address, asked)
      const reply = await openExchange(options, { ...draft, errors, signal, stream: false })
      const text = await reply.text().catch((error: unknown) => {
        throw errorFromTransport(errors.provider, error)
      })
      const { vectors, tokens } = readAnswer(profile, text, asked.inputs.length)
      const named = profile.request_id_headers.find((name) => reply.headers[name] !== undefined)
      return {
        vectors,
        tokens,
        request_id: named === undefined ? undefined : reply.headers[named],
      }
    },
  }
}

/** Nobody can tell which text a vector belongs to if one is missing, so then there is no answer. */
function readAnswer(profile: EmbeddingProfile, text: string, count: number) {
  const { provider } = profile.errors
  const body = parseJson(text)
  if (!isRecord(body)) throw senseless(provider, 'the answer is no JSON object')
  const { vectors, tokens } = profile.read(body)
  const packed = vectors.map(packVector)
  const whole = packed.filter((vector) => vector !== undefined)
  if (whole.length !== count || packed.length !== count) {
    throw senseless(provider, `${whole.length} vectors came for ${count} texts`)
  }
  return { vectors: whole, tokens }
}

/** Undefined: this is no vector. */
export function packVector(value: unknown): string | undefined {
  if (typeof value === 'string') return isPacked(value) ? value : undefined
  if (!Array.isArray(value) || value.length === 0) return undefined
  const bytes = Buffer.allocUnsafe(value.length * FLOAT_BYTES)
  for (let index = 0; index < value.length; index++) {
    const number: unknown = value[index]
    if (typeof number !== 'number' || !Number.isFinite(Math.fround(number))) return undefined
    bytes.writeFloatLE(number, index * FLOAT_BYTES)
  }
  return bytes.toString('base64')
}

export function unpackVector(base64: string): number[] {
  const bytes = Buffer.from(base64, 'base64')
  const numbers: number[] = []
  for (let at = 0; at < bytes.length; at += FLOAT_BYTES) numbers.push(bytes.readFloatLE(at))
  return numbers
}

function isPacked(text: string): boolean {
  const bytes = Buffer.byteLength(text, 'base64')
  return bytes > 0 && bytes % FLOAT_BYTES === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)
}
