// The four figures that people come for, each with its period in its label.

import type { ReactNode } from 'react'
import { formatCount } from '../format.ts'
import { Money, Time } from '../ui/figures.tsx'
import { countDays } from './attention.tsx'
import type { Account, Earnings, Spend } from './overview.ts'

const DAY_MS = 24 * 3_600_000

type FiguresProps = {
  account: Account
  days: number
  spend: Spend | undefined
  earnings: Earnings | undefined
  runway: number | undefined
  /** In place of a figure that has not come, or will not. */
  blank: string
}

export function Figures({ account, days, spend, earnings, runway, blank }: FiguresProps) {
  return (
    <dl className="figures">
      <Figure
        label="Balance"
        note={
          account.held > 0 ? (
            <>
              <Money credits={account.held} /> held by calls that run
            </>
          ) : (
            'available, nothing is held'
          )
        }
      >
        <Money credits={account.available} />
      </Figure>
      <Figure
        label={`Spend, last ${days} days`}
        note={spend && <Change {...{ account, spend, days }} />}
      >
        {spend ? <Money credits={spend.total} /> : blank}
      </Figure>
      <Figure
        label="Runway"
        note={runway === undefined ? 'once something is spent' : 'at the pace of the last 7 days'}
      >
        {spend ? describeRunway(runway) : blank}
      </Figure>
      <Figure label="Next payout" note={<PayoutNote earnings={earnings} />}>
        <Money credits={earnings ? nextPayout(earnings) : 0} />
      </Figure>
    </dl>
  )
}

function Figure({
  label,
  note,
  children,
}: {
  label: string
  note: ReactNode
  children: ReactNode
}) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        <span className="figure">{children}</span>
        <span className="soft figure-note">{note}</span>
      </dd>
    </div>
  )
}

/** An account that was not there for the whole period before has nothing to be compared with. */
function Change({
  account,
  spend,
  days,
}: Pick<FiguresProps, 'account' | 'days'> & { spend: Spend }) {
  const { total, before, requests } = spend
  const calls = `${formatCount(requests)} ${requests === 1 ? 'call' : 'calls'}`
  const age_days = (Date.now() - Date.parse(account.created_at)) / DAY_MS
  if (before === 0 || age_days < 2 * days) return calls
  const percent = Math.round(((total - before) / before) * 100)
  const words =
    percent === 0
      ? 'as much as'
      : `${Math.abs(percent) > 999 ? 'over 999' : Math.abs(percent)} % ${percent > 0 ? 'more' : 'less'} than`
  return (
    <>
      {words} in the {days} days before · {calls}
    </>
  )
}

const RUNWAY_SHOWN_MAX = 999

function describeRunway(days: number | undefined): string {
  if (days === undefined) return '–'
  if (days === 0) return 'under 1 day'
  return days > RUNWAY_SHOWN_MAX ? `over ${RUNWAY_SHOWN_MAX} days` : `≈ ${countDays(days)}`
}

/** Released reserves go out with the next payout, and never alone. */
function nextPayout({ summary }: Earnings): number {
  const { pending_payout_credits: due, released_reserve_credits: released } = summary
  return due > 0 ? due + released : 0
}

function PayoutNote({ earnings }: { earnings: Earnings | undefined }) {
  if (!earnings) return 'when your users pay'
  const { next_batch_at, accumulating_credits, on_hold_credits } = earnings.summary
  if (nextPayout(earnings) > 0) return <Time at={next_batch_at} />
  const later = accumulating_credits + on_hold_credits
  return later > 0 ? (
    <>
      <Money credits={later} /> on the way
    </>
  ) : (
    'nothing earned yet'
  )
}
