// /: what is there, what was spent, what needs a look, and the first steps. ?period= is 7, 30 or 90 days.

import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { api, ask } from '../api.ts'
import { useAccount } from '../queries.ts'
import { LinkButton } from '../ui/button.tsx'
import { ProblemNotice, Skeleton } from '../ui/notice.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { PeriodChoice } from '../ui/period-choice.tsx'
import { oneOf, useUrlState } from '../url-state.ts'
import './overview.css'
import { AttentionList, findConcerns } from './attention.tsx'
import { Checklist } from './checklist.tsx'
import { Figures } from './key-figures.tsx'
import { LatestCalls } from './latest-calls.tsx'
import {
  type Account,
  DAY_COUNTS,
  runwayDays,
  useAttention,
  useEarningsSummary,
  useSpend,
} from './overview.ts'
import { SpendByModel } from './spend-by-model.tsx'

const VIEW = { period: oneOf(DAY_COUNTS, '30') }
/** While a first call is awaited: often enough to see the tick appear, and not for ever. */
const LOOK_EVERY_MS = 10_000
const LOOKS_MAX = 30

export default function OverviewPage() {
  const [{ period }, setView] = useUrlState(VIEW)
  const account = useAccount()
  return (
    <>
      <PageHead title="Overview">
        <PeriodChoice
          choices={DAY_COUNTS}
          chosen={period}
          onChoose={(next) => setView({ period: next })}
        />
      </PageHead>
      {account.data ? (
        <Overview account={account.data} days={Number(period)} />
      ) : account.error ? (
        <ProblemNotice problem={account.error} onRetry={() => void account.refetch()} />
      ) : (
        <Skeleton lines={6} />
      )}
    </>
  )
}

function Overview({ account, days }: { account: Account; days: number }) {
  const { onboarding } = account
  const spend = useSpend(days)
  const attention = useAttention()
  const earnings = useEarningsSummary({ enabled: onboarding.register_app })
  useFirstCallLook(onboarding.create_key && !onboarding.first_call)
  const runway = spend.data && runwayDays(account, spend.data.last_week, Date.now())
  const concerns = findConcerns({
    account,
    attention: attention.data,
    earnings: earnings.data,
    runway,
  })
  return (
    <div className="overview">
      {account.came_from === 'consent' && !onboarding.create_key ? (
        <Doorway account={account} />
      ) : (
        <Checklist account={account} />
      )}
      <AttentionList concerns={concerns} />
      <Figures
        {...{ account, days, runway }}
        spend={spend.data}
        earnings={earnings.data}
        blank={spend.error ? '–' : '…'}
      />
      {spend.error && !spend.data ? (
        <ProblemNotice problem={spend.error} onRetry={() => void spend.refetch()} />
      ) : (
        onboarding.first_call && <SpendByModel spend={spend.data} days={days} />
      )}
      <LatestCalls />
    </div>
  )
}

/** Who came for an app of somebody else's is not asked to build one. */
function Doorway({ account }: { account: Account }) {
  const [is_open, setOpen] = useState(false)
  if (is_open) return <Checklist account={account} />
  return (
    <section className="doorway">
      <p>
        Your balance and the apps that may use it are under{' '}
        <Link to="/wallet">Balance and apps</Link>.
      </p>
      <p className="soft">
        Building something?{' '}
        <button type="button" className="link" onClick={() => setOpen(true)}>
          Start here
        </button>
      </p>
      <LinkButton to="/wallet">To your wallet</LinkButton>
    </section>
  )
}

function useFirstCallLook(enabled: boolean): void {
  useQuery({
    queryKey: ['account'],
    queryFn: () => ask(() => api.GET('/account')),
    enabled,
    refetchInterval: ({ state }) => state.dataUpdateCount < LOOKS_MAX && LOOK_EVERY_MS,
  })
}
