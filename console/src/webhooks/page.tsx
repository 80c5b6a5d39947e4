// /webhooks: the webhooks of all apps. ?create=true adds one; ?event= names an event, which each webhook's own page
// then looks for.

import { type ReactNode, useMemo } from 'react'
import { Link } from 'wouter'
import { baseUrl, isSandbox } from '../settings.ts'
import { Button, LinkButton } from '../ui/button.tsx'
import { EmptyState, Skeleton } from '../ui/notice.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { CodeSnippet } from '../ui/snippet.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { flag, text, useUrlState } from '../url-state.ts'
import './webhooks.css'
import { AddWebhook } from './add-webhook.tsx'
import { WebhookState } from './state.tsx'
import { describeRate, Strip } from './strip.tsx'
import { LOCAL_EXAMPLE } from './webhook-fields.tsx'
import {
  useApps,
  useWebhookStats,
  useWebhooks,
  type Webhook,
  type WebhookCounts,
} from './webhooks.ts'

const VIEW = { create: flag(), event: text() }

export default function WebhooksPage() {
  const [view, setView] = useUrlState(VIEW)
  const webhooks = useWebhooks()
  const rows = webhooks.pages?.flat()
  const is_empty = rows?.length === 0
  const stats = useWebhookStats({ enabled: rows !== undefined && !is_empty })
  const apps = useApps({ enabled: is_empty || view.create })
  const columns = useMemo(
    () => columnsOf(new Map(stats.pages?.flat().map((row) => [row.webhook_id, row])), view.event),
    [stats.pages, view.event],
  )
  const known_apps = apps.pages?.flat()
  const add = (
    <Button kind="primary" sign="plus" onClick={() => setView({ create: true })}>
      Add a webhook
    </Button>
  )
  // Both lists grow by the same pages.
  const list = {
    ...webhooks,
    loadMore: () => {
      webhooks.loadMore()
      return stats.loadMore()
    },
  }
  return (
    <>
      <PageHead
        title="Webhooks"
        lead="Signed requests to your server when something happens in one of your apps."
      >
        {rows !== undefined && !is_empty && add}
      </PageHead>
      {view.event !== '' && !is_empty && (
        <p className="soft webhook-note">
          Each webhook is sent an event by itself. Open one to see what became of{' '}
          <code>{view.event}</code>.
        </p>
      )}
      <DataTable
        label="Webhooks"
        columns={columns}
        list={list}
        rowKey={webhookId}
        empty={known_apps ? <NoWebhooks apps={known_apps} action={add} /> : <Skeleton />}
      />
      {view.create && known_apps !== undefined && known_apps.length > 0 && (
        <AddWebhook
          apps={known_apps}
          onClose={() => setView({ create: false }, { replace: true })}
        />
      )}
    </>
  )
}

function webhookId(webhook: Webhook): string {
  return webhook.id
}

function columnsOf(counts: ReadonlyMap<string, WebhookCounts>, event: string): Column<Webhook>[] {
  const query = event === '' ? '' : `?event=${encodeURIComponent(event)}`
  return [
    {
      head: 'Address',
      cell: (webhook) => (
        <>
          <Link className="cell-title" to={`/webhooks/${webhook.id}${query}`}>
            {webhook.url}
          </Link>
          <span className="soft cell-note">{webhook.app_name}</span>
        </>
      ),
    },
    {
      head: 'Last 24 hours',
      wide_only: true,
      width: '13rem',
      cell: ({ id }) => {
        const found = counts.get(id)
        return found && <Strip {...found} />
      },
    },
    {
      head: 'Delivered',
      align: 'end',
      cell: ({ id }) => {
        const found = counts.get(id)
        return found && <span className="no-break">{describeRate(found)}</span>
      },
    },
    { head: 'Events', wide_only: true, cell: ({ events }) => describeEvents(events) },
    { head: 'State', cell: (webhook) => <WebhookState webhook={webhook} /> },
  ]
}

function describeEvents(events: readonly string[]) {
  const [only] = events
  const words = events.length === 1 && only !== undefined ? only : `${events.length} kinds`
  return <span title={events.join('\n')}>{words}</span>
}

function NoWebhooks(props: {
  apps: readonly { client_id: string; name: string }[]
  action: ReactNode
}) {
  const [app] = props.apps
  if (!app) {
    return (
      <EmptyState
        title="Create an app first"
        action={
          <LinkButton kind="primary" to="/apps?create=true">
            Create an app
          </LinkButton>
        }
      >
        <p>A webhook is told of what happens in one of your apps, and you have none yet.</p>
      </EmptyState>
    )
  }
  return (
    <EmptyState title="Be told what happens" action={props.action}>
      <p>
        A user connected, a call was charged, a balance ran low: each is a signed POST to an address
        of yours, tried up to four times.
      </p>
      {isSandbox() && (
        <p>
          In sandbox mode the address may be <code>{LOCAL_EXAMPLE}</code>.
        </p>
      )}
      <p>To see events in a terminal before you have a server that the internet can reach:</p>
      <CodeSnippet
        label="Forward events to this machine"
        samples={[{ language: 'Shell', code: listenCommand(app.client_id) }]}
      />
    </EmptyState>
  )
}

function listenCommand(client_id: string): string {
  return `npx svc webhooks listen ${LOCAL_EXAMPLE} \\
  --app ${client_id} \\
  --api ${baseUrl()}`
}
