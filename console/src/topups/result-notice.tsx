// What became of the payment that somebody comes back from. The credits come with the processor's own word, which may be
// later than the browser: the list is read again for a while, and then no more.

import { useEffect, useState } from 'react'
import { Button } from '../ui/button.tsx'
import { Money } from '../ui/figures.tsx'
import { describeFailure } from './failures.ts'
import { readPaymentsAgain, type Topup } from './topups.ts'

const LOOK_AGAIN_MS = 1_500
const LOOKS_MAX = 40

type ResultProps = { result: 'paid' | 'canceled'; topup: Topup | undefined; onClose: () => void }

export function ResultNotice({ result, topup, onClose }: ResultProps) {
  const is_waiting = result === 'paid' && topup?.state === 'pending'
  useLookingAgain(is_waiting)
  return (
    <div className="result" role="status">
      <div>
        {result === 'canceled' ? (
          <p>You left the payment. Nothing was charged.</p>
        ) : (
          <PaymentState topup={topup} />
        )}
      </div>
      <Button kind="quiet" onClick={onClose}>
        Close
      </Button>
    </div>
  )
}

function PaymentState({ topup }: { topup: Topup | undefined }) {
  switch (topup?.state) {
    case 'paid':
      return (
        <p>
          Thank you. <Money credits={topup.credits} /> is in your balance. A receipt comes by mail.
        </p>
      )
    case 'failed':
      return (
        <p>
          The payment failed{topup.failure_code && `: ${describeFailure(topup.failure_code)}`}.
          Nothing was charged.
        </p>
      )
    case 'expired':
      return <p>The payment was not finished in time. Nothing was charged.</p>
    case 'pending':
      return (
        <p>
          Your payment is being confirmed, usually within seconds. A bank debit takes days; its
          credits come by themselves.
        </p>
      )
    case undefined:
      return <p>Your payments are in the list below.</p>
  }
}

function useLookingAgain(is_waiting: boolean): void {
  const [looks, setLooks] = useState(0)
  useEffect(() => {
    if (!is_waiting || looks >= LOOKS_MAX) return undefined
    const timer = setTimeout(() => {
      void readPaymentsAgain()
      setLooks(looks + 1)
    }, LOOK_AGAIN_MS)
    return () => clearTimeout(timer)
  }, [is_waiting, looks])
}
