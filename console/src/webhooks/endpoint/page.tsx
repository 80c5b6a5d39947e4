// /webhooks/:id: one webhook and its deliveries. Filters, the chosen delivery and the open dialog are in the address:
// ?status=failed&delivery=dlv_…, ?act=test.

import { Link, useParams } from 'wouter'
import { Time } from '../../ui/figures.tsx'
import { ProblemNotice, Skeleton } from '../../ui/notice.tsx'
import { PageHead, usePageTitle } from '../../ui/page-head.tsx'
import { oneOf, text, useUrlState } from '../../url-state.ts'
import '../webhooks.css'
import { WebhookState } from '../state.tsx'
import { describeAttempts, Strip } from '../strip.tsx'
import { useStatsOf, useWebhook, type Webhook } from '../webhooks.ts'
import { ACTS, type Act, ActDialog, WebhookActs } from './act-menu.tsx'
import { DeliveryLog } from './delivery-log.tsx'

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
      <DeliveryLog
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
