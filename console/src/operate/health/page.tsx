// /operate/health: whether the service is well. Read only.

import { formatCount } from '../../format.ts'
import { Button } from '../../ui/button.tsx'
import { Badge, Money, Time } from '../../ui/figures.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { type Column, DataTable } from '../../ui/table.tsx'
import { fixedList, formatLength, formatMilliseconds } from '../operate.ts'
import { type Fact, Facts, Figures, Loaded, MaybeTime, Section } from '../parts.tsx'
import { type Overview, type Traffic, useOverview } from './health.ts'

export default function HealthPage() {
  const overview = useOverview()
  return (
    <>
      <PageHead
        title="Health"
        lead={
          overview.data && (
            <>
              Version {overview.data.version}, {overview.data.mode} mode, as of{' '}
              <Time at={overview.data.now} />. Read again every 30 seconds.
            </>
          )
        }
      >
        <Button busy={overview.isFetching} onClick={() => void overview.refetch()}>
          Refresh
        </Button>
      </PageHead>
      <Loaded query={overview} lines={10}>
        {(data) => (
          <>
            <Warnings warnings={data.warnings} />
            <TrafficFigures data={data} />
            <Section
              title="Errors by code"
              note="Calls that failed or were refused, of everybody who could have paid."
            >
              <Errors data={data} />
            </Section>
            <div className="op-columns">
              <Section title="What waits">
                <Facts facts={waitingFacts(data)} />
              </Section>
              <Section title="Service">
                <Facts facts={serviceFacts(data)} />
              </Section>
            </div>
            <Section
              title="Jobs"
              note="The last run of each in the process that answered. Another process may answer next time."
            >
              <Jobs data={data} />
            </Section>
          </>
        )}
      </Loaded>
    </>
  )
}

function Warnings({ warnings }: Pick<Overview, 'warnings'>) {
  if (warnings.length === 0) {
    return (
      <div className="op-notes">
        <p className="op-note good">Nothing to warn of.</p>
      </div>
    )
  }
  return (
    <ul className="op-notes" aria-label="Warnings">
      {warnings.map((warning) => (
        <li key={warning} className="op-note">
          {warning}
        </li>
      ))}
    </ul>
  )
}

function TrafficFigures({ data: { traffic } }: { data: Overview }) {
  const { hour, day } = traffic
  const figures = (period: string, of_period: Traffic) => [
    {
      label: `Calls, ${period}`,
      value: formatCount(of_period.requests),
      note: <Since traffic={of_period} />,
    },
    {
      label: `Errors, ${period}`,
      value: formatCount(of_period.errors),
      note: shareOf(of_period),
    },
    { label: `Charged, ${period}`, value: <Money credits={of_period.credits} /> },
  ]
  return (
    <>
      <Figures figures={figures('this hour and the last', hour)} />
      <Figures figures={figures('last 24 hours', day)} />
    </>
  )
}

/** Hours are those of the clock: the period is a little longer than its name. */
function Since({ traffic }: { traffic: Traffic }) {
  return (
    <>
      since <Time at={traffic.from} />
    </>
  )
}

function shareOf({ errors, requests }: Traffic): string {
  return requests === 0 ? 'no calls' : `${((100 * errors) / requests).toFixed(1)} % of calls`
}

type CodeRow = { code: string; hour: number; day: number }

const CODE_COLUMNS: Column<CodeRow>[] = [
  { head: 'Code', cell: ({ code }) => <a href={`/docs/errors#${code}`}>{code}</a> },
  {
    head: 'This hour and the last',
    align: 'end',
    wide_only: true,
    cell: ({ hour }) => formatCount(hour),
  },
  { head: 'Last 24 hours', align: 'end', cell: ({ day }) => formatCount(day) },
]

function Errors({ data: { traffic } }: { data: Overview }) {
  const of_hour = new Map(traffic.hour.errors_by_code.map(({ code, count }) => [code, count]))
  const rows = traffic.day.errors_by_code.map(({ code, count }) => ({
    code,
    hour: of_hour.get(code) ?? 0,
    day: count,
  }))
  return (
    <DataTable
      label="Errors by code"
      columns={CODE_COLUMNS}
      list={fixedList(rows)}
      rowKey={codeOf}
      empty={<p className="soft">No call failed in the last 24 hours.</p>}
    />
  )
}

function codeOf({ code }: CodeRow): string {
  return code
}

function waitingFacts({ holds, webhooks, mail, usage_read_at }: Overview): Fact[] {
  const more = webhooks.is_complete ? '' : ' or more'
  return [
    [
      'Open holds',
      <>
        {formatCount(holds.count)}, <Money credits={holds.credits} />
        {holds.oldest_at !== null && (
          <>
            , oldest <Time at={holds.oldest_at} as="distance" />
          </>
        )}
      </>,
    ],
    [
      'Webhook deliveries',
      `${formatCount(webhooks.pending)}${more} to send, ${formatCount(webhooks.due)}${more} due now`,
    ],
    ['Oldest due delivery', <MaybeTime key="due" at={webhooks.oldest_due_at} never="None" />],
    ['Events last read for webhooks', <MaybeTime key="read" at={webhooks.read_at} />],
    ['Calls last added to the sums', <MaybeTime key="usage" at={usage_read_at} />],
    [
      'Mail',
      mail.waiting === 0 ? (
        'None waits'
      ) : (
        <>
          {formatCount(mail.waiting)} to send, next due{' '}
          <MaybeTime at={mail.next_due_at} never="unknown" />
        </>
      ),
    ],
  ]
}

function serviceFacts(data: Overview): Fact[] {
  const { process, migrations, last_payout_run: run } = data
  const times = ({ count, p50_ms, p95_ms }: Overview['process']['ledger']) =>
    `p50 ${formatMilliseconds(p50_ms)}, p95 ${formatMilliseconds(p95_ms)} of ${formatCount(count)}`
  return [
    ['Processes that call', formatCount(data.processes)],
    [
      'This process',
      `${process.pid}, role ${data.role}, up ${formatLength(process.uptime_seconds)}`,
    ],
    ['Requests without a provider', times(process.requests)],
    ['Round trips of the ledger', times(process.ledger)],
    ['Last audit of the book', <MaybeTime key="audit" at={data.last_audit_at} />],
    [
      'Last payout run',
      run === null ? (
        <span key="never" className="soft">
          Never
        </span>
      ) : (
        <>
          <Time at={run.started_at} as="distance" />, {run.outcome ?? 'running'}
        </>
      ),
    ],
    ['Migrations', `${migrations.count}, the last is ${migrations.last ?? 'none'}`],
  ]
}

type Job = Overview['process']['jobs'][number]

const JOB_COLUMNS: Column<Job>[] = [
  { head: 'Job', cell: ({ name }) => <code>{name}</code> },
  {
    head: 'Outcome',
    cell: ({ outcome }) => (
      <Badge tone={outcome === 'ok' ? 'good' : 'danger'}>
        {outcome === 'ok' ? 'Done' : 'Failed'}
      </Badge>
    ),
  },
  { head: 'Ended', cell: ({ ended_at }) => <Time at={ended_at} as="distance" /> },
  {
    head: 'Took',
    align: 'end',
    wide_only: true,
    cell: ({ seconds }) => formatMilliseconds(seconds * 1_000),
  },
]

function Jobs({ data }: { data: Overview }) {
  return (
    <DataTable
      label="Jobs"
      columns={JOB_COLUMNS}
      list={fixedList(data.process.jobs)}
      rowKey={jobName}
      empty={<p className="soft">No job has run in this process yet.</p>}
    />
  )
}

function jobName({ name }: Job): string {
  return name
}
