// The application with the background work of webhooks, run when a test says so.

import { fanOut } from '../../src/webhooks/fan-out.ts'
import { keepWebhookLog, sendDue } from '../../src/webhooks/jobs.ts'
import { createApp, type TestApp } from './app.ts'
import { type EventReceiver, startEventReceiver } from './event-receiver.ts'
import { eventually } from './eventually.ts'
import { createOAuthApp, type OAuthApp, type Person } from './oauth.ts'

export const ALL_EVENTS = [
  'user.connected',
  'user.disconnected',
  'balance.updated',
  'balance.low',
  'usage.completed',
]

export type WebhookReply = { id: string; secret: string; client_id: string; url: string }

export type DeliveryReply = {
  id: string
  event_id: string
  event_type: string
  status: string
  payload: Received
  attempt: number
  test: boolean
  next_attempt_at: string | null
  response_status: number | null
  response_body: string | null
  outcome: string | null
  reason: string | null
  delivered_at: string | null
  created_at: string
  attempts?: {
    number: number
    at: string
    duration_ms: number
    outcome: string
    reason: string
    response_status: number
    response_body: string
    request_headers: Record<string, string>
  }[]
}
type Received = { id: string; type: string; created_at: string; data: Record<string, unknown> }

export type WebhookService = Awaited<ReturnType<typeof createWebhookService>>

export async function createWebhookService(options: Parameters<typeof createApp>[0] = {}) {
  const service = await createApp(options)
  return { ...service, ...(await startWebhookWork(service)), ...managing(service) }
}

/** The background work of a service that a test has started in another way. */
export async function startWebhookWork({ parts }: Pick<TestApp, 'parts'>) {
  await keepWebhookLog(parts)
  const job_parts = { ...parts, wakeMailSender: () => {} }
  /** What the worker does: reads the outbox, sends what is due, and is done when it is answered. */
  const work = async () => {
    await fanOut(job_parts)
    await sendDue(job_parts)
    await eventually('the dispatcher is idle', () => parts.dispatcher.is_idle, 15_000)
  }
  return { work, job_parts }
}

export type Owner = {
  developer: Person
  app: OAuthApp
  receiver: EventReceiver
  webhook: WebhookReply
}

/** What a developer does over HTTP. */
function managing(service: TestApp) {
  const manage = (developer: Pick<Person, 'bearer'>) => {
    const ask = (method: 'GET' | 'PATCH' | 'DELETE', url: string, body?: object) =>
      service.request({
        method,
        url,
        headers: { ...developer.bearer, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { payload: JSON.stringify(body) }),
      })
    return {
      ask,
      post: (url: string, body: object = {}) => service.post(url, body, developer.bearer),
      list: async (id: string, query = '') =>
        (await ask('GET', `/v1/webhooks/${id}/deliveries${query}`)).json<{
          deliveries: DeliveryReply[]
          has_more: boolean
          next_cursor: string | null
        }>(),
      read: async (id: string, delivery_id: string) =>
        (await ask('GET', `/v1/webhooks/${id}/deliveries/${delivery_id}`)).json<DeliveryReply>(),
    }
  }
  const subscribe = async (
    developer: Person,
    wanted: { client_id: string; url: string; events?: string[]; low_balance_threshold?: number },
  ) => {
    const reply = await service.post(
      '/v1/webhooks',
      { events: ALL_EVENTS, ...wanted },
      developer.bearer,
    )
    if (reply.statusCode !== 201) throw new Error(`${reply.statusCode}: ${reply.body}`)
    return reply.json<WebhookReply>()
  }
  /** A developer with an app and a webhook that works. */
  const owner = async (options: { events?: string[]; low_balance_threshold?: number } = {}) => {
    const developer = await service.register()
    const app = await createOAuthApp(service, developer)
    const receiver = await startEventReceiver()
    const { client_id } = app
    const webhook = await subscribe(developer, { client_id, url: receiver.url, ...options })
    return { developer, app, receiver, webhook, ...manage(developer) }
  }
  /** One call that the holder of the key pays. */
  const call = async (key: string, headers: Record<string, string> = {}) => {
    const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hello' }] }
    const reply = await service.post('/v1/chat/completions', body, {
      authorization: `Bearer ${key}`,
      ...headers,
    })
    if (reply.statusCode !== 200) throw new Error(`${reply.statusCode}: ${reply.body}`)
    return reply.json<{
      usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number }
      svc: { credits_used: number; balance_before: number; balance_after: number }
    }>()
  }
  return { manage, subscribe, owner, call }
}
