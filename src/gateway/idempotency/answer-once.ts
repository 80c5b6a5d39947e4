// The header Idempotency-Key of calls to models: without it, nothing of this happens.

import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { ApiError } from '../../platform/errors.ts'
import { hashBody } from '../../wallet/idempotency.ts'
import { Claim } from './claim.ts'
import type { IdempotentCalls, Kept, KeyedCall } from './idempotent-calls.ts'
import type { KeptResult } from './kept-result.ts'

const KEY_PATTERN = /^[\x21-\x7e]{1,255}$/

export const IdempotencyHeader = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      description:
        '1 to 255 visible characters, your choice. For 24 hours the same key and body get the same result, with `Idempotent-Replayed: true`, and are charged once; 409 while the first is running.',
      examples: ['order-2041'],
    }),
  ),
})

export type OnceParts = { idempotent_calls: IdempotentCalls }

export type OnceAsked = Pick<KeyedCall, 'endpoint' | 'payer'> & {
  request: FastifyRequest
  reply: FastifyReply
  /** The digest of what was sent. */
  digestBody: () => Buffer | Promise<Buffer>
  /** Answers with what came of the call before, whose id is the second. */
  replay: (result: KeptResult, id: string) => unknown
  /** Hears of a key that is not valid, used otherwise or in use. */
  onRefusal?: (error: unknown) => void
}

export function hasKey(request: FastifyRequest): boolean {
  return request.headers['idempotency-key'] !== undefined
}

/** Makes the call, or answers as the first with the same key and body was answered. */
export async function answerOnce(
  parts: OnceParts,
  asked: OnceAsked,
  work: (claim: Claim) => Promise<unknown>,
): Promise<unknown> {
  const { reply } = asked
  const found = await begin(parts, asked).catch((error: unknown) => {
    asked.onRefusal?.(error)
    throw error
  })
  reply.header('x-svc-generation-id', found.id)
  if (!(found instanceof Claim)) {
    reply.header('idempotent-replayed', 'true')
    return asked.replay(found.result, found.id)
  }
  try {
    return await work(found)
  } catch (error) {
    await found.fail(error)
    throw error
  } finally {
    parts.idempotent_calls.end(found)
  }
}

async function begin(parts: OnceParts, asked: OnceAsked): Promise<Claim | Kept> {
  const { request, endpoint, payer } = asked
  const key = readKey(request.headers['idempotency-key'])
  const digest = digestOf(asked, await asked.digestBody())
  return await parts.idempotent_calls.begin({ key, endpoint, payer, digest })
}

/** For a body that came as JSON; the order of its fields does not matter. */
export function digestJson(body: unknown): Buffer {
  return hashBody(body)
}

function readKey(header: string | string[] | undefined): string {
  if (typeof header === 'string' && KEY_PATTERN.test(header)) return header
  throw new ApiError('bad_request', {
    message: 'The Idempotency-Key header is not 1 to 255 visible ASCII characters.',
    hint: 'Send one key, such as a UUID, or leave the header out.',
    param: 'Idempotency-Key',
  })
}

/** The endpoint and the payer's wallet are part of the claim's place; this is the rest of what decides the answer. */
function digestOf({ payer, request }: OnceAsked, body: Buffer): Buffer {
  const { client_id, external_user_id } = payer
  const about = [client_id, external_user_id, request.headers['anthropic-beta']]
  return createHash('sha256').update(JSON.stringify(about)).update(body).digest()
}
