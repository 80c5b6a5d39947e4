// Percentiles out of a Prometheus histogram: as good as its buckets.

import type { Histogram } from 'prom-client'

export type Percentiles = { count: number; p50_ms: number | null; p95_ms: number | null }

/** Over the labels that `counts` wants, of what this process has observed since it started. */
export async function percentilesOf<Label extends string>(
  histogram: Histogram<Label>,
  counts: (labels: Partial<Record<Label, string | number>>) => boolean = () => true,
): Promise<Percentiles> {
  const { values } = await histogram.get()
  const at_most = new Map<number, number>()
  let count = 0
  for (const { metricName = '', labels, value } of values) {
    if (!counts(labels)) continue
    if (metricName.endsWith('_count')) count += value
    const end = 'le' in labels ? Number(labels.le) : Number.NaN
    // The last one has no end.
    if (Number.isFinite(end)) at_most.set(end, (at_most.get(end) ?? 0) + value)
  }
  const steps = [...at_most].sort(([left], [right]) => left - right)
  const find = (share: number) => (count === 0 ? null : within(steps, count * share))
  return { count, p50_ms: find(0.5), p95_ms: find(0.95) }
}

/** Even within a bucket; what is beyond the last is at its end. */
function within(steps: readonly (readonly [number, number])[], rank: number): number {
  let [from, below] = [0, 0]
  for (const [end, total] of steps) {
    if (total >= rank) {
      const share = total === below ? 1 : (rank - below) / (total - below)
      return toMs(from + (end - from) * share)
    }
    from = end
    below = total
  }
  return toMs(from)
}

function toMs(seconds: number): number {
  return Math.round(seconds * 100_000) / 100
}
