// The data of this page: what the address says is shown, the calls, and their sums.

import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { api, ask } from '../api.ts'
import type { paths } from '../api-types.ts'
import { useList } from '../queries.ts'
import { oneOf, text } from '../url-state.ts'
import { PERIODS, type Period } from './period.ts'

export const MEASURES = ['spend', 'requests', 'tokens'] as const
export type Measure = (typeof MEASURES)[number]
export const GROUPINGS = ['model', 'key', 'app', 'user', 'error'] as const
export type Grouping = (typeof GROUPINGS)[number]

export const VIEW = {
  period: oneOf(PERIODS, '30d'),
  measure: oneOf(MEASURES, 'spend'),
  by: oneOf(GROUPINGS, 'model'),
  model: text(),
  key_id: text(),
  client_id: text(),
  external_user_id: text(),
  status: oneOf(['', 'ok', 'cut', 'failed'], ''),
  billing_mode: oneOf(['', 'developer', 'user'], ''),
  call: text(),
}

export type View = { [Name in keyof typeof VIEW]: ReturnType<(typeof VIEW)[Name]['read']> }

export const NO_FILTERS = {
  model: '',
  key_id: '',
  client_id: '',
  external_user_id: '',
  status: '',
  billing_mode: '',
} as const

type Answer<Path extends '/account/usage' | '/account/usage/summary' | '/v1/generations/{id}'> =
  paths[Path]['get']['responses'][200]['content']['application/json']
export type Call = Answer<'/account/usage'>['data'][number]
export type Summary = Answer<'/account/usage/summary'>
export type Generation = Answer<'/v1/generations/{id}'>

/** As the API names them; what is empty does not narrow. */
export function filtersOf(view: View) {
  const { model, key_id, client_id, external_user_id, status, billing_mode } = view
  return {
    ...(model !== '' && { model }),
    ...(key_id !== '' && { key_id }),
    ...(client_id !== '' && { client_id }),
    ...(external_user_id !== '' && { external_user_id }),
    ...(status !== '' && { status }),
    ...(billing_mode !== '' && { billing_mode }),
  }
}

export function isFiltered(view: View): boolean {
  return Object.keys(filtersOf(view)).length > 0
}

export function useCalls(view: View, { from }: Period) {
  const filters = filtersOf(view)
  return useList<Call>(['usage', 'calls', from, filters], async (query) => {
    const page = await ask(() =>
      api.GET('/account/usage', { params: { query: { ...query, ...filters, from } } }),
    )
    // The types know the CSV file too, which is not asked for here.
    if (typeof page === 'string') throw new TypeError('The list of calls came as a file.')
    return page
  })
}

/** Sums with what they are of: while others load, these are shown under their own name. */
export function useSummary(view: View, period: Period) {
  const { by } = view
  const { from, interval } = period
  const group_by = by === 'user' ? ('external_user' as const) : by
  const query = { ...filtersOf(view), from, interval, group_by }
  return useQuery({
    queryKey: ['usage', 'summary', query],
    queryFn: async () => {
      const summary = await ask(() => api.GET('/account/usage/summary', { params: { query } }))
      return { summary, by, period }
    },
    placeholderData: keepPreviousData,
  })
}

export function useGeneration(id: string) {
  return useQuery({
    queryKey: ['generation', id],
    queryFn: () => ask(() => api.GET('/v1/generations/{id}', { params: { path: { id } } })),
    staleTime: Number.POSITIVE_INFINITY,
  })
}

export type Names = ReadonlyMap<string, string>

const NAMED_MAX = 100

/** What keys are called: of the newest hundred, which is one request. Others are shown by their id. */
export function useKeyNames(enabled: boolean): Names {
  const { data } = useQuery({
    queryKey: ['key-names'],
    enabled,
    queryFn: () =>
      ask(() => api.GET('/developers/keys', { params: { query: { limit: NAMED_MAX } } })),
    select: (page) => new Map(page.data.map(({ id, name }) => [id, name])),
  })
  return data ?? NOBODY
}

export function useAppNames(enabled: boolean): Names {
  const { data } = useQuery({
    queryKey: ['app-names'],
    enabled,
    queryFn: () =>
      ask(() => api.GET('/developers/apps', { params: { query: { limit: NAMED_MAX } } })),
    select: (page) => new Map(page.data.map(({ client_id, name }) => [client_id, name])),
  })
  return data ?? NOBODY
}

const NOBODY: Names = new Map()

/** All calls that fit, as a file. */
export function csvAddress(view: View, { from }: Period): string {
  return `/account/usage?${new URLSearchParams({ ...filtersOf(view), from, format: 'csv' })}`
}
