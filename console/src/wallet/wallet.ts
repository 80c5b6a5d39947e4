// The data of this page: the apps that may use the balance, and when to be told that it is low.

import { api, ask } from '../api.ts'
import type { paths } from '../api-types.ts'
import { queries, useAccount, useList } from '../queries.ts'

export type Account = NonNullable<ReturnType<typeof useAccount>['data']>
export type Connection =
  paths['/account/connections']['get']['responses'][200]['content']['application/json']['data'][number]
export type Cap = NonNullable<
  paths['/account/connections/{client_id}']['patch']['requestBody']
>['content']['application/json']

const CONNECTIONS = ['connections']

export function useConnections() {
  return useList<Connection>(CONNECTIONS, (query) =>
    ask(() => api.GET('/account/connections', { params: { query } })),
  )
}

export async function setCap(client_id: string, body: Cap): Promise<void> {
  const params = { path: { client_id } }
  await ask(() => api.PATCH('/account/connections/{client_id}', { params, body }))
  await queries.invalidateQueries({ queryKey: CONNECTIONS })
}

export async function disconnect(client_id: string): Promise<void> {
  const params = { path: { client_id } }
  await ask(() => api.DELETE('/account/connections/{client_id}', { params }))
  await queries.invalidateQueries({ queryKey: CONNECTIONS })
}

/** Null: no mail. */
export async function setLowBalance(low_balance_credits: number | null): Promise<void> {
  const body = { low_balance_credits }
  queries.setQueryData(['account'], await ask(() => api.PATCH('/account', { body })))
}
