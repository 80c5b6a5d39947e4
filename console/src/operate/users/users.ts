// The data of the lists of people and apps, and of one person; and what operators do to them.

import { useQuery } from '@tanstack/react-query'
import { api, ask } from '../../api.ts'
import { useList } from '../../queries.ts'
import { act, OPERATE, type Read, type RowOf } from '../operate.ts'

export type User = RowOf<'/operator/users'>
export type App = RowOf<'/operator/apps'>
export type UserDetails = Read<'/operator/users/{id}'>
export type UserKey = UserDetails['keys'][number]
export type UserApp = UserDetails['apps'][number]

export function useUsers(query: string) {
  return useList<User>([OPERATE, 'users', query], (page) =>
    ask(() =>
      api.GET('/operator/users', { params: { query: { ...page, ...(query && { query }) } } }),
    ),
  )
}

export function useOperatorApps(query: string) {
  return useList<App>([OPERATE, 'apps', query], (page) =>
    ask(() =>
      api.GET('/operator/apps', { params: { query: { ...page, ...(query && { query }) } } }),
    ),
  )
}

export function useUser(id: string) {
  return useQuery({
    queryKey: [OPERATE, 'user', id],
    queryFn: () => ask(() => api.GET('/operator/users/{id}', { params: { path: { id } } })),
  })
}

export function suspendUser(id: string, reason: string) {
  return act(() =>
    api.POST('/operator/users/{id}/suspend', { params: { path: { id } }, body: { reason } }),
  )
}

export function resumeUser(id: string, reason: string) {
  return act(() =>
    api.POST('/operator/users/{id}/resume', { params: { path: { id } }, body: { reason } }),
  )
}

export function endSessions(id: string, reason: string) {
  return act(() =>
    api.POST('/operator/users/{id}/end-sessions', { params: { path: { id } }, body: { reason } }),
  )
}

export function grantCredits(
  id: string,
  body: { credits: number; paid: boolean; reason: string },
  idempotency_key: string,
) {
  const header = { 'idempotency-key': idempotency_key }
  return act(() =>
    api.POST('/operator/users/{id}/grant', { params: { path: { id }, header }, body }),
  )
}

export function limitKey(
  path: { id: string; key_id: string },
  body: { rate_limit_per_minute: number; reason: string },
) {
  return act(() => api.PATCH('/operator/users/{id}/keys/{key_id}', { params: { path }, body }))
}
