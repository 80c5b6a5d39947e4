// How the pages of operators are laid out: sections, figures with their period in the label, facts, and filters that
// stand in the address.

import { Fragment, type ReactNode } from 'react'
import { Button } from '../ui/button.tsx'
import { Time } from '../ui/figures.tsx'
import { ProblemNotice, Skeleton } from '../ui/notice.tsx'
import './operate.css'

type Query<Data> = { data: Data | undefined; error: Error | null; refetch: () => unknown }

/** What a query has read, or what stands in its place. Old data stays while new data cannot be had. */
export function Loaded<Data>(props: {
  query: Query<Data>
  children: (data: Data) => ReactNode
  lines?: number
}) {
  const { data, error, refetch } = props.query
  return (
    <>
      {error && <ProblemNotice problem={error} onRetry={() => void refetch()} />}
      {data === undefined && !error && <Skeleton lines={props.lines ?? 6} />}
      {data !== undefined && props.children(data)}
    </>
  )
}

export function Section(props: {
  title: string
  note?: ReactNode
  actions?: ReactNode
  children: ReactNode
}) {
  return (
    <section className="op-section">
      <header className="op-section-head">
        <div>
          <h2>{props.title}</h2>
          {props.note !== undefined && <p className="soft">{props.note}</p>}
        </div>
        {props.actions !== undefined && <div className="row">{props.actions}</div>}
      </header>
      {props.children}
    </section>
  )
}

export type Figure = { label: string; value: ReactNode; note?: ReactNode }

/** A few numbers that matter, in a row. */
export function Figures({ figures }: { figures: readonly Figure[] }) {
  return (
    <dl className="op-figures">
      {figures.map(({ label, value, note }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd className="op-figure">{value}</dd>
          {note !== undefined && <dd className="soft">{note}</dd>}
        </div>
      ))}
    </dl>
  )
}

export type Fact = readonly [label: string, value: ReactNode]

export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl className="op-facts">
      {facts.map(([label, value]) => (
        <Fragment key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  )
}

/** A time that may not have come. */
export function MaybeTime({ at, never = 'Never' }: { at: string | null; never?: string }) {
  return at === null ? <span className="soft">{never}</span> : <Time at={at} as="distance" />
}

/** Native fields; `onApply` reads them by name. `key` it by what is applied, so that Back fills in what was there. */
export function FilterBar(props: {
  label: string
  action: string
  onApply: (values: FormData) => void
  onClear?: (() => void) | undefined
  children: ReactNode
}) {
  return (
    <search aria-label={props.label}>
      <form
        className="op-filters"
        onSubmit={(event) => {
          event.preventDefault()
          props.onApply(new FormData(event.currentTarget))
        }}
      >
        {props.children}
        <div className="row">
          <Button type="submit">{props.action}</Button>
          {props.onClear && (
            <Button kind="quiet" onClick={props.onClear}>
              Clear filters
            </Button>
          )}
        </div>
      </form>
    </search>
  )
}

/** What was filled in, without blanks around it. */
export function readField(values: FormData, name: string): string {
  const value = values.get(name)
  return typeof value === 'string' ? value.trim() : ''
}
