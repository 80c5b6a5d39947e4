// Charts in plain SVG: stacked bars and a sparkline. Arrow keys walk the bars, a status line reads them, and a table
// holds the same figures.

import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { ScrollArea } from './table.tsx'

export type Series = { id: string; name: string; color: string; values: readonly number[] }

type ChartProps = {
  /** What is shown, with its period: "Spend by model, last 30 days". */
  label: string
  /** One word for each bar, such as a day in UTC. */
  steps: readonly string[]
  series: readonly Series[]
  format: (value: number) => string
  /** For the table, where `format` rounds. */
  formatExact?: (value: number) => string
  step_name?: string
  /** A list beside the chart may name the series instead. */
  legend?: boolean
}

const HEIGHT_PX = 180
const GAP_SHARE = 0.25

export function StackedBars({ label, steps, series, format, ...options }: ChartProps) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const [at, setAt] = useState<number | undefined>()
  const totals = steps.map((_, step) =>
    series.reduce((sum, { values }) => sum + (values[step] ?? 0), 0),
  )
  const highest = Math.max(...totals, 1)
  const walk = (event: KeyboardEvent) => {
    const next = nextStep(event.key, at, steps.length)
    if (next === undefined) return
    event.preventDefault()
    setAt(next)
  }
  return (
    <figure className="chart">
      <div
        ref={box}
        className="chart-box"
        role="group"
        aria-label={`${label}. Arrow keys walk the bars.`}
        tabIndex={0}
        onKeyDown={walk}
        onMouseLeave={() => setAt(undefined)}
      >
        <p className="chart-highest" aria-hidden="true">
          {highest > 1 ? format(highest) : ''}
        </p>
        <svg width={width} height={HEIGHT_PX} aria-hidden="true">
          {steps.map((step, index) => (
            <Bar
              key={step}
              {...{ series, index, highest }}
              step_width={width / steps.length}
              is_chosen={at === index}
              onChoose={() => setAt(index)}
            />
          ))}
        </svg>
      </div>
      <p className="chart-axis" aria-hidden="true">
        <span>{steps[0]}</span>
        <span>{steps.length > 1 ? steps.at(-1) : ''}</span>
      </p>
      <p className="chart-status" role="status">
        {at === undefined ? ' ' : describeStep({ steps, series, format }, at, totals[at] ?? 0)}
      </p>
      {options.legend !== false && <Legend series={series} />}
      <TableTwin {...{ label, steps, series, format, ...options }} />
    </figure>
  )
}

function Bar(props: {
  series: readonly Series[]
  index: number
  highest: number
  step_width: number
  is_chosen: boolean
  onChoose: () => void
}) {
  const { series, index, highest, step_width } = props
  const heights = series.map(({ values }) => ((values[index] ?? 0) / highest) * (HEIGHT_PX - 2))
  const topOf = (level: number) =>
    HEIGHT_PX - heights.slice(0, level + 1).reduce((sum, height) => sum + height, 0)
  return (
    <g className={props.is_chosen ? 'bar chosen' : 'bar'} onMouseEnter={props.onChoose}>
      <rect
        className="bar-ground"
        x={index * step_width}
        y={0}
        width={step_width}
        height={HEIGHT_PX}
      />
      {series.map(({ id, color }, level) => (
        <rect
          key={id}
          x={index * step_width + (step_width * GAP_SHARE) / 2}
          y={topOf(level)}
          width={step_width * (1 - GAP_SHARE)}
          height={heights[level]}
          fill={color}
        />
      ))}
    </g>
  )
}

function Legend({ series }: { series: readonly Series[] }) {
  return (
    <ul className="legend">
      {series.map(({ id, name, color }) => (
        <li key={id}>
          <span className="swatch" style={{ background: color }} /> {name}
        </li>
      ))}
    </ul>
  )
}

function TableTwin({ label, steps, series, ...options }: ChartProps) {
  const { format, formatExact = format, step_name = 'Day (UTC)' } = options
  return (
    <details className="twin">
      <summary>As a table</summary>
      <ScrollArea label={label}>
        <table className="table">
          <caption className="unseen">{label}</caption>
          <thead>
            <tr>
              <th scope="col">{step_name}</th>
              {series.map(({ id, name }) => (
                <th key={id} scope="col" className="end">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {steps.map((step, index) => (
              <tr key={step}>
                <th scope="row">{step}</th>
                {series.map(({ id, values }) => (
                  <td key={id} className="end">
                    {formatExact(values[index] ?? 0)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollArea>
    </details>
  )
}

/** A line without axes, beside a number that says the same. */
export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  const highest = Math.max(...values, 1)
  const points = values.map((value, index) => {
    const x = values.length > 1 ? (index / (values.length - 1)) * 100 : 50
    return `${x.toFixed(2)},${(24 - (value / highest) * 22).toFixed(2)}`
  })
  return (
    <svg
      className="sparkline"
      viewBox="0 0 100 26"
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <polyline points={points.join(' ')} fill="none" vectorEffect="non-scaling-stroke" />
    </svg>
  )
}

function nextStep(key: string, at: number | undefined, count: number): number | undefined {
  switch (key) {
    case 'ArrowRight':
      return Math.min((at ?? -1) + 1, count - 1)
    case 'ArrowLeft':
      return Math.max((at ?? count) - 1, 0)
    case 'Home':
      return 0
    case 'End':
      return count - 1
    default:
      return undefined
  }
}

function describeStep(
  { steps, series, format }: Pick<ChartProps, 'steps' | 'series' | 'format'>,
  at: number,
  total: number,
): string {
  const parts = series
    .filter(({ values }) => (values[at] ?? 0) !== 0)
    .map(({ name, values }) => `${name} ${format(values[at] ?? 0)}`)
  return [`${steps[at]}: ${format(total)}`, ...parts].join(' · ')
}

/** Told by the browser: asking for it in an effect would force a layout. */
function useWidth(box: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const shown = box.current
    if (!shown) return undefined
    const observer = new ResizeObserver(([entry]) => entry && setWidth(entry.contentRect.width))
    observer.observe(shown)
    return () => observer.disconnect()
  }, [box])
  return width
}

/** "Nov 16", of a day in UTC: what a step of a chart is called. */
export function nameDay(time: string): string {
  return new Date(time).toLocaleDateString('en-US', {
    month: 'short',
    day: 'numeric',
    timeZone: 'UTC',
  })
}
