// The sums of the period, the chart, and the list of its groups, which narrows everything to one of them.

import { useMemo } from 'react'
import { formatCount, formatCredits } from '../format.ts'
import { formatSpend } from '../prices.ts'
import { StackedBars } from '../ui/chart.tsx'
import { Money } from '../ui/figures.tsx'
import { amountOf, type Breakdown, breakDown, type Share } from './breakdown.ts'
import type { Change } from './controls.tsx'
import type { Period } from './period.ts'
import type { Grouping, Measure, Names, Summary, View } from './usage.ts'

const MEASURE_WORDS: Record<Measure, string> = {
  spend: 'Spend',
  requests: 'Requests',
  tokens: 'Tokens',
}
const GROUPING_WORDS: Record<Grouping, string> = {
  model: 'model',
  key: 'key',
  app: 'app',
  user: 'user of your app',
  error: 'error',
}

type SpendingProps = {
  sums: { summary: Summary; by: Grouping; period: Period }
  is_old: boolean
  view: View
  names: { keys: Names; apps: Names }
  onChange: Change
}

export function Spending({ sums, is_old, view, names: all_names, onChange }: SpendingProps) {
  const { summary, by, period } = sums
  const { measure } = view
  const names = by === 'app' ? all_names.apps : all_names.keys
  const breakdown = useMemo(
    () => breakDown(summary, { by, measure, names }),
    [summary, by, measure, names],
  )
  const exact = measure === 'spend' ? ', in credits' : ''
  const label = `${MEASURE_WORDS[measure]} by ${GROUPING_WORDS[by]}, ${period.label}`
  return (
    <div className="spending" aria-busy={is_old || undefined}>
      <Totals total={summary.total} period={period} />
      <section className="usage-chart" aria-label={label}>
        <div>
          <h2>{label}</h2>
          <StackedBars
            label={`${label}${exact}`}
            steps={breakdown.steps}
            series={breakdown.shares}
            format={measure === 'spend' ? formatSpend : formatCount}
            formatExact={measure === 'spend' ? formatCredits : formatCount}
            step_name={summary.interval === 'hour' ? 'Hour (UTC)' : 'Day (UTC)'}
            legend={false}
          />
        </div>
        <Shares breakdown={breakdown} view={{ ...view, by }} onChange={onChange} />
      </section>
    </div>
  )
}

function Totals({ total, period }: { total: Summary['total']; period: Period }) {
  const by_users = total.credits - total.own_credits
  return (
    <dl className="usage-totals">
      <div>
        <dt>Spend, {period.label}</dt>
        <dd data-total="spend">
          <Money credits={total.credits} />
        </dd>
        {by_users > 0 && (
          <dd className="soft total-note">
            <Money credits={total.own_credits} /> by you, <Money credits={by_users} /> by your users
          </dd>
        )}
      </div>
      <div>
        <dt>Requests, {period.label}</dt>
        <dd data-total="requests">{formatCount(total.requests)}</dd>
        {total.errors > 0 && (
          <dd className="soft total-note">{formatCount(total.errors)} failed, free of charge</dd>
        )}
      </div>
      <div>
        <dt>Tokens, {period.label}</dt>
        <dd data-total="tokens">{formatCount(amountOf(total, 'tokens'))}</dd>
      </div>
    </dl>
  )
}

function Shares({
  breakdown,
  view,
  onChange,
}: {
  breakdown: Breakdown
  view: View
  onChange: Change
}) {
  const { shares, total } = breakdown
  if (shares.length === 0) return <p className="soft">Nothing in this period.</p>
  return (
    <ul className="shares">
      {shares.map((share) => (
        <li key={share.id}>
          <span className="swatch" style={{ background: share.color }} />
          <ShareName share={share} view={view} onChange={onChange} />
          <ShareAmount total={share.total} measure={view.measure} />
          <span className="soft share-part">{partOf(share.total, total)}</span>
        </li>
      ))}
    </ul>
  )
}

function ShareAmount({ total, measure }: { total: number; measure: Measure }) {
  if (measure !== 'spend') return <span>{formatCount(total)}</span>
  return <span title={`${formatCredits(total)} credits`}>{formatSpend(total)}</span>
}

function ShareName({ share, view, onChange }: { share: Share; view: View; onChange: Change }) {
  const filter = filterFor(share.group, view)
  if (!filter) return <span className="share-name">{share.name}</span>
  return (
    <button
      type="button"
      className="share-name link"
      title={`Only ${share.name}`}
      onClick={() => onChange(filter)}
    >
      {share.name}
    </button>
  )
}

/** The API narrows to no error code, but to what failed. */
function filterFor(group: string | null, view: View): Partial<View> | undefined {
  if (group === null) return undefined
  const filters: Record<Grouping, Partial<View>> = {
    model: { model: group },
    key: { key_id: group },
    app: { client_id: group },
    user: { external_user_id: group },
    error: { status: 'failed' },
  }
  const filter = filters[view.by]
  const is_set = Object.entries(filter).every(([name, value]) => view[name as keyof View] === value)
  return is_set ? undefined : filter
}

function partOf(amount: number, total: number): string {
  if (total === 0 || amount === 0) return '0 %'
  const percent = (amount / total) * 100
  return percent < 1 ? '<1 %' : `${Math.round(percent)} %`
}
