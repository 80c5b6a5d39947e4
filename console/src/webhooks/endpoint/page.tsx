// /webhooks/:id: one webhook and its deliveries. Filters, the chosen delivery and the open dialog are in the address:
// ?status=failed&delivery=dlv_…, ?act=test.

import { useEffect, useRef } from 'react'
import { Link, useParams } from 'wouter'
import { Button } from '../../ui/button.tsx'
import { Time } from '../../ui/figures.tsx'
import { EmptyState, ProblemNotice, Skeleton } from '../../ui/notice.tsx'
import { PageHead, usePageTitle } from '../../ui/page-head.tsx'
import { oneOf, text, useUrlState } from '../../url-state.ts'
import '../webhooks.css'
import { WebhookState } from '../state.tsx'
import { describeAttempts, Strip } from '../strip.tsx'
import { useStatsOf, useWebhook, type Webhook } from '../webhooks.ts'
import { ACTS, type Act, ActDialog, WebhookActs } from './act-menu.tsx'
import { useDeliveries } from './deliveries.ts'
import { DeliveryDetail } from './delivery-detail.tsx'
import { DeliveryList } from './delivery-list.tsx'
import { DeliveryFilters, readFilter, useFilters } from './filters.tsx'
import { SignatureCheck } from './signature-check.tsx'

const VIEW = { delivery: text(), act: oneOf(['', ...ACTS], '') }

export default function WebhookPage() {
  const { id = '' } = useParams()
  const { data: webhook, error, refetch } = useWebhook(id)
  const [view, setView] = useUrlState(VIEW)
  usePageTitle(webhook && new URL(webhook.url).host)
  if (!webhook) {
    return (
      <>
        <PageHead title="Webhook" />
        {error ? <ProblemNotice problem={error} onRetry={() => void refetch()} /> : <Skeleton />}
      </>
    )
  }
  const open = (act: Act) => setView({ act })
  return (
    <>
      <p className="crumbs">
        <Link to="/webhooks">Webhooks</Link>
      </p>
      <PageHead title={webhook.url} lead={<WebhookLead webhook={webhook} />}>
        <WebhookActs webhook={webhook} onOpen={open} />
      </PageHead>
      <Health webhook={webhook} />
      <Deliveries
        webhook={webhook}
        chosen={view.delivery}
        onChoose={(delivery) => setView({ delivery })}
        onTest={() => open('test')}
      />
      {view.act !== '' && (
        <ActDialog
          act={view.act}
          webhook={webhook}
          onClose={() => setView({ act: '' }, { replace: true })}
          onSent={(delivery) => setView({ act: '', delivery }, { replace: true })}
        />
      )}
    </>
  )
}

function WebhookLead({ webhook }: { webhook: Webhook }) {
  const { app_id, app_name, events, previous_secret_until } = webhook
  return (
    <>
      <WebhookState webhook={webhook} /> of <Link to={`/apps/${app_id}`}>{app_name}</Link> ·{' '}
      <span title={events.join('\n')}>
        {events.length === 1 ? events[0] : `${events.length} kinds of events`}
      </span>
      {previous_secret_until !== null && (
        <>
          {' · '}both secrets sign until <Time at={previous_secret_until} />
        </>
      )}
    </>
  )
}

function Health({ webhook }: { webhook: Webhook }) {
  const { data } = useStatsOf(webhook.id)
  const counts = {
    delivered: data?.data.map(({ delivered }) => delivered) ?? [],
    failed: data?.data.map(({ failed }) => failed) ?? [],
  }
  const { switched_off_at } = webhook
  return (
    <>
      {switched_off_at !== null && (
        <div className="problem webhook-note">
          <p>
            Nothing had arrived for three days, so it was switched off{' '}
            <Time at={switched_off_at} as="distance" />. Resume it, then send again what failed.
          </p>
        </div>
      )}
      <div className="health">
        <Strip {...counts} />
        <p className="soft">Last 24 hours: {describeAttempts(counts)}</p>
      </div>
    </>
  )
}

function Deliveries(props: {
  webhook: Webhook
  chosen: string
  onChoose: (delivery_id: string) => void
  onTest: () => void
}) {
  const { webhook, chosen, onChoose, onTest } = props
  const filters = useFilters()
  const side = useReturnToRow(chosen)
  const found = useDeliveries(webhook.id, readFilter(filters))
  const { event } = filters.view
  // Several events may be of one millisecond.
  const pages = found.pages?.map((page) =>
    page.filter((row) => event === '' || row.event_id === event),
  )
  const list = { ...found, pages }
  const empty = filters.is_narrowed ? (
    <EmptyState
      title="No delivery fits"
      action={<Button onClick={filters.clear}>Clear filters</Button>}
    >
      <p>Deliveries are kept for 30 days.</p>
    </EmptyState>
  ) : (
    <EmptyState
      title="Nothing was sent yet"
      action={
        webhook.active && (
          <Button kind="primary" onClick={onTest}>
            Send a test event
          </Button>
        )
      }
    >
      <p>Deliveries stand here as soon as something happens in {webhook.app_name}.</p>
    </EmptyState>
  )
  return (
    <section className={chosen === '' ? 'log' : 'log with-chosen'} aria-label="Deliveries">
      <div className="delivery-bar">
        <h2>Deliveries</h2>
        <Button kind="quiet" onClick={list.retry}>
          Refresh
        </Button>
      </div>
      <DeliveryFilters filters={filters} />
      <div className="deliveries">
        <div className="delivery-side" ref={side}>
          <DeliveryList {...{ list, chosen, onChoose, empty }} is_active={webhook.active} />
        </div>
        <div className="delivery-main">
          {chosen === '' ? (
            <SignatureCheck />
          ) : (
            <>
              <p className="back-to-list">
                <Button onClick={() => onChoose('')}>All deliveries</Button>
              </p>
              <DeliveryDetail
                webhook_id={webhook.id}
                is_active={webhook.active}
                delivery_id={chosen}
              />
            </>
          )}
        </div>
      </div>
    </section>
  )
}

/** On a phone the list is away while a delivery is shown; back on it, the focus is where it was. */
function useReturnToRow(chosen: string) {
  const side = useRef<HTMLDivElement>(null)
  const before = useRef(chosen)
  useEffect(() => {
    if (chosen === '' && before.current !== '') {
      side.current?.querySelector<HTMLElement>(`[data-id="${before.current}"]`)?.focus()
    }
    before.current = chosen
  }, [chosen])
  return side
}
