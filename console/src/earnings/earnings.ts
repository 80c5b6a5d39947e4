// The data of this page: where every credit that was earned is now, by day and app, the payout account, and payouts.

import { useQuery } from '@tanstack/react-query'
import { api, ask } from '../api.ts'
import type { paths } from '../api-types.ts'
import { colorAt, OTHER_COLOR } from '../model-colors.ts'
import { queries, useList } from '../queries.ts'
import { nameDay, type Series } from '../ui/chart.tsx'

export type Earnings =
  paths['/developers/earnings']['get']['responses'][200]['content']['application/json']
export type Summary = Earnings['summary']
export type Payout =
  paths['/developers/payouts']['get']['responses'][200]['content']['application/json']['data'][number]
export type PayoutAccount =
  paths['/developers/connect/status']['get']['responses'][200]['content']['application/json']
export type App =
  paths['/developers/apps']['get']['responses'][200]['content']['application/json']['data'][number]

export const DAY_COUNTS = ['7', '30', '90'] as const
const DAY_MS = 24 * 3_600_000
const DAY_LENGTH = 'YYYY-MM-DD'.length
const SERIES_MAX = 7
const WAY_BACK = { return_to: '/console/earnings' }

export function useEarnings(days: number) {
  const to = new Date().toISOString().slice(0, DAY_LENGTH)
  const from = dayBefore(to, days - 1)
  return useQuery({
    queryKey: ['earnings', 'series', from, to],
    queryFn: () =>
      ask(() =>
        api.GET('/developers/earnings', {
          params: { query: { group_by: 'day_and_app', from, to } },
        }),
      ),
    placeholderData: (before) => before,
  })
}

export function usePayoutAccount() {
  return useQuery({
    queryKey: ['payout-account'],
    queryFn: () => ask(() => api.GET('/developers/connect/status')),
  })
}

export function usePayouts() {
  return useList<Payout>(['payouts'], (query) =>
    ask(() => api.GET('/developers/payouts', { params: { query } })),
  )
}

/** The first page names nearly everybody's apps; an app beyond it is shown by its id. */
export function useApps() {
  return useList<App>(['apps'], (query) =>
    ask(() => api.GET('/developers/apps', { params: { query } })),
  )
}

/** Each answers the address of a page of Stripe's, which leads back here. */
export async function startOnboarding(): Promise<string> {
  const { onboarding_url } = await ask(() =>
    api.POST('/developers/connect/onboard', { body: WAY_BACK }),
  )
  await queries.invalidateQueries({ queryKey: ['payout-account'] })
  return onboarding_url
}

export async function continueOnboarding(): Promise<string> {
  const { onboarding_url } = await ask(() =>
    api.POST('/developers/connect/onboard/refresh', { body: WAY_BACK }),
  )
  return onboarding_url
}

export async function openDashboard(): Promise<string> {
  const { dashboard_url } = await ask(() => api.POST('/developers/connect/dashboard-link'))
  return dashboard_url
}

export type PartName = Exclude<keyof Summary, 'total_earned_credits' | 'next_batch_at'>

/** The parts of the total, in the order in which money walks through them. */
export const PARTS: readonly (readonly [PartName, string])[] = [
  ['on_hold_credits', 'on hold for seven days'],
  ['pending_payout_credits', 'in the next payout'],
  ['accumulating_credits', 'gathering until they are $10.00'],
  ['released_reserve_credits', 'released from reserve, in the next payout'],
  ['in_flight_credits', 'in a payout whose outcome is not known yet'],
  ['reserve_held_credits', 'held in reserve'],
  ['total_paid_out_credits', 'paid out'],
  ['not_payable_credits', 'earned with credits that nobody paid for, never paid out'],
]

export function addParts(summary: Summary): number {
  return PARTS.reduce((sum, [part]) => sum + summary[part], 0)
}

export type AppSeries = Series & { total: number; calls: number }

/** A bar a day; the apps that earned most have their own colour. */
export function readSeries(
  entries: NonNullable<Earnings['series']>,
  { days, names }: { days: number; names: ReadonlyMap<string, string> },
): { steps: string[]; series: AppSeries[]; total: number } {
  const today = new Date().toISOString().slice(0, DAY_LENGTH)
  const steps = Array.from({ length: days }, (_, step) => dayBefore(today, days - 1 - step))
  const places = new Map(steps.map((day, place) => [day, place]))
  const totals = new Map<string, number>()
  for (const entry of entries) {
    const id = entry.client_id ?? OTHER
    totals.set(id, (totals.get(id) ?? 0) + entry.earned_credits)
  }
  const ranked = [...totals]
    .filter(([id, total]) => id !== OTHER && total > 0)
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, SERIES_MAX)
    .map(([id]) => id)
  const series = new Map<string, AppSeries>()
  for (const entry of entries) {
    const place = places.get(entry.name)
    if (place === undefined) continue
    const rank = ranked.indexOf(entry.client_id ?? OTHER)
    const id = rank < 0 ? OTHER : (entry.client_id ?? OTHER)
    const row = series.get(id) ?? emptySeries(id, { rank, names, length: days })
    series.set(id, {
      ...row,
      values: row.values.map((value, at) => (at === place ? value + entry.earned_credits : value)),
      total: row.total + entry.earned_credits,
      calls: row.calls + entry.calls,
    })
  }
  const shown = [...series.values()].toSorted((one, other) => other.total - one.total)
  return {
    steps: steps.map(nameDay),
    series: shown,
    total: shown.reduce((sum, row) => sum + row.total, 0),
  }
}

/** No client id: they have a prefix. */
const OTHER = 'other'

function emptySeries(
  id: string,
  { rank, names, length }: { rank: number; names: ReadonlyMap<string, string>; length: number },
): AppSeries {
  const name = id === OTHER ? 'Other apps' : id === '' ? 'Without an app' : (names.get(id) ?? id)
  const color = id === OTHER ? OTHER_COLOR : colorAt(rank)
  return { id, name, color, values: Array.from({ length }, () => 0), total: 0, calls: 0 }
}

function dayBefore(day: string, days: number): string {
  return new Date(Date.parse(day) - days * DAY_MS).toISOString().slice(0, DAY_LENGTH)
}
