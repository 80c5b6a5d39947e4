// How data is kept: the settings of TanStack Query, the account that every page knows, and lists by cursor.

import { QueryClient, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { api, ask } from './api.ts'
import { ApiProblem } from './problem.ts'

export const PAGE_SIZE = 50
const RETRIES_MAX = 2
const RETRY_WAIT_MAX_S = 20

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      retry: (failures, error) => failures < RETRIES_MAX && isPassing(error),
      retryDelay: (failures, error) => waitBefore(failures, error) * 1_000,
    },
  },
})

export function useAccount() {
  return useQuery({ queryKey: ['account'], queryFn: () => ask(() => api.GET('/account')) })
}

export type CursorPage<Row> = { data: Row[]; has_more: boolean; next_cursor: string | null }

/** A list that grows by pages of 50. It never reads on by itself. */
export function useList<Row>(
  key: readonly unknown[],
  readPage: (query: { limit: number; cursor?: string }) => Promise<CursorPage<Row>>,
  options: { enabled?: boolean } = {},
) {
  const list = useInfiniteQuery({
    ...options,
    queryKey: key,
    initialPageParam: '',
    queryFn: ({ pageParam }) =>
      readPage({ limit: PAGE_SIZE, ...(pageParam !== '' && { cursor: pageParam }) }),
    getNextPageParam: (page: CursorPage<Row>) => (page.has_more ? page.next_cursor : undefined),
  })
  return {
    /** One array a page: the table keeps each page's rows as they are while others come. */
    pages: list.data?.pages.map((page) => page.data),
    problem: list.error,
    has_more: list.hasNextPage,
    is_loading_more: list.isFetchingNextPage,
    loadMore: () => void list.fetchNextPage(),
    retry: () => void list.refetch(),
  }
}

export type List<Row> = ReturnType<typeof useList<Row>>

function isPassing(error: Error): boolean {
  return error instanceof ApiProblem && (error.status === 429 || error.status >= 502)
}

/** What the service asks for, within reason. */
function waitBefore(failures: number, error: Error): number {
  const asked = error instanceof ApiProblem ? error.retry_after_s : undefined
  return Math.min(asked ?? 2 ** failures, RETRY_WAIT_MAX_S)
}
