// The account that one is paid to: what state it is in, and the one act that follows from it.

import { useState } from 'react'
import { asProblem } from '../problem.ts'
import { Button } from '../ui/button.tsx'
import { Badge } from '../ui/figures.tsx'
import { ProblemNotice, Skeleton } from '../ui/notice.tsx'
import {
  continueOnboarding,
  openDashboard,
  type PayoutAccount as Status,
  startOnboarding,
  usePayoutAccount,
} from './earnings.ts'
import { describeRequirements } from './requirements.ts'

type Tone = 'plain' | 'good' | 'warn' | 'danger'
type State = {
  tone: Tone
  word: string
  words: string
  act?: { label: string; kind: 'primary' | 'plain'; open: () => Promise<string> }
}

export function PayoutAccount() {
  const { data, error, refetch } = usePayoutAccount()
  return (
    <section className="payout-account" aria-labelledby="payout-account">
      <h2 id="payout-account">Payout account</h2>
      {!data && error && <ProblemNotice problem={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={2} />}
      {data && <AccountState {...describe(data)} />}
      {data && <Missing names={data.requirements_due ?? []} />}
    </section>
  )
}

function Missing({ names }: { names: readonly string[] }) {
  if (names.length === 0) return null
  return (
    <>
      <p className="soft">Stripe asks for:</p>
      <ul className="missing" aria-label="What Stripe asks for">
        {describeRequirements(names).map((words) => (
          <li key={words}>{words}</li>
        ))}
      </ul>
    </>
  )
}

function AccountState({ tone, word, words, act }: State) {
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const follow = async (open: () => Promise<string>) => {
    setBusy(true)
    setProblem(undefined)
    try {
      location.assign(await open())
    } catch (error) {
      // Who does not want to prove who they are has changed their mind.
      if (asProblem(error).code !== 'step_up_required') setProblem(error)
      setBusy(false)
    }
  }
  return (
    <>
      {problem !== undefined && <ProblemNotice problem={problem} />}
      <div className="account-state">
        <Badge tone={tone}>{word}</Badge>
        <p>{words}</p>
        {act && (
          <Button kind={act.kind} busy={busy} onClick={() => void follow(act.open)}>
            {busy ? 'Opening Stripe…' : act.label}
          </Button>
        )}
      </div>
    </>
  )
}

/** What Stripe calls it, in words. */
const REASONS: Record<string, string> = {
  'requirements.past_due':
    'Stripe needs something more from you, and stops payouts until it has it.',
  'requirements.pending_verification':
    'Stripe is checking what you sent. That can take a few days.',
  under_review: 'Stripe is looking at your account.',
  listed: 'Stripe is looking at your account.',
  platform_paused: 'Payouts to you are paused. Please ask the operator of this service.',
}

export function describe(status: Status): State {
  if (!status.connected) {
    return {
      tone: 'plain',
      word: 'not connected',
      words: 'Connect an account at Stripe, and what you earn is paid out to your bank once a day.',
      act: { label: 'Connect payouts', kind: 'primary', open: startOnboarding },
    }
  }
  if (!status.details_submitted) {
    return {
      tone: 'warn',
      word: 'not finished',
      words:
        'Stripe still needs to know who you are and where the money goes. Earnings wait for it.',
      act: { label: 'Continue at Stripe', kind: 'primary', open: continueOnboarding },
    }
  }
  if (status.payouts_enabled) {
    return {
      tone: 'good',
      word: 'payouts on',
      words: describePlace(status),
      act: { label: 'Open the Stripe dashboard', kind: 'plain', open: openDashboard },
    }
  }
  return describeStopped(status.disabled_reason ?? '')
}

function describePlace({ country, default_currency }: Status): string {
  const currency = default_currency?.toUpperCase()
  const place = [country, currency].filter(Boolean).join(', ')
  return `Your earnings are paid out by Stripe${place === '' ? '.' : ` (${place}).`}`
}

function describeStopped(reason: string): State {
  if (reason.startsWith('rejected')) {
    return {
      tone: 'danger',
      word: 'rejected',
      words: 'Stripe has rejected this account, and nothing can be paid to it. Please ask Stripe.',
    }
  }
  const is_waiting = reason === 'requirements.pending_verification' || reason === 'under_review'
  return {
    tone: 'warn',
    word: 'payouts off',
    words: REASONS[reason] ?? 'Stripe has stopped payouts. Its page says what is missing.',
    act: is_waiting
      ? { label: 'See it at Stripe', kind: 'plain', open: continueOnboarding }
      : { label: 'Fix what is missing', kind: 'primary', open: continueOnboarding },
  }
}
