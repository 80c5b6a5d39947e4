// Metrics that change with every request: plain numbers, formatted when Prometheus asks. The library's own build
// and sort their labels at every change, which showed in the profile of a small request.

import type { Metric, MetricObjectWithValues, MetricValue } from 'prom-client'

type Options = { name: string; help: string; labels: readonly string[] }
type Row = MetricValue<string>
type Description = Omit<MetricObjectWithValues<Row>, 'collect'>

/** One series for each combination of labels, found label by label: nothing is joined, nothing is hashed anew. */
class SeriesTree<Series> {
  readonly #make: (values: readonly string[]) => Series
  readonly #branches = new Map<string, SeriesTree<Series>>()
  #series: Series | undefined

  constructor(make: (values: readonly string[]) => Series) {
    this.#make = make
  }

  find(values: readonly string[], depth = 0): Series {
    const value = values[depth]
    if (value !== undefined) {
      const branch = this.#branches.get(value) ?? this.#grow(value)
      return branch.find(values, depth + 1)
    }
    this.#series ??= this.#make(values)
    return this.#series
  }

  *all(): Generator<Series> {
    if (this.#series !== undefined) yield this.#series
    for (const branch of this.#branches.values()) yield* branch.all()
  }

  clear(): void {
    this.#series = undefined
    this.#branches.clear()
  }

  #grow(value: string): SeriesTree<Series> {
    const branch = new SeriesTree(this.#make)
    this.#branches.set(value, branch)
    return branch
  }
}

export class HotCounter {
  readonly name: string
  readonly #options: Options
  readonly #series: SeriesTree<{ labels: Row['labels']; value: number }>

  constructor(options: Options) {
    this.name = options.name
    this.#options = options
    this.#series = new SeriesTree((values) => ({ labels: labelsFrom(options, values), value: 0 }))
  }

  /** `values` in the order of the labels. */
  add(values: readonly string[], by = 1): void {
    this.#series.find(values).value += by
  }

  /** What the registry asks every metric for. */
  async get(): Promise<Description> {
    const { name, help } = this.#options
    const values = [...this.#series.all()].map((series): Row => ({ ...series }))
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
  readonly #series: SeriesTree<Buckets>

  constructor(options: Options & { buckets: readonly number[] }) {
    this.name = options.name
    this.#options = options
    this.#series = new SeriesTree((values) => ({
      labels: labelsFrom(options, values),
      counts: new Float64Array(options.buckets.length + 2),
    }))
  }

  /** `values` in the order of the labels. */
  observe(values: readonly string[], seconds: number): void {
    const { buckets } = this.#options
    const { counts } = this.#series.find(values)
    let bucket = 0
    while (bucket < buckets.length && seconds > (buckets[bucket] ?? 0)) bucket++
    counts[bucket] = (counts[bucket] ?? 0) + 1
    counts[buckets.length + 1] = (counts[buckets.length + 1] ?? 0) + seconds
  }

  /** What the registry asks every metric for. */
  async get(): Promise<Description> {
    const { name, help } = this.#options
    const values = [...this.#series.all()].flatMap((series) => this.#describe(series))
    return { name, help, type: 'histogram' as never, aggregator: 'sum', values }
  }

  reset(): void {
    this.#series.clear()
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
