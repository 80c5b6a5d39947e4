// The data of the webhook pages, and their writes.

import { useQuery } from '@tanstack/react-query'
import { api, ask } from '../api.ts'
import type { paths } from '../api-types.ts'
import { queries, useList } from '../queries.ts'

type Webhooks = paths['/v1/webhooks']
export type Webhook =
  Webhooks['get']['responses'][200]['content']['application/json']['data'][number]
export type WebhookWithSecret = Webhooks['post']['responses'][201]['content']['application/json']
export type NewWebhook = NonNullable<Webhooks['post']['requestBody']>['content']['application/json']
export type WebhookChange = NonNullable<
  paths['/v1/webhooks/{id}']['patch']['requestBody']
>['content']['application/json']
export type EventName = Webhook['events'][number]
export type WebhookCounts =
  paths['/v1/webhooks/stats']['get']['responses'][200]['content']['application/json']['data'][number]

const WEBHOOKS = ['webhooks']
const ONE_WEBHOOK = ['webhook']

/** A write, after which all that shows a webhook is read again. A secret in the answer is kept nowhere. */
async function written<Sent extends { data?: unknown; error?: unknown; response: Response }>(
  send: () => Promise<Sent>,
) {
  const answer = await ask(send)
  const stale = [WEBHOOKS, ONE_WEBHOOK, ['account']]
  await Promise.all(stale.map((queryKey) => queries.invalidateQueries({ queryKey })))
  return answer
}

export function useWebhooks() {
  return useList<Webhook>([...WEBHOOKS, 'list'], (query) =>
    ask(() => api.GET('/v1/webhooks', { params: { query } })),
  )
}

/** The same pages as the list of webhooks. */
export function useWebhookStats(options: { enabled: boolean }) {
  return useList<WebhookCounts>(
    [...WEBHOOKS, 'stats'],
    (query) => ask(() => api.GET('/v1/webhooks/stats', { params: { query } })),
    options,
  )
}

/** The apps that a webhook can be of. */
export function useApps(options: { enabled: boolean }) {
  return useList(
    ['apps'],
    (query) => ask(() => api.GET('/developers/apps', { params: { query } })),
    options,
  )
}

export function useWebhook(id: string) {
  return useQuery({
    queryKey: [...ONE_WEBHOOK, id],
    queryFn: () => ask(() => api.GET('/v1/webhooks/{id}', { params: { path: { id } } })),
  })
}

export function useStatsOf(id: string) {
  return useQuery({
    queryKey: [...ONE_WEBHOOK, id, 'stats'],
    queryFn: () => ask(() => api.GET('/v1/webhooks/{id}/stats', { params: { path: { id } } })),
  })
}

export function createWebhook(body: NewWebhook): Promise<WebhookWithSecret> {
  return written(() => api.POST('/v1/webhooks', { body }))
}

export async function changeWebhook(id: string, body: WebhookChange): Promise<void> {
  await written(() => api.PATCH('/v1/webhooks/{id}', { params: { path: { id } }, body }))
}

export function rotateWebhookSecret(
  id: string,
  overlap_seconds: number,
): Promise<WebhookWithSecret> {
  const given = { params: { path: { id } }, body: { overlap_seconds } }
  return written(() => api.POST('/v1/webhooks/{id}/rotate-secret', given))
}

export async function endPreviousSecret(id: string): Promise<void> {
  const given = { params: { path: { id } } }
  await written(() => api.DELETE('/v1/webhooks/{id}/previous-secret', given))
}

/** What showed it is on its way out: only the lists are read again. */
export async function deleteWebhook(id: string): Promise<void> {
  await ask(() => api.DELETE('/v1/webhooks/{id}', { params: { path: { id } } }))
  const stale = [WEBHOOKS, ['account']]
  await Promise.all(stale.map((queryKey) => queries.invalidateQueries({ queryKey })))
}
