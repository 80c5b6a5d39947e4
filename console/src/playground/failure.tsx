// A call that was refused or failed: what was wrong, and the next act, ready.

import { useEffect, useState } from 'react'
import type { ApiProblem } from '../problem.ts'
import { Button, LinkButton } from '../ui/button.tsx'
import { ProblemNotice } from '../ui/notice.tsx'

export function CallFailure({ problem, onAgain }: { problem: ApiProblem; onAgain?: () => void }) {
  const wait_s = useCountdown(problem.status === 429 ? (problem.retry_after_s ?? 0) : 0)
  return (
    <>
      <ProblemNotice problem={problem} />
      <div className="row">
        {problem.status === 402 && (
          <LinkButton to="/topups" kind="primary">
            Top up
          </LinkButton>
        )}
        {onAgain && (
          <Button busy={wait_s > 0} onClick={onAgain}>
            {wait_s > 0 ? `Send again in ${wait_s} s` : 'Send again'}
          </Button>
        )}
      </div>
    </>
  )
}

function useCountdown(from_s: number): number {
  const [left_s, setLeft] = useState(from_s)
  useEffect(() => {
    if (left_s <= 0) return undefined
    const timer = setTimeout(() => setLeft(left_s - 1), 1_000)
    return () => clearTimeout(timer)
  }, [left_s])
  return left_s
}
