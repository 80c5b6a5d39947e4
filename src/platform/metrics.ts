// Prometheus metrics. One registry for each process, made in compose.ts. A cluster answers with one value for all of its
// processes (cluster-metrics.ts): their sum, unless a metric names another `aggregator`. A flag that is 0 in one process
// is 0 in all.

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export type Metrics = ReturnType<typeof createMetrics>

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120]

export function createMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const cache_counts = new Map<string, Record<string, number>>()
  registry.registerMetric(credentialCacheCounter(cache_counts))
  const http_requests = new Histogram({
    name: 'svc_http_request_seconds',
    help: 'Requests by route, method and status, with the time until the reply was sent.',
    labelNames: ['method', 'route', 'status'] as const,
    registers,
    buckets: SECONDS,
  })
  const calls = createCallMetrics(registers)
  const pool: Pool = { counts: () => ({ total: 0, idle: 0, waiting: 0 }) }
  return {
    registry,
    /** Counts that are kept as plain numbers, because they change with every request, and read when asked. */
    watchCredentialCache: (kind: string, counts: Record<string, number>) =>
      void cache_counts.set(kind, counts),
    watchPool: (counts: Pool['counts']) => void Object.assign(pool, { counts }),
    http_requests,
    db_statements: new Histogram({
      name: 'svc_db_statement_seconds',
      help: 'Time of each named SQL statement, as this process sees it.',
      labelNames: ['statement'] as const,
      buckets: SECONDS,
      registers,
    }),
    db_connections: poolGauge(pool, registers),
    rate_limit_shared: new Gauge({
      name: 'svc_rate_limit_shared',
      help: '1 while limits are shared through Redis, 0 while this process counts alone.',
      aggregator: 'min',
      registers,
    }),
    rate_limit_fallbacks: new Counter({
      name: 'svc_rate_limit_fallbacks_total',
      help: 'Requests counted in this process because Redis did not answer.',
      registers,
    }),
    rate_limited: new Counter({
      name: 'svc_rate_limited_total',
      help: 'Requests refused by a limit.',
      labelNames: ['limit'] as const,
      registers,
    }),
    credential_cache_trusted: new Gauge({
      name: 'svc_credential_cache_trusted',
      help: '1 while revocations reach this process, 0 while it asks the database each time.',
      aggregator: 'min',
      registers,
    }),
    jobs: new Histogram({
      name: 'svc_job_seconds',
      help: 'Runs of background jobs by outcome.',
      labelNames: ['job', 'outcome'] as const,
      buckets: SECONDS,
      registers,
    }),
    ...calls,
    ...createLedgerMetrics(registers),
    ...createWebhookMetrics(registers),
    mails: new Counter({
      name: 'svc_mails_total',
      help: 'Mails by purpose and outcome.',
      labelNames: ['purpose', 'outcome'] as const,
      registers,
    }),
  }
}

/** Of what each call to a provider changes. */
function createCallMetrics(registers: Registry[]) {
  return {
    gateway_calls: new Counter({
      name: 'svc_gateway_calls_total',
      help: 'Calls by model and outcome: complete, failed, client_left, service_stopped, out_of_credits, free (nothing was delivered).',
      labelNames: ['model', 'outcome'] as const,
      registers,
    }),
    response_items: new Counter({
      name: 'svc_response_items_total',
      help: 'Responses whose items were to be kept for references, by outcome: kept, too_large, failed.',
      labelNames: ['outcome'] as const,
      registers,
    }),
    failed_calls_dropped: new Counter({
      name: 'svc_failed_calls_dropped_total',
      help: 'Calls that cost nothing and are missing in the record: too many at once, or the database was away too long.',
      registers,
    }),
    gateway_tokens: new Counter({
      name: 'svc_gateway_tokens_total',
      help: 'Tokens by model and kind: input, cached, output.',
      labelNames: ['model', 'kind'] as const,
      registers,
    }),
    gateway_credits: new Counter({
      name: 'svc_gateway_credits_total',
      help: 'Credits charged by model.',
      labelNames: ['model'] as const,
      registers,
    }),
    gateway_seconds: new Histogram({
      name: 'svc_gateway_seconds',
      help: 'Time of calls by model: first_byte and total, as the provider took them.',
      labelNames: ['model', 'phase'] as const,
      registers,
      buckets: SECONDS,
    }),
    model_days_left: new Gauge({
      name: 'svc_model_days_left',
      help: 'Models that their provider shuts down within 60 days (state retiring) or does not list any more (gone, 0 days).',
      labelNames: ['model', 'upstream_id', 'state'] as const,
      aggregator: 'min',
      registers,
    }),
    idempotent_results: new Gauge({
      name: 'svc_idempotent_results_count',
      help: 'Calls with an Idempotency-Key that are kept, as a worker counted them last.',
      aggregator: 'max',
      registers,
    }),
    idempotent_bytes: new Gauge({
      name: 'svc_idempotent_results_bytes',
      help: 'Bytes of their results.',
      aggregator: 'max',
      registers,
    }),
    ledger_holds: new Counter({
      name: 'svc_ledger_holds_total',
      help: 'Holds by answer: granted, insufficient, limit_reached, blocked; grown: an open one was raised.',
      labelNames: ['state'] as const,
      registers,
    }),
    ledger_settles: new Counter({
      name: 'svc_ledger_settles_total',
      help: 'Resolved holds: settled, late, voided, gone.',
      labelNames: ['state'] as const,
      registers,
    }),
  }
}

export type LedgerMetrics = ReturnType<typeof createLedgerMetrics> &
  Pick<ReturnType<typeof createCallMetrics>, 'ledger_holds' | 'ledger_settles'>

function createLedgerMetrics(registers: Registry[]) {
  return {
    ledger_batches: new Histogram({
      name: 'svc_ledger_batch_seconds',
      help: 'Round trips of the ledger, each with the holds and settlements of one batch.',
      buckets: SECONDS,
      registers,
    }),
    ledger_batch_items: new Counter({
      name: 'svc_ledger_batch_items_total',
      help: 'Items in those round trips; divided by their count it is the mean batch.',
      labelNames: ['kind'] as const,
      registers,
    }),
    ledger_failures: new Counter({
      name: 'svc_ledger_failures_total',
      help: 'Batches that failed (unreachable, unknown, failed, conflict, blocked, refused) and items turned away or given up.',
      labelNames: ['kind', 'reason'] as const,
      registers,
    }),
    ledger_shortfall: new Counter({
      name: 'svc_ledger_shortfall_credits_total',
      help: 'Credits that were used and could not be charged.',
      registers,
    }),
    ledger_swept: new Counter({
      name: 'svc_ledger_swept_holds_total',
      help: 'Holds given back because nobody resolved them: expired, node_lost.',
      labelNames: ['reason'] as const,
      registers,
    }),
    ledger_leases_lost: new Counter({
      name: 'svc_ledger_leases_lost_total',
      help: 'Times this process found that it had been called dead; what it held before is swept.',
      registers,
    }),
    ledger_lease_live: new Gauge({
      name: 'svc_ledger_lease_live',
      help: '1 while this process may place holds, 0 while its lease could not be renewed in time.',
      aggregator: 'min',
      registers,
    }),
    ledger_unposted: new Gauge({
      name: 'svc_ledger_unposted_settlements',
      help: 'Settlements that wait on the disk of this process for the database. Above 0 for long is an alarm.',
      // The processes of a cluster share the folder, and each counts all of it.
      aggregator: 'max',
      registers,
    }),
    ledger_kept: new Counter({
      name: 'svc_ledger_kept_settlements_total',
      help: 'Settlements that the database could not take in time: kept on disk, posted later, refused, lost.',
      labelNames: ['outcome'] as const,
      registers,
    }),
    ledger_audit_failures: new Counter({
      name: 'svc_ledger_audit_failures_total',
      help: 'Run-time checks of the ledger that could not be made. Nothing is proved while they fail.',
      registers,
    }),
    ledger_invariant_breaks: new Counter({
      name: 'svc_ledger_invariant_breaks_total',
      help: 'Differences found by a run-time check of the ledger. Anything above 0 is an alarm.',
      labelNames: ['invariant'] as const,
      registers,
    }),
  }
}

export type WebhookMetrics = ReturnType<typeof createWebhookMetrics>

function createWebhookMetrics(registers: Registry[]) {
  return {
    webhook_events: new Counter({
      name: 'svc_webhook_events_total',
      help: 'Rows of the outbox that were read.',
      registers,
    }),
    webhook_queued: new Counter({
      name: 'svc_webhook_queued_total',
      help: 'Deliveries that were queued.',
      registers,
    }),
    webhook_attempts: new Counter({
      name: 'svc_webhook_attempts_total',
      help: 'Attempts to deliver, by outcome: delivered, http_error, timeout, …',
      labelNames: ['outcome'] as const,
      registers,
    }),
    webhook_attempt_seconds: new Histogram({
      name: 'svc_webhook_attempt_seconds',
      help: 'How long attempts took.',
      buckets: SECONDS,
      registers,
    }),
  }
}

type Pool = { counts(): { total: number; idle: number; waiting: number } }

function poolGauge(pool: Pool, registers: Registry[]) {
  return new Gauge({
    name: 'svc_db_connections',
    help: 'Pool connections by state.',
    labelNames: ['state'] as const,
    registers,
    collect() {
      const { total, idle, waiting } = pool.counts()
      this.set({ state: 'idle' }, idle)
      this.set({ state: 'busy' }, total - idle)
      this.set({ state: 'waiting' }, waiting)
    },
  })
}

function credentialCacheCounter(kinds: ReadonlyMap<string, Record<string, number>>) {
  return new Counter({
    name: 'svc_credential_cache_total',
    help: 'Credential look-ups by kind and outcome: hit, miss, unknown, bypass.',
    labelNames: ['kind', 'outcome'] as const,
    registers: [],
    collect() {
      this.reset()
      for (const [kind, counts] of kinds) {
        for (const [outcome, count] of Object.entries(counts)) this.inc({ kind, outcome }, count)
      }
    },
  })
}
