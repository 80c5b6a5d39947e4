// What one's own wallet paid, by day and model, with the share of each.

import { useCallback } from 'react'
import { Link } from 'wouter'
import { formatDollars } from '../format.ts'
import { StackedBars } from '../ui/chart.tsx'
import { Money } from '../ui/figures.tsx'
import { Skeleton } from '../ui/notice.tsx'
import type { Spend } from './overview.ts'

export function SpendByModel({ spend, days }: { spend: Spend | undefined; days: number }) {
  const format = useCallback((credits: number) => formatDollars(credits), [])
  return (
    <section aria-labelledby="by-model">
      <header className="section-head">
        <h2 id="by-model">Spend by model</h2>
        <p className="soft">last {days} days (UTC)</p>
        <Link to={`/usage?period=${days}d`}>All usage</Link>
      </header>
      {!spend && <Skeleton lines={5} />}
      {spend && spend.series.length === 0 && (
        <p className="soft">
          Nothing was charged to your balance in these {days} days.{' '}
          <Link to="/playground">Make a call in the playground</Link>
        </p>
      )}
      {spend && spend.series.length > 0 && (
        <div className="chart-and-shares">
          <StackedBars
            label={`Spend by model, last ${days} days`}
            steps={spend.steps}
            series={spend.series}
            format={format}
          />
          <Shares spend={spend} days={days} />
        </div>
      )}
      {spend && spend.paid_by_users > 0 && (
        <p className="soft users-paid">
          Users of your apps paid <Money credits={spend.paid_by_users} /> more from their own
          balances.
        </p>
      )}
    </section>
  )
}

function Shares({ spend, days }: { spend: Spend; days: number }) {
  return (
    <table className="table shares">
      <caption className="unseen">Share of each model, last {days} days</caption>
      <thead>
        <tr>
          <th scope="col">Model</th>
          <th scope="col" className="end">
            Spend
          </th>
          <th scope="col" className="end">
            Share
          </th>
        </tr>
      </thead>
      <tbody>
        {spend.series.map(({ id, name, color, total }) => (
          <tr key={id}>
            <th scope="row">
              <span className="swatch" style={{ background: color }} /> {name}
            </th>
            <td className="end">
              <Money credits={total} />
            </td>
            <td className="end soft">{describeShare(total / spend.total)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function describeShare(share: number): string {
  const percent = Math.round(share * 100)
  return percent === 0 ? '<1 %' : `${percent} %`
}
