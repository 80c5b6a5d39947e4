// What is said in place of data: nothing there yet, something went wrong, still loading.

import type { ReactNode } from 'react'
import { asProblem } from '../problem.ts'
import { Button } from './button.tsx'
import { Sign } from './icons.tsx'

/** Names the one next act and shows it ready. */
export function EmptyState(props: { title: string; children: ReactNode; action?: ReactNode }) {
  return (
    <div className="empty">
      <h2>{props.title}</h2>
      <div className="empty-text">{props.children}</div>
      {props.action}
    </div>
  )
}

/** What went wrong and what to do, in the service's own words. */
export function ProblemNotice({ problem, onRetry }: { problem: unknown; onRetry?: () => void }) {
  const { message, hint, code, status } = asProblem(problem)
  return (
    <div className="problem" role="alert" tabIndex={-1}>
      <Sign name="alert" />
      <div>
        <p>{message}</p>
        {hint !== undefined && <p className="soft">{hint}</p>}
        {status > 0 && (
          <p className="soft">
            <a href={`/docs/errors#${code}`}>{code}</a>
          </p>
        )}
      </div>
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  )
}

/** Holds the place of what loads for the first time. */
export function Skeleton({ lines = 3 }: { lines?: number }) {
  return (
    <div className="skeleton" aria-busy="true">
      <span className="unseen">Loading</span>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} className="skeleton-line" />
      ))}
    </div>
  )
}
