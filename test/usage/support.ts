// People who make calls, and what the record says of them.

import assert from 'node:assert/strict'
import { foldUsage } from '../../src/usage/jobs.ts'
import { createApp, type TestApp } from '../support/app.ts'
import { connectHosted, createOAuthApp } from '../support/oauth.ts'

export type Person = Awaited<ReturnType<TestApp['register']>>

export type CallItem = {
  id: string
  status: string
  error_code: string | null
  model: string
  upstream_model: string | null
  endpoint: string
  source: string
  stream: boolean
  user_id: string
  key_id: string | null
  client_id: string | null
  external_user_id: string | null
  request_id: string
  input_tokens: number
  cached_input_tokens: number
  cache_write_tokens: number
  output_tokens: number
  prices: Record<string, number> | null
  cost_credits: number
  markup_credits: number
  credits_used: number
  balance_before: number | null
  balance_after: number | null
  latency_ms: number | null
  first_token_ms: number | null
  ignored_fields: string[]
}

export type Cell = { start: string; group: string | null; is_other: boolean } & Record<
  string,
  number
>

export type Summary = {
  from: string
  to: string
  timezone: string
  data: Cell[]
  total: Record<string, number>
}

export type Desk = Awaited<ReturnType<typeof openDesk>>

export async function openDesk(settings: Record<string, string> = {}) {
  const service = await createApp({ settings: { WELCOME_CREDITS: '1000000', ...settings } })
  const { parts } = service
  const get = (url: string, headers: Record<string, string>) => service.request({ url, headers })
  const read = async <Body>(url: string, headers: Record<string, string>): Promise<Body> => {
    const reply = await get(url, headers)
    assert.equal(reply.statusCode, 200, reply.body)
    return reply.json<Body>()
  }
  const ask = (headers: Record<string, string>, prompt: string, more: object = {}) =>
    service.post(
      '/v1/chat/completions',
      { model: 'gpt-4o-mini', messages: [{ role: 'user', content: prompt }], ...more },
      headers,
    )
  /** As the jobs would: what failed is written, what was settled is in the sums. */
  const flush = () => parts.failed_calls.flush(parts.db)
  const fold = () => foldUsage({ ...parts, wakeMailSender: () => {} })
  const usage = async (person: Person, query = '') => {
    await flush()
    return (await read<{ data: CallItem[] }>(`/account/usage${query}`, person.bearer)).data
  }
  const summary = (person: Person, query = '') =>
    read<Summary>(`/account/usage/summary${query}`, person.bearer)
  return { ...service, get, read, ask, flush, fold, usage, summary }
}

/** A developer with an app and a user of it who pays. */
export async function openApp(desk: Desk, markup_percent = 20) {
  const developer = await desk.register()
  const user = await desk.register()
  const app = await createOAuthApp(desk, developer, { markup_percent })
  await connectHosted(desk, { app, user, external_user_id: 'ext-1' })
  const { key, id: key_id } = await desk.createKey(developer.bearer, { billing_mode: 'user' })
  const headers = { authorization: `Bearer ${key}`, 'x-svc-user': 'ext-1' }
  return { developer, user, app, key_id, headers }
}
