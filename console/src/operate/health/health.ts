// The data of this page.

import { useQuery } from '@tanstack/react-query'
import { api, ask } from '../../api.ts'
import { OPERATE, type Read } from '../operate.ts'

export type Overview = Read<'/operator/overview'>
export type Traffic = Overview['traffic']['hour']

const AGAIN_MS = 30_000

/** Read again while the page is in view. */
export function useOverview() {
  return useQuery({
    queryKey: [OPERATE, 'overview'],
    queryFn: () => ask(() => api.GET('/operator/overview')),
    refetchInterval: AGAIN_MS,
  })
}
