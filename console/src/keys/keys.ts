// The data of this page: keys, and the apps that a key can be bound to.

import { api, ask } from '../api.ts'
import type { paths } from '../api-types.ts'
import { queries, useList } from '../queries.ts'

export type Key =
  paths['/developers/keys']['get']['responses'][200]['content']['application/json']['data'][number]
export type IssuedKey =
  paths['/developers/keys']['post']['responses'][201]['content']['application/json']
export type NewKey = NonNullable<
  paths['/developers/keys']['post']['requestBody']
>['content']['application/json']
export type KeyChange = NonNullable<
  paths['/developers/keys/{id}']['patch']['requestBody']
>['content']['application/json']

const KEYS = ['keys']

/** A write, after which the list and the account's checklist are read again. A secret in the answer is kept nowhere. */
async function written<Sent extends { data?: unknown; error?: unknown; response: Response }>(
  send: () => Promise<Sent>,
) {
  const answer = await ask(send)
  await Promise.all([KEYS, ['account']].map((queryKey) => queries.invalidateQueries({ queryKey })))
  return answer
}

export function useKeys() {
  return useList<Key>(KEYS, (query) =>
    ask(() => api.GET('/developers/keys', { params: { query } })),
  )
}

export function useApps(options: { enabled: boolean }) {
  return useList(
    ['apps'],
    (query) => ask(() => api.GET('/developers/apps', { params: { query } })),
    options,
  )
}

export function createKey(body: NewKey): Promise<IssuedKey> {
  return written(() => api.POST('/developers/keys', { body }))
}

export function changeKey(id: string, body: KeyChange): Promise<Key> {
  return written(() => api.PATCH('/developers/keys/{id}', { params: { path: { id } }, body }))
}

export function rotateKey(id: string, overlap_hours: number): Promise<IssuedKey> {
  const body = { overlap_hours }
  return written(() => api.POST('/developers/keys/{id}/rotate', { params: { path: { id } }, body }))
}

export async function revokeKey(id: string): Promise<void> {
  await written(() => api.DELETE('/developers/keys/{id}', { params: { path: { id } } }))
}
