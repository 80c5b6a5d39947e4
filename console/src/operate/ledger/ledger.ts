// The data of this page.

import { useQuery } from '@tanstack/react-query'
import { api, ask } from '../../api.ts'
import { useList } from '../../queries.ts'
import { act, OPERATE, type Read, type RowOf } from '../operate.ts'

export type Book = Read<'/operator/ledger'>
export type Check = Book['checks'][number]
export type Seal = Book['seals'][number]
export type Hold = RowOf<'/operator/holds'>
export type Line = RowOf<'/operator/wallets/{account_id}/chain'>

export function useBook() {
  return useQuery({
    queryKey: [OPERATE, 'ledger'],
    queryFn: () => ask(() => api.GET('/operator/ledger')),
  })
}

export function useHolds(older_than_seconds: number) {
  return useList<Hold>([OPERATE, 'holds', older_than_seconds], (page) =>
    ask(() => api.GET('/operator/holds', { params: { query: { ...page, older_than_seconds } } })),
  )
}

export function useChain(account_id: string) {
  return useList<Line>(
    [OPERATE, 'chain', account_id],
    (query) =>
      ask(() =>
        api.GET('/operator/wallets/{account_id}/chain', {
          params: { path: { account_id }, query },
        }),
      ),
    { enabled: account_id !== '' },
  )
}

export function checkBook(reason: string) {
  return act(() => api.POST('/operator/ledger/checks', { body: { reason } }))
}
