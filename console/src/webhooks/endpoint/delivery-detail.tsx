// One delivery: the body that was sent and the answer that came back side by side, headers, attempts, sending again.

import { useEffect, useRef, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { Badge, Time } from '../../ui/figures.tsx'
import { ProblemNotice, Skeleton } from '../../ui/notice.tsx'
import { CodeSnippet } from '../../ui/snippet.tsx'
import { toast } from '../../ui/toast.tsx'
import {
  type Attempt,
  type DeliveryWithAttempts,
  redeliver,
  useDelivery,
  useNow,
} from './deliveries.ts'
import { SignatureCheck } from './signature-check.tsx'
import { describeDuration, describeProgress, ordinal, STATUS_TONES, STATUS_WORDS } from './words.ts'

type DetailProps = { webhook_id: string; is_active: boolean }

export function DeliveryDetail(props: DetailProps & { delivery_id: string }) {
  const { webhook_id, delivery_id } = props
  const { data, error, refetch } = useDelivery(webhook_id, delivery_id)
  if (data) return <Shown key={data.id} delivery={data} {...props} />
  return error ? (
    <ProblemNotice problem={error} onRetry={() => void refetch()} />
  ) : (
    <Skeleton lines={8} />
  )
}

function Shown({
  delivery,
  webhook_id,
  is_active,
}: DetailProps & { delivery: DeliveryWithAttempts }) {
  const { attempts } = delivery
  const [number, setNumber] = useState<number | undefined>()
  const shown = attempts.find((attempt) => attempt.number === number) ?? attempts.at(-1)
  return (
    <article className="delivery" aria-label={`Delivery of ${delivery.event_type}`}>
      <DetailHead delivery={delivery} webhook_id={webhook_id} is_active={is_active} />
      <div className="sent-and-answered">
        <SentBody delivery={delivery} />
        <Answer attempt={shown} />
      </div>
      {attempts.length > 0 && (
        <Attempts attempts={attempts} shown={shown?.number} onChoose={setNumber} />
      )}
      {shown && <Headers headers={shown.request_headers} />}
      <SignatureCheck />
    </article>
  )
}

function DetailHead({
  delivery,
  webhook_id,
  is_active,
}: DetailProps & { delivery: DeliveryWithAttempts }) {
  const [state, setState] = useState<{ busy: boolean; problem?: unknown }>({ busy: false })
  const now = useNow(delivery.status === 'pending')
  const heading = useFocusOnPhone()
  const again = async () => {
    setState({ busy: true })
    try {
      await redeliver(webhook_id, delivery.id)
      toast('It is being sent again.')
      setState({ busy: false })
    } catch (problem) {
      setState({ busy: false, problem })
    }
  }
  return (
    <header className="delivery-head">
      <div className="delivery-title">
        <h2 ref={heading} tabIndex={-1}>
          <code>{delivery.event_type}</code>
        </h2>
        <p className="row">
          <Badge tone={STATUS_TONES[delivery.status]}>{STATUS_WORDS[delivery.status]}</Badge>
          <span role="status">{describeProgress(delivery, { now, is_active })}</span>
        </p>
        <p className="soft">
          Event of <Time at={delivery.created_at} />
          {delivery.test && ', a test'}
        </p>
      </div>
      <div className="row">
        <CopyButton text={delivery.event_id} label="Copy event id" />
        {is_active && (
          <Button busy={state.busy} onClick={() => void again()}>
            Send again
          </Button>
        )}
      </div>
      {state.problem !== undefined && <ProblemNotice problem={state.problem} />}
    </header>
  )
}

/** There the list is away, and with it the button that had the focus. */
function useFocusOnPhone() {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (matchMedia('(width < 960px)').matches) heading.current?.focus()
  }, [])
  return heading
}

function SentBody({ delivery }: { delivery: DeliveryWithAttempts }) {
  const shown = { language: 'JSON', code: JSON.stringify(delivery.payload, null, 2) }
  // The clipboard gets the bytes that were signed.
  const copied = { language: 'JSON', code: JSON.stringify(delivery.payload) }
  return (
    <section className="delivery-part">
      <h3>What was sent</h3>
      <CodeSnippet label="Body" samples={[shown]} copied={[copied]} />
    </section>
  )
}

function Answer({ attempt }: { attempt: Attempt | undefined }) {
  if (!attempt) {
    return (
      <section className="delivery-part">
        <h3>What came back</h3>
        <p className="soft">Nothing yet.</p>
      </section>
    )
  }
  const { response_status, response_body, duration_ms, reason, outcome } = attempt
  return (
    <section className="delivery-part">
      <h3>What came back</h3>
      <p className="row">
        <Badge tone={outcome === 'delivered' ? 'good' : 'danger'}>
          {response_status === 0 ? 'No answer' : `Status ${response_status}`}
        </Badge>
        <span className="soft">
          after {describeDuration(duration_ms)}, {ordinal(attempt.number)} try
        </span>
      </p>
      {outcome !== 'delivered' && <p>{reason}</p>}
      {response_body === null || response_body === '' ? (
        <p className="soft">The answer has no body.</p>
      ) : (
        <CodeSnippet
          label="Body of the answer"
          samples={[{ language: 'Text', code: response_body }]}
        />
      )}
    </section>
  )
}

function Attempts(props: {
  attempts: readonly Attempt[]
  shown: number | undefined
  onChoose: (number: number) => void
}) {
  return (
    <section className="delivery-part">
      <h3>Attempts</h3>
      <ol className="attempts">
        {props.attempts.map((attempt) => (
          <li key={attempt.number}>
            <button
              type="button"
              aria-current={attempt.number === props.shown || undefined}
              onClick={() => props.onChoose(attempt.number)}
            >
              <strong>{ordinal(attempt.number)} try</strong>
              <span className="soft">
                <Time at={attempt.at} />
              </span>
              <span>
                {attempt.response_status === 0
                  ? attempt.reason
                  : `Status ${attempt.response_status}`}
              </span>
              <span className="soft">{describeDuration(attempt.duration_ms)}</span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  )
}

function Headers({ headers }: { headers: Record<string, string> }) {
  return (
    <details className="headers">
      <summary>Headers of the request</summary>
      <dl>
        {Object.entries(headers).map(([name, value]) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>
              <code>{value}</code>
            </dd>
          </div>
        ))}
      </dl>
    </details>
  )
}
