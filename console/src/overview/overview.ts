// The data of the overview: five requests in all, and what follows from them.

import { useQuery } from '@tanstack/react-query'
import { api, ask } from '../api.ts'
import type { paths } from '../api-types.ts'
import { colorsOfModels, OTHER_COLOR } from '../model-colors.ts'
import { nameDay, type Series } from '../ui/chart.tsx'

export type Account = paths['/account']['get']['responses'][200]['content']['application/json']
export type Summary =
  paths['/account/usage/summary']['get']['responses'][200]['content']['application/json']
export type Call =
  paths['/account/usage']['get']['responses'][200]['content']['application/json']['data'][number]
export type Earnings =
  paths['/developers/earnings']['get']['responses'][200]['content']['application/json']
export type Attention =
  paths['/account/attention']['get']['responses'][200]['content']['application/json']

export const DAY_COUNTS = ['7', '30', '90'] as const

const DAY_MS = 24 * 3_600_000
const LATEST_CALLS = 7
/** More series than that nobody can tell apart. */
const SERIES_MAX = 7
/** What runs low is judged by the last week. */
const PACE_DAYS = 7

/** The period and the one before it, in one answer: their difference is of one instant. */
export function useSpend(days: number) {
  const today = new Date().toISOString().slice(0, 'YYYY-MM-DD'.length)
  return useQuery({
    queryKey: ['usage', 'overview', days, today],
    queryFn: () => {
      const from = startOf(today, 2 * days - 1)
      return ask(() =>
        api.GET('/account/usage/summary', {
          params: { query: { from, group_by: 'model', interval: 'day' } },
        }),
      )
    },
    // The figures of the last period stay until those of the next have come.
    placeholderData: (before) => before,
    select: (summary) => readSpend(summary, { days, today }),
  })
}

function startOf(today: string, days_before: number): string {
  return new Date(Date.parse(today) - days_before * DAY_MS).toISOString()
}

export type Spend = {
  steps: string[]
  series: (Series & { total: number })[]
  total: number
  before: number
  requests: number
  errors: number
  /** What users of one's apps paid for. */
  paid_by_users: number
  /** Spent in the last seven days, whatever the period is. */
  last_week: number
}

/** Days are those of UTC: their sums are the totals, whatever the clock of the reader says. */
export function readSpend(
  summary: Pick<Summary, 'data'>,
  { days, today }: { days: number; today: string },
): Spend {
  const steps = Array.from({ length: days }, (_, step) => startOf(today, days - 1 - step))
  const places = new Map(steps.map((start, place) => [dayOf(start), place]))
  const week_begin = dayOf(startOf(today, PACE_DAYS - 1))
  const spend: Spend = {
    steps: steps.map(nameDay),
    series: [],
    total: 0,
    before: 0,
    requests: 0,
    errors: 0,
    paid_by_users: 0,
    last_week: 0,
  }
  const by_model = new Map<string, number[]>()
  for (const cell of summary.data) {
    const day = dayOf(cell.start)
    if (day >= week_begin) spend.last_week += cell.own_credits
    const place = places.get(day)
    if (place === undefined) {
      spend.before += cell.own_credits
      continue
    }
    spend.total += cell.own_credits
    spend.requests += cell.requests
    spend.errors += cell.errors
    spend.paid_by_users += cell.credits - cell.own_credits
    const model = cell.group ?? ''
    const values = by_model.get(model) ?? steps.map(() => 0)
    values[place] = (values[place] ?? 0) + cell.own_credits
    by_model.set(model, values)
  }
  return { ...spend, series: toSeries(by_model) }
}

function toSeries(by_model: ReadonlyMap<string, number[]>): Spend['series'] {
  const ranked = [...by_model]
    .map(([model, values]) => ({ model, values, total: sum(values) }))
    .filter(({ total }) => total > 0)
    .toSorted((one, other) => other.total - one.total)
  const named = ranked.filter(({ model }, rank) => model !== '' && rank < SERIES_MAX)
  const rest = ranked.filter((entry) => !named.includes(entry))
  const colors = colorsOfModels(named.map(({ model }) => model))
  const series = named.map(({ model, values, total }) => {
    const color = colors.get(model) ?? OTHER_COLOR
    return { id: model, name: model, color, values, total }
  })
  const [first] = rest
  if (!first) return series
  const values = first.values.map((_, place) => sum(rest.map((entry) => entry.values[place] ?? 0)))
  return [...series, { id: 'other', name: 'Other', color: OTHER_COLOR, values, total: sum(values) }]
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function dayOf(time: string): string {
  return new Date(time).toISOString().slice(0, 'YYYY-MM-DD'.length)
}

/** How many days the balance lasts at the pace of the last week; of a younger account, at that of its life. */
export function runwayDays(account: Account, last_week: number, now: number): number | undefined {
  if (last_week <= 0) return undefined
  const age_days = Math.ceil((now - Date.parse(account.created_at)) / DAY_MS)
  const pace = last_week / Math.min(PACE_DAYS, Math.max(age_days, 1))
  return Math.floor(Math.max(account.available, 0) / pace)
}

export function useLatestCalls() {
  return useQuery({
    queryKey: ['usage', 'latest'],
    queryFn: () =>
      ask(() => api.GET('/account/usage', { params: { query: { limit: LATEST_CALLS } } })),
    // The same address answers with a file too.
    select: (page) => (typeof page === 'string' ? [] : page.data),
  })
}

/** Who has no app has earned nothing: it is not asked for. */
export function useEarningsSummary(options: { enabled: boolean }) {
  return useQuery({
    ...options,
    queryKey: ['earnings', 'summary'],
    queryFn: () => ask(() => api.GET('/developers/earnings')),
  })
}

export function useAttention() {
  return useQuery({
    queryKey: ['attention'],
    queryFn: () => ask(() => api.GET('/account/attention')),
  })
}
