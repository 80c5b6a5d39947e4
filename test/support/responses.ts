// A client of POST /v1/responses, by hand: bodies as they are, replies read in OpenAI's words.

import assert from 'node:assert/strict'
import { createApp, type TestApp } from './app.ts'
import { recordsOf } from './gateway.ts'

const CREDITS = '100000000000'

export type Item = {
  id: string
  type: string
  role?: string
  call_id?: string
  name?: string
  namespace?: string
  arguments?: string
  input?: string
  encrypted_content?: string
  summary?: { text: string }[]
  content?: { type: string; text?: string }[]
}

export type Response = {
  id: string
  status: string
  model: string
  output: Item[]
  tools: unknown[]
  store: boolean
  usage: { input_tokens: number; output_tokens: number }
  svc: { credits_used: number; balance_before: number; balance_after: number; hint?: string }
}

export type Refused = { code: string; message: string; hint?: string; param?: string }

export type Responder = Awaited<ReturnType<typeof addResponder>>

export async function openResponder(settings: Record<string, string> = {}) {
  const service = await createApp({ settings: { WELCOME_CREDITS: CREDITS, ...settings } })
  return { service, ...(await addResponder(service)) }
}

/** One more account with a key. */
export async function addResponder(service: TestApp) {
  const { bearer, user_id } = await service.register()
  const { key } = await service.createKey(bearer)
  const post = (body: unknown, options: { path?: string; headers?: Record<string, string> } = {}) =>
    service.post(options.path ?? '/v1/responses', body, {
      authorization: `Bearer ${key}`,
      ...options.headers,
    })
  return {
    user_id,
    bearer,
    key,
    post,

    /** Whole or streamed: what is there in the end. */
    async respond(body: object, headers: Record<string, string> = {}): Promise<Response> {
      const reply = await post(body, { headers })
      assert.equal(reply.statusCode, 200, reply.body)
      if (!('stream' in body) || body.stream !== true) return reply.json()
      const last = recordsOf(reply.body).at(-1)
      assert.match(String(last?.event), /^response\.(completed|incomplete)$/)
      return JSON.parse(last?.data ?? '{}').response
    },

    async refusal(body: unknown, status = 400): Promise<Refused> {
      const reply = await post(body)
      assert.equal(reply.statusCode, status, reply.body)
      return reply.json().error
    },
  }
}

/** What a provider was asked last, as text. */
export function lastAsked({ sandbox }: Pick<TestApp, 'sandbox'>): string {
  return JSON.stringify(sandbox.requests().at(-1)?.body)
}

export function textOf({ output }: Pick<Response, 'output'>): string {
  return output
    .flatMap((item) => (item.type === 'message' ? (item.content ?? []) : []))
    .map((part) => part.text ?? '')
    .join('')
}

export const say = (content: string) => ({ role: 'user', content })
