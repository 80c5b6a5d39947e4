// Metrics that change with every request: plain numbers, formatted when Prometheus asks. The library's own build
// and sort their labels at every change, which showed in the profile of a small request.

import type { Metric, MetricObjectWithValues, MetricValue } from 'prom-client'

type Options = { name: string; help: string; labels: readonly string[] }
type Row = MetricValue<string>
type Description = Omit<MetricObjectWithValues<Row>, 'collect'>

export class HotCounter {
  readonly name: string
  readonly #options: Options
  readonly #series = new Map<string, { labels: Row['labels']; value: number }>()

  constructor(options: Options) {
    this.name = options.name
    this.#options = options
  }

  /** `values` in the order of the labels. */
  add(values: readonly string[], by = 1): void {
    const key = values.join(' ')
    const series = this.#series.get(key)
    if (series) series.value += by
    else this.#series.set(key, { labels: labelsFrom(this.#options, values), value: by })
  }

  /** What the registry asks every metric for. */
  async get(): Promise<Description> {
    const { name, help } = this.#options
    const values = [...this.#series.values()].map((series): Row => ({ ...series }))
    return { name, help, type: 'counter' as never, aggregator: 'sum', values }
  }

  reset(): void {
    this.#series.clear()
  }
}

/** One count for each bound, then one for beyond, then the sum. */
type Buckets = { labels: Row['labels']; counts: Float64Array }

export class HotHistogram {
  readonly name: string
  readonly #options: Options & { buckets: readonly number[] }
  readonly #series = new Map<string, Buckets>()

  constructor(options: Options & { buckets: readonly number[] }) {
    this.name = options.name
    this.#options = options
  }

  /** `values` in the order of the labels. */
  observe(values: readonly string[], seconds: number): void {
    const { buckets } = this.#options
    const key = values.join(' ')
    const { counts } = this.#series.get(key) ?? this.#open(key, values)
    let bucket = 0
    while (bucket < buckets.length && seconds > (buckets[bucket] ?? 0)) bucket++
    counts[bucket] = (counts[bucket] ?? 0) + 1
    counts[buckets.length + 1] = (counts[buckets.length + 1] ?? 0) + seconds
  }

  /** What the registry asks every metric for. */
  async get(): Promise<Description> {
    const { name, help } = this.#options
    const values = [...this.#series.values()].flatMap((series) => this.#describe(series))
    return { name, help, type: 'histogram' as never, aggregator: 'sum', values }
  }

  reset(): void {
    this.#series.clear()
  }

  #open(key: string, values: readonly string[]): Buckets {
    const counts = new Float64Array(this.#options.buckets.length + 2)
    const made = { labels: labelsFrom(this.#options, values), counts }
    this.#series.set(key, made)
    return made
  }

  #describe({ labels, counts }: Buckets): Row[] {
    const { name, buckets } = this.#options
    let total = 0
    const rows: Row[] = []
    const row = (suffix: string, value: number, extra: object = {}) =>
      rows.push({
        metricName: `${name}_${suffix}`,
        value,
        labels: { ...extra, ...labels },
      } as never)
    for (const [index, bound] of [...buckets, '+Inf'].entries()) {
      total += counts[index] ?? 0
      row('bucket', total, { le: bound })
    }
    row('sum', counts[buckets.length + 1] ?? 0)
    row('count', total)
    return rows
  }
}

/** The registry knows its metrics by name and `get` alone. */
export function asMetric(metric: HotCounter | HotHistogram): Metric {
  return metric as unknown as Metric
}

function labelsFrom({ labels }: Options, values: readonly string[]): Row['labels'] {
  return Object.fromEntries(labels.map((label, index) => [label, values[index] ?? '']))
}
