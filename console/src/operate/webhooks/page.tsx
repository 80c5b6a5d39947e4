// /operate/webhooks: endpoints that fail, what waits to be sent, pausing one and sending again. ?pause= and ?recover=
// open a dialog with an id.

import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { Link } from 'wouter'
import { api, ask } from '../../api.ts'
import { formatCount } from '../../format.ts'
import { ActMenu, actsColumn } from '../../ui/act-menu.tsx'
import { Badge, Time } from '../../ui/figures.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { type Column, DataTable } from '../../ui/table.tsx'
import { text, useUrlState } from '../../url-state.ts'
import { fixedList, OPERATE, type Read } from '../operate.ts'
import { Figures, Loaded, MaybeTime, Section } from '../parts.tsx'
import { PauseWebhook, RecoverWebhook } from './webhook-acts.tsx'

type Health = Read<'/operator/webhooks/health'>
type Failing = Health['failing'][number]
type Waiting = Health['waiting'][number]
type Open = (act: 'pause' | 'recover', id: string) => void

const VIEW = { pause: text(), recover: text() }
const CLOSED = { pause: '', recover: '' }

export default function WebhookHealthPage() {
  const [view, setView] = useUrlState(VIEW)
  const health = useQuery({
    queryKey: [OPERATE, 'webhooks'],
    queryFn: () => ask(() => api.GET('/operator/webhooks/health')),
  })
  const close = () => setView(CLOSED, { replace: true })
  const columns = useMemo(() => {
    const open: Open = (act, id) => setView({ [act]: id })
    return { failing: failingColumns(open), waiting: waitingColumns(open) }
  }, [setView])
  const all = health.data ? [...health.data.failing, ...health.data.waiting] : []
  const find = (id: string) => all.find(({ webhook_id }) => webhook_id === id)
  const [paused, recovered] = [find(view.pause), find(view.recover)]
  return (
    <>
      <PageHead
        title="Webhook health"
        lead="Endpoints of all developers: what fails and what waits."
      />
      <Loaded query={health}>
        {({ backlog, failing, waiting }) => (
          <>
            <Backlog backlog={backlog} />
            <Section title="Failing" note="The worst 100 of the last 24 hours.">
              <DataTable
                label="Failing webhooks"
                columns={columns.failing}
                list={fixedList(failing)}
                rowKey={webhookId}
                empty={
                  <EmptyState title="Nothing fails">
                    <p>No delivery has failed in the last 24 hours.</p>
                  </EmptyState>
                }
              />
            </Section>
            <Section title="Waiting" note="By when the next delivery is due.">
              <DataTable
                label="Waiting webhooks"
                columns={columns.waiting}
                list={fixedList(waiting)}
                rowKey={webhookId}
                empty={<p className="soft">Nothing waits to be sent.</p>}
              />
            </Section>
          </>
        )}
      </Loaded>
      {paused && <PauseWebhook webhook={paused} onClose={close} />}
      {recovered && <RecoverWebhook webhook={recovered} onClose={close} />}
    </>
  )
}

function Backlog({ backlog }: Pick<Health, 'backlog'>) {
  const more = backlog.is_complete ? undefined : 'or more: not all were counted'
  return (
    <Figures
      figures={[
        { label: 'Deliveries to send', value: formatCount(backlog.pending), note: more },
        { label: 'Of them due now', value: formatCount(backlog.due), note: more },
        {
          label: 'Oldest due',
          value: <MaybeTime at={backlog.oldest_due_at} never="None" />,
        },
        { label: 'Webhooks with something to send', value: formatCount(backlog.webhooks) },
      ]}
    />
  )
}

function webhookId({ webhook_id }: { webhook_id: string }): string {
  return webhook_id
}

function failingColumns(open: Open): Column<Failing>[] {
  return [
    { head: 'Endpoint', cell: (row) => <Endpoint row={row} /> },
    {
      head: 'Developer',
      wide_only: true,
      cell: (row) => <Developer row={row} />,
    },
    {
      head: 'Failed, 24 h',
      align: 'end',
      cell: ({ failed, failed_events }) => (
        <>
          {formatCount(failed)}
          <span className="soft cell-note">
            {failed_events === 1 ? 'of 1 event' : `of ${formatCount(failed_events)} events`}
          </span>
        </>
      ),
    },
    {
      head: 'Delivered, 24 h',
      align: 'end',
      wide_only: true,
      cell: ({ delivered }) => formatCount(delivered),
    },
    {
      head: 'Last failed',
      wide_only: true,
      cell: ({ last_failed_at }) => <Time at={last_failed_at} as="distance" />,
    },
    webhookActs(open),
  ]
}

function waitingColumns(open: Open): Column<Waiting>[] {
  return [
    { head: 'Endpoint', cell: (row) => <Endpoint row={row} /> },
    {
      head: 'Developer',
      wide_only: true,
      cell: (row) => <Developer row={row} />,
    },
    {
      head: 'To send',
      align: 'end',
      cell: ({ pending, due }) => (
        <>
          {formatCount(pending)}
          <span className="soft cell-note">{formatCount(due)} due</span>
        </>
      ),
    },
    {
      head: 'Next due',
      wide_only: true,
      cell: ({ next_due_at }) => <Time at={next_due_at} as="distance" />,
    },
    webhookActs(open),
  ]
}

function Endpoint({ row }: { row: Failing | Waiting }) {
  return (
    <>
      <span className="cell-title">{row.url ?? 'It is gone'}</span>
      <span className="soft cell-note wide-note">{row.webhook_id}</span>
      {row.active === false && <Badge tone="warn">Switched off</Badge>}
    </>
  )
}

function Developer({ row: { developer_id, developer_email } }: { row: Failing | Waiting }) {
  if (developer_id === null) return null
  return <Link to={`/operate/users/${developer_id}`}>{developer_email ?? developer_id}</Link>
}

function webhookActs<Row extends Failing | Waiting>(open: Open): Column<Row> {
  return actsColumn(
    ({ url, webhook_id, active }) =>
      url !== null && (
        <ActMenu
          label={`Change ${url}`}
          acts={[
            ['Send again', () => open('recover', webhook_id)],
            active === true && ['Pause', () => open('pause', webhook_id)],
          ]}
        />
      ),
  )
}
