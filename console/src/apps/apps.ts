// The data of the apps pages, and their writes.

import { useQuery } from '@tanstack/react-query'
import { api, ask } from '../api.ts'
import type { paths } from '../api-types.ts'
import { queries, useList } from '../queries.ts'

type Apps = paths['/developers/apps']
type OneApp = paths['/developers/apps/{id}']
export type App = Apps['get']['responses'][200]['content']['application/json']['data'][number]
export type AppWithUsers = OneApp['get']['responses'][200]['content']['application/json']
export type AppWithSecret = Apps['post']['responses'][201]['content']['application/json']
export type NewApp = NonNullable<Apps['post']['requestBody']>['content']['application/json']
export type AppChange = NonNullable<OneApp['patch']['requestBody']>['content']['application/json']
export type AppUser =
  paths['/developers/apps/{id}/users']['get']['responses'][200]['content']['application/json']['data'][number]
export type Scope = App['allowed_scopes'][number]
export type ClientType = App['client_type']

const APPS = ['apps']
const ONE_APP = ['app']

/** Where the app runs, as pages say it. */
export const KINDS: Record<ClientType, string> = {
  web_server: 'Web server',
  browser: 'Browser, without a server',
  native: 'Program on the user’s device',
}

/** A write, after which all that shows an app is read again. A secret in the answer is kept nowhere. */
async function written<Sent extends { data?: unknown; error?: unknown; response: Response }>(
  send: () => Promise<Sent>,
) {
  const answer = await ask(send)
  const stale = [APPS, ONE_APP, ['account']]
  await Promise.all(stale.map((queryKey) => queries.invalidateQueries({ queryKey })))
  return answer
}

export function useApps() {
  return useList<App>(APPS, (query) =>
    ask(() => api.GET('/developers/apps', { params: { query } })),
  )
}

export function useApp(id: string) {
  return useQuery({
    queryKey: [...ONE_APP, id],
    queryFn: () => ask(() => api.GET('/developers/apps/{id}', { params: { path: { id } } })),
  })
}

export function useAppUsers(id: string) {
  return useList<AppUser>([...ONE_APP, id, 'users'], (query) =>
    ask(() => api.GET('/developers/apps/{id}/users', { params: { path: { id }, query } })),
  )
}

export function createApp(body: NewApp): Promise<AppWithSecret> {
  return written(() => api.POST('/developers/apps', { body }))
}

export async function changeApp(id: string, body: AppChange): Promise<void> {
  await written(() => api.PATCH('/developers/apps/{id}', { params: { path: { id } }, body }))
}

export function rotateSecret(id: string, overlap_hours: number): Promise<AppWithSecret> {
  const given = { params: { path: { id } }, body: { overlap_hours } }
  return written(() => api.POST('/developers/apps/{id}/rotate-secret', given))
}

/** What showed the app is gone by then: only lists are read again. */
export async function deleteApp(id: string): Promise<void> {
  await ask(() => api.DELETE('/developers/apps/{id}', { params: { path: { id } } }))
  const stale = [APPS, ['webhooks'], ['keys'], ['account']]
  await Promise.all(stale.map((queryKey) => queries.invalidateQueries({ queryKey })))
}
