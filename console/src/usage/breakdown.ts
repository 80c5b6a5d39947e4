// A summary as a chart draws it: one series for each of the largest groups, and one for all others.

import { colorAt, colorsOfModels, OTHER_COLOR } from '../model-colors.ts'
import type { Series } from '../ui/chart.tsx'
import { nameStep, stepsOf } from './period.ts'
import type { Grouping, Measure, Names, Summary } from './usage.ts'

const SERIES_MAX = 8
const OTHER = 'other'

type Cell = Summary['data'][number]
type Sums = Omit<Cell, 'start' | 'group' | 'is_other'>

export type Share = Series & {
  total: number
  /** What a filter would be set to; null for what no filter names. */
  group: string | null
}

export type Breakdown = { steps: string[]; shares: Share[]; total: number }

export function breakDown(
  summary: Summary,
  { by, measure, names }: { by: Grouping; measure: Measure; names: Names },
): Breakdown {
  const starts = stepsOf(summary)
  const places = new Map(starts.map((start, place) => [start, place]))
  const ranked = rankGroups(summary.data, measure)
  const colors = chooseColors([...ranked.keys()].slice(0, SERIES_MAX), by)
  const shares = new Map<string, Share>()
  for (const cell of summary.data) {
    const rank = ranked.get(groupKey(cell)) ?? SERIES_MAX
    const is_other = cell.is_other || rank >= SERIES_MAX
    const id = is_other ? OTHER : groupKey(cell)
    const share =
      shares.get(id) ??
      (is_other ? emptyOther(starts.length) : emptyShare(cell, { by, names, starts, colors }))
    shares.set(id, addTo(share, places.get(cell.start), amountOf(cell, measure)))
  }
  const rankOf = ({ id }: Share) => (id === OTHER ? SERIES_MAX : (ranked.get(id) ?? 0))
  return {
    steps: starts.map((start) => nameStep(start, summary.interval)),
    shares: [...shares.values()].toSorted((one, other) => rankOf(one) - rankOf(other)),
    total: amountOf(summary.total, measure),
  }
}

export function amountOf(sums: Sums, measure: Measure): number {
  switch (measure) {
    case 'spend':
      return sums.credits
    case 'requests':
      return sums.requests
    case 'tokens':
      return (
        sums.input_tokens + sums.cached_input_tokens + sums.cache_write_tokens + sums.output_tokens
      )
  }
}

/** Largest first. */
function rankGroups(cells: readonly Cell[], measure: Measure): Map<string, number> {
  const totals = new Map<string, number>()
  for (const cell of cells) {
    if (cell.is_other) continue
    const key = groupKey(cell)
    totals.set(key, (totals.get(key) ?? 0) + amountOf(cell, measure))
  }
  const ranked = [...totals].toSorted(([a, one], [b, other]) => other - one || (a < b ? -1 : 1))
  return new Map(ranked.map(([key], rank) => [key, rank]))
}

function groupKey({ group }: Cell): string {
  return group === null ? 'none' : `of ${group}`
}

function emptyOther(length: number): Share {
  const values = Array.from({ length }, () => 0)
  return { id: OTHER, name: 'Other', color: OTHER_COLOR, values, total: 0, group: null }
}

/** By the keys of groups, largest first. */
function chooseColors(keys: readonly string[], by: Grouping): ReadonlyMap<string, string> {
  if (by !== 'model') return new Map(keys.map((key, rank) => [key, colorAt(rank)]))
  const colors = colorsOfModels(keys.map(modelOf))
  return new Map(keys.map((key) => [key, colors.get(modelOf(key)) ?? OTHER_COLOR]))
}

function modelOf(key: string): string {
  return key.replace(/^of /, '')
}

type ShareTerms = {
  by: Grouping
  names: Names
  starts: readonly string[]
  colors: ReadonlyMap<string, string>
}

function emptyShare(cell: Cell, { by, names, starts, colors }: ShareTerms): Share {
  const { group } = cell
  const id = groupKey(cell)
  return {
    id,
    name: nameGroup(group, by, names),
    color: colors.get(id) ?? OTHER_COLOR,
    values: starts.map(() => 0),
    total: 0,
    group,
  }
}

function addTo(share: Share, place: number | undefined, amount: number): Share {
  const values = share.values.map((value, at) => (at === place ? value + amount : value))
  return { ...share, values, total: share.total + amount }
}

const WITHOUT: Record<Grouping, string> = {
  model: 'No model',
  key: 'Without a key',
  app: 'Without an app',
  user: 'Without a user id',
  error: 'No error',
}

export function nameGroup(group: string | null, by: Grouping, names: Names): string {
  if (group === null) return WITHOUT[by]
  return names.get(group) ?? group
}
