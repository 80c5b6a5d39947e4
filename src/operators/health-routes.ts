// /operator/overview and /operator/models: whether the service is well, and what it sells.

import { Type } from 'typebox'
import type { Catalog } from '../catalog/models.ts'
import { Credits, Nullable, Timestamp } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import { READ, TAGS } from './actor.ts'
import { HoldSums, presentHolds } from './book-schemas.ts'
import { listModels, type ModelParts, ModelState } from './model-list.ts'
import { type OverviewParts, readOverview } from './overview.ts'
import { toText } from './user-schemas.ts'

const Count = (description: string) => Type.Integer({ description, examples: [12] })

const Traffic = Type.Object({
  from: Timestamp,
  requests: Type.Integer({ examples: [1204] }),
  errors: Type.Integer({ examples: [3] }),
  credits: Credits,
  errors_by_code: Type.Array(
    Type.Object({ code: Type.String({ examples: ['provider_timeout'] }), count: Type.Integer() }),
  ),
})

const Times = Type.Object({
  count: Type.Integer({ examples: [1204] }),
  p50_ms: Nullable(Type.Number({ examples: [1.2] })),
  p95_ms: Nullable(Type.Number({ examples: [4.8] })),
})

const Process = Type.Object(
  {
    pid: Type.Integer({ examples: [4711] }),
    uptime_seconds: Type.Integer({ examples: [86_400] }),
    requests: Type.Object(Times.properties, {
      description:
        'Requests that wait for no provider. What Svc adds to a call is not recorded apart.',
    }),
    ledger: Type.Object(Times.properties, {
      description: 'Round trips of the ledger: the larger part of what Svc adds to a call.',
    }),
    jobs: Type.Array(
      Type.Object({
        name: Type.String({ examples: ['usage.fold'] }),
        outcome: Type.Enum(['ok', 'failed']),
        seconds: Type.Number({ examples: [0.004] }),
        ended_at: Timestamp,
      }),
      { description: 'The last run of each job here. A process of `ROLE=api` has few.' },
    ),
  },
  { description: 'Of the process that answers, since it started. Others are asked on their own.' },
)

const Overview = Type.Object({
  version: Type.String({ examples: ['0.1.0'] }),
  mode: Type.String({ examples: ['live'] }),
  role: Type.String({ examples: ['all'] }),
  now: Timestamp,
  warnings: Type.Array(Type.String(), { description: 'As in /ready.' }),
  traffic: Type.Object(
    { hour: Traffic, day: Traffic },
    {
      description:
        'Calls of everybody, by the hours of the clock (UTC): `hour` is the hour that runs and the one before, `day` the 24 before it too.',
    },
  ),
  holds: HoldSums,
  webhooks: Type.Object({
    read_at: Nullable(Type.String({ description: 'When events were last read for webhooks.' })),
    pending: Count('Deliveries to be sent or tried again.'),
    due: Count('Of these, now.'),
    oldest_due_at: Nullable(Timestamp),
    is_complete: Type.Boolean({ description: 'False: there are more than were counted.' }),
  }),
  usage_read_at: Nullable(Type.String({ description: 'When calls were last added to the sums.' })),
  mail: Type.Object({
    waiting: Count('At most 10,001 are counted.'),
    next_due_at: Nullable(Timestamp),
  }),
  processes: Count('Processes that may place holds.'),
  last_audit_at: Nullable(Timestamp),
  last_payout_run: Nullable(
    Type.Object({ started_at: Timestamp, outcome: Nullable(Type.String()) }),
  ),
  migrations: Type.Object({
    count: Count('Applied.'),
    last: Nullable(Type.String({ examples: ['0010_operators.sql'] })),
  }),
  process: Process,
})

export function healthOverviewRoutes(
  app: App,
  parts: OverviewParts & ModelParts & { catalog: Catalog },
): void {
  app.get(
    '/operator/overview',
    {
      config: READ,
      schema: {
        tags: TAGS,
        operationId: 'operator_overview',
        summary: 'See how the service stands',
        response: { 200: Overview },
      },
    },
    async () => presentOverview(await readOverview(parts)),
  )
  app.get(
    '/operator/models',
    {
      config: READ,
      schema: {
        tags: TAGS,
        operationId: 'operator_list_models',
        summary: 'See models, prices and traffic',
        description: 'Prices change by CATALOG_FILE and a restart, not here.',
        response: {
          200: Type.Object({
            service_fee_percent: Type.Number({
              description: 'Part of every price.',
              examples: [5],
            }),
            traffic_from: Timestamp,
            data: Type.Array(ModelState),
          }),
        },
      },
    },
    () => listModels(parts),
  )
}

function presentOverview(overview: Awaited<ReturnType<typeof readOverview>>) {
  const { version, mode, role, now, warnings, traffic, holds, backlog, state, process } = overview
  const { pending, due, oldest_due_at, is_complete } = backlog
  return {
    version,
    mode,
    role,
    now: now.toISOString(),
    warnings,
    traffic: { hour: presentTraffic(traffic.hour), day: presentTraffic(traffic.day) },
    holds: presentHolds(holds),
    webhooks: {
      read_at: toText(state.webhooks_read_at),
      pending,
      due,
      oldest_due_at: toText(oldest_due_at),
      is_complete,
    },
    usage_read_at: toText(state.usage_read_at),
    mail: { waiting: Number(state.mails), next_due_at: toText(state.mail_due_at) },
    processes: Number(state.processes),
    last_audit_at: toText(state.audit_at),
    last_payout_run: state.payout_run_at && {
      started_at: state.payout_run_at.toISOString(),
      outcome: state.payout_run_outcome,
    },
    migrations: { count: Number(state.migrations), last: state.last_migration },
    process: {
      ...process,
      jobs: process.jobs.map((job) => ({ ...job, ended_at: job.ended_at.toISOString() })),
    },
  }
}

type Traffic = Awaited<ReturnType<typeof readOverview>>['traffic']['hour']

function presentTraffic({ from, requests, errors, credits, errors_by_code }: Traffic) {
  return {
    from: from.toISOString(),
    requests: Number(requests),
    errors: Number(errors),
    credits,
    errors_by_code,
  }
}
