// /earnings: what users of one's apps have brought in, where it is now, and how it is paid out. ?period= is the chart's.

import { useMemo } from 'react'
import { formatDollars } from '../format.ts'
import { StackedBars } from '../ui/chart.tsx'
import { Money } from '../ui/figures.tsx'
import { ProblemNotice, Skeleton } from '../ui/notice.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { PeriodChoice } from '../ui/period-choice.tsx'
import { oneOf, useUrlState } from '../url-state.ts'
import './earnings.css'
import {
  type App,
  DAY_COUNTS,
  type Earnings,
  readSeries,
  useApps,
  useEarnings,
} from './earnings.ts'
import { MoneyFlow } from './money-flow.tsx'
import { NoEarnings } from './no-earnings.tsx'
import { PayoutAccount } from './payout-account.tsx'
import { PayoutsTable } from './payouts-table.tsx'

const VIEW = { period: oneOf(DAY_COUNTS, '30') }
const NO_APPS: readonly App[] = []

export default function EarningsPage() {
  const [{ period }, setView] = useUrlState(VIEW)
  const days = Number(period)
  const earnings = useEarnings(days)
  const apps = useApps()
  const rows = useMemo(() => apps.pages?.flat() ?? NO_APPS, [apps.pages])
  const has_earned = (earnings.data?.summary.total_earned_credits ?? 0) > 0
  return (
    <>
      <PageHead title="Earnings" lead="The markup that users of your apps pay you.">
        {has_earned && (
          <PeriodChoice
            choices={DAY_COUNTS}
            chosen={period}
            onChoose={(next) => setView({ period: next })}
          />
        )}
      </PageHead>
      <div className="earnings">
        {!earnings.data && earnings.error && (
          <ProblemNotice problem={earnings.error} onRetry={() => void earnings.refetch()} />
        )}
        {!earnings.data && !earnings.error && <Skeleton lines={5} />}
        {earnings.data && has_earned && <MoneyFlow summary={earnings.data.summary} />}
        {earnings.data && !has_earned && apps.pages && <NoEarnings apps={rows} />}
        <PayoutAccount />
        {has_earned && <ByDayAndApp earnings={earnings.data} {...{ days, rows }} />}
        <PayoutsTable />
      </div>
    </>
  )
}

function ByDayAndApp(props: {
  earnings: Earnings | undefined
  days: number
  rows: readonly App[]
}) {
  const { earnings, days, rows } = props
  const { steps, series, total } = useMemo(() => {
    const names = new Map(rows.map((app) => [app.client_id, app.name]))
    return readSeries(earnings?.series ?? [], { days, names })
  }, [earnings, days, rows])
  return (
    <section aria-labelledby="by-app">
      <header className="section-head">
        <h2 id="by-app">By day and app</h2>
        <p className="soft">
          <Money credits={total} /> in the last {days} days (UTC)
        </p>
      </header>
      {series.length === 0 ? (
        <p className="soft">Nothing was earned in these {days} days.</p>
      ) : (
        <StackedBars
          label={`Earnings by app, last ${days} days`}
          steps={steps}
          series={series.map((row) => ({
            ...row,
            name: `${row.name}, ${formatDollars(row.total)}`,
          }))}
          format={formatDollars}
        />
      )}
    </section>
  )
}
