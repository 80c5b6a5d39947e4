// What needs a look, each with the page where it is put right. Nothing is shown if nothing does.

import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { formatCents } from '../format.ts'
import { Money, Time } from '../ui/figures.tsx'
import { Sign } from '../ui/icons.tsx'
import type { Account, Attention, Earnings } from './overview.ts'

const LOW_RUNWAY_DAYS = 3

export type Concern = {
  id: string
  tone: 'warn' | 'danger'
  words: ReactNode
  to: string
  act: string
}

export function AttentionList({ concerns }: { concerns: readonly Concern[] }) {
  if (concerns.length === 0) return null
  return (
    <section className="attention" aria-labelledby="attention">
      <h2 id="attention">Needs a look</h2>
      <ul>
        {concerns.map(({ id, tone, words, to, act }) => (
          <li key={id} className={tone}>
            <Sign name="alert" />
            <p>{words}</p>
            <Link to={to}>{act}</Link>
          </li>
        ))}
      </ul>
    </section>
  )
}

export type Known = {
  account: Account
  attention: Attention | undefined
  earnings: Earnings | undefined
  runway: number | undefined
}

export function findConcerns({ account, attention, earnings, runway }: Known): Concern[] {
  return [
    ...aboutBalance(account, runway),
    ...(attention?.keys ?? []).map(aboutKey),
    ...(attention?.webhooks ?? []).map(aboutWebhook),
    ...(earnings ? aboutPayouts(account, earnings) : []),
  ]
}

function aboutBalance(account: Account, runway: number | undefined): Concern[] {
  const { available, low_balance_credits, service } = account
  const is_low = available < (low_balance_credits ?? 0) || available <= 0
  const is_short = runway !== undefined && runway < LOW_RUNWAY_DAYS
  if (!is_low && !is_short) return []
  return [
    {
      id: 'balance',
      tone: available <= 0 || runway === 0 ? 'danger' : 'warn',
      words: (
        <>
          The balance is low: <Money credits={available} /> left
          {is_short && (
            <>
              , {runway === 0 ? 'less than a day' : `about ${countDays(runway)}`} at the present
              pace
            </>
          )}
          .
        </>
      ),
      ...(service.topup === null
        ? { to: '/wallet', act: 'See the balance' }
        : { to: '/topups', act: 'Top up' }),
    },
  ]
}

function aboutKey(key: Attention['keys'][number]): Concern {
  const { id, name, expires_at } = key
  const common = { to: `/keys?edit=${id}`, act: 'Change the key' }
  if (key.is_near_limit) {
    const [spent, limit] = [key.spent_period_credits ?? 0, key.spend_limit_credits ?? 0]
    return {
      ...common,
      id: `limit ${id}`,
      tone: spent >= limit ? 'danger' : 'warn',
      words: (
        <>
          The key <strong>{name}</strong> has spent <Money credits={spent} /> of its{' '}
          <Money credits={limit} />
          {key.period_resets_at !== null && (
            <>
              , which begins anew <Time at={key.period_resets_at} as="distance" />
            </>
          )}
          .
        </>
      ),
    }
  }
  const is_over = expires_at !== null && Date.parse(expires_at) <= Date.now()
  return {
    ...common,
    id: `end ${id}`,
    tone: is_over ? 'danger' : 'warn',
    words: (
      <>
        The key <strong>{name}</strong> {is_over ? 'expired' : 'expires'}{' '}
        {expires_at !== null && <Time at={expires_at} as="distance" />}.
      </>
    ),
  }
}

function aboutWebhook(webhook: Attention['webhooks'][number]): Concern {
  const { id, url, failed, delivered, switched_off_at } = webhook
  return {
    id,
    tone: 'danger',
    words:
      switched_off_at === null ? (
        <>
          {failed} of {failed + delivered} deliveries to <strong>{hostOf(url)}</strong> failed in
          the last 24 hours.
        </>
      ) : (
        <>
          The webhook <strong>{hostOf(url)}</strong> failed for so long that it was switched off{' '}
          <Time at={switched_off_at} as="distance" />.
        </>
      ),
    to: `/webhooks/${id}`,
    act: 'See the deliveries',
  }
}

function aboutPayouts(account: Account, { summary, recent_payouts }: Earnings): Concern[] {
  const waiting = summary.pending_payout_credits + summary.accumulating_credits
  const due = waiting + summary.on_hold_credits
  const concerns: Concern[] = []
  if (!account.onboarding.connect_payouts && due > 0) {
    concerns.push({
      id: 'payouts',
      tone: 'warn',
      words: (
        <>
          Payouts are off: <Money credits={due} /> wait until you connect an account.
        </>
      ),
      to: '/earnings',
      act: 'Connect payouts',
    })
  }
  const [last] = recent_payouts
  if (last?.status === 'failed') {
    concerns.push({
      id: last.id,
      tone: 'danger',
      words: (
        <>
          The payout of {formatCents(last.amount_cents)} failed
          {last.failure_reason !== null && `: ${last.failure_reason}`}
        </>
      ),
      to: '/earnings',
      act: 'See payouts',
    })
  }
  return concerns
}

export function countDays(days: number): string {
  return days === 1 ? '1 day' : `${days} days`
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? url
}
