// /usage: spend, requests and tokens by time and group, and every call with its receipt (?call= with an id).

import { type KeyboardEvent, useCallback, useEffect, useMemo, useState } from 'react'
import { formatCount } from '../format.ts'
import { queries, useAccount } from '../queries.ts'
import { Button } from '../ui/button.tsx'
import { EmptyState, ProblemNotice, Skeleton } from '../ui/notice.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { useUrlState } from '../url-state.ts'
import './usage.css'
import { CallsTable } from './calls-table.tsx'
import { ActiveFilters, type Change, Controls } from './controls.tsx'
import { FirstCall } from './first-call.tsx'
import { type Period, periodOf } from './period.ts'
import { ReceiptPanel } from './receipt.tsx'
import { Spending } from './spending.tsx'
import {
  type Call,
  csvAddress,
  isFiltered,
  NO_FILTERS,
  useAppNames,
  useCalls,
  useKeyNames,
  useSummary,
  VIEW,
  type View,
} from './usage.ts'

export default function UsagePage() {
  const [view, setView] = useUrlState(VIEW)
  const [now] = useState(Date.now)
  const period = useMemo(() => periodOf(view.period, now), [view.period, now])
  const calls = useCalls(view, period)
  const rows = useMemo(() => calls.pages?.flat(), [calls.pages])
  const is_waiting = useWaiting(view, rows)
  return (
    <>
      <PageHead title="Usage" lead="Every call, what it cost, and why.">
        {!is_waiting && (
          <a className="button plain" href={csvAddress(view, period)} download="usage.csv">
            <span>Download CSV</span>
          </a>
        )}
      </PageHead>
      {is_waiting ? (
        <FirstCall onLook={calls.retry} />
      ) : (
        <Record {...{ view, setView, period, calls, rows }} />
      )}
    </>
  )
}

/** Before the first call. When it has come, what was added up without it is read again. */
function useWaiting(view: View, rows: readonly Call[] | undefined): boolean {
  const account = useAccount()
  const is_new = account.data?.onboarding.first_call === false
  const has_come = is_new && rows !== undefined && rows.length > 0
  useEffect(() => {
    if (!has_come) return
    for (const queryKey of [['account'], ['usage', 'summary']]) {
      void queries.invalidateQueries({ queryKey })
    }
  }, [has_come])
  return is_new && rows?.length === 0 && !isFiltered(view)
}

type RecordProps = {
  view: View
  setView: Change
  period: Period
  calls: ReturnType<typeof useCalls>
  rows: readonly Call[] | undefined
}

function Record({ view, setView, period, calls, rows = [] }: RecordProps) {
  const summary = useSummary(view, period)
  const keys = useKeyNames(
    view.by === 'key' || view.key_id !== '' || rows.some(({ key_id }) => key_id !== null),
  )
  const apps = useAppNames(view.by === 'app' || view.client_id !== '')
  const open = useCallback((call: string) => setView({ call }), [setView])
  const close = () => setView({ call: '' }, { replace: true })
  const place = rows.findIndex(({ id }) => id === view.call)
  const walk = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const next = step === undefined || view.call === '' ? undefined : rows[place + step]
    if (!next || place < 0) return
    event.preventDefault()
    setView({ call: next.id }, { replace: true })
    showRow(next.id)
  }
  return (
    <div className="usage">
      <Controls view={view} onChange={setView} />
      <ActiveFilters view={view} names={{ keys, apps }} onChange={setView} />
      {summary.data && (
        <Spending
          sums={summary.data}
          is_old={summary.isPlaceholderData}
          view={view}
          names={{ keys, apps }}
          onChange={setView}
        />
      )}
      {!summary.data &&
        (summary.error ? (
          <ProblemNotice problem={summary.error} onRetry={() => void summary.refetch()} />
        ) : (
          <Skeleton lines={6} />
        ))}
      <section className="calls" aria-label="Calls" onKeyDown={walk}>
        <h2>Calls</h2>
        <CallsTable
          list={calls}
          label={`Calls, ${period.label}`}
          names={keys}
          opened={view.call}
          onOpen={open}
          empty={<NoCalls view={view} period={period} onChange={setView} />}
        />
        {view.call !== '' && (
          <ReceiptPanel id={view.call} place={placeWords(place, rows.length)} onClose={close} />
        )}
      </section>
    </div>
  )
}

function placeWords(place: number, count: number): string {
  if (place < 0) return 'A call outside of this list.'
  return `Call ${formatCount(place + 1)} of the ${formatCount(count)} shown. ↑ and ↓ walk the list.`
}

/** In view; and where the list has the focus, the focus goes along. */
function showRow(id: string): void {
  const button = document.querySelector<HTMLElement>(`[data-call="${CSS.escape(id)}"]`)
  button?.scrollIntoView({ block: 'nearest' })
  if (document.activeElement?.hasAttribute('data-call')) button?.focus()
}

function NoCalls({ view, period, onChange }: { view: View; period: Period; onChange: Change }) {
  if (isFiltered(view)) {
    return (
      <EmptyState
        title="No call fits these filters"
        action={<Button onClick={() => onChange(NO_FILTERS)}>Clear filters</Button>}
      >
        <p>There may be others in the {period.label}.</p>
      </EmptyState>
    )
  }
  return (
    <EmptyState
      title={`No call in the ${period.label}`}
      action={
        view.period !== '90d' && (
          <Button onClick={() => onChange({ period: '90d' })}>Show the last 90 days</Button>
        )
      }
    >
      <p>Earlier calls are still in your statement.</p>
    </EmptyState>
  )
}
