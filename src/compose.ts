// Makes every part once and hands them out: the only place where pools, clocks, caches and clients are made.

import type { KeyObject } from 'node:crypto'
import path from 'node:path'
import { LastSeen } from './accounts/last-seen.ts'
import type { KnownSession } from './accounts/sessions.ts'
import type { Catalog } from './catalog/models.ts'
import { openCatalog } from './catalog-settings.ts'
import type { Config } from './config.ts'
import { DELIVERIES_CHANNEL, EVENTS_CHANNEL, Wake } from './events/wake.ts'
import { Uploads } from './gateway/audio/upload.ts'
import type { Dialect } from './gateway/dialects/dialect.ts'
import { createResponsesDialect } from './gateway/dialects/responses/dialect.ts'
import { deriveKey, ReasoningSeal } from './gateway/dialects/responses/sealed-reasoning.ts'
import { GROWTH_WAIT_MS } from './gateway/hold-growth.ts'
import { IdempotentCalls } from './gateway/idempotency/idempotent-calls.ts'
import { ModelWatch } from './gateway/model-watch.ts'
import { PriceLists } from './gateway/price-lists.ts'
import { createElevenlabs, createEmbedders, createProviders } from './gateway/providers.ts'
import { ResponseItems } from './gateway/response-items/items.ts'
import { RunningCalls } from './gateway/running-calls.ts'
import type { KeyPrincipal, TokenPrincipal } from './http/access.ts'
import { createLifecycle } from './http/lifecycle.ts'
import { Lookups } from './http/lookups.ts'
import { limitsFrom, RateLimits } from './http/rate-limit.ts'
import { LastUsed } from './keys/last-used.ts'
import { LinkUses } from './oauth/link-uses.ts'
import type { LinkedUser } from './oauth/links.ts'
import { createStripe } from './payouts/stripe-client.ts'
import { createProcessor } from './payouts/stripe-processor.ts'
import { type Clock, systemClock } from './platform/clock.ts'
import { CredentialCache } from './platform/credential-cache.ts'
import { Db } from './platform/db.ts'
import { createHttpClient, type HttpClient } from './platform/http-client.ts'
import { type Forgetful, InvalidationFeed } from './platform/invalidation.ts'
import { JobRuns } from './platform/job-runs.ts'
import type { Log } from './platform/log.ts'
import { createMailer, type Mailer } from './platform/mail.ts'
import { createMetrics, type Metrics } from './platform/metrics.ts'
import { SecretBox } from './platform/secret-box.ts'
import { readScannerKeys } from './scanner-keys.ts'
import { readSecretKeys } from './secrets-key.ts'
import { FailedCalls } from './usage/failed-calls.ts'
import { CallLedger } from './wallet/lanes/call-ledger.ts'
import { createWebhookClient } from './webhooks/client.ts'
import { Dispatcher } from './webhooks/dispatcher.ts'
import { Listeners } from './webhooks/listen.ts'

export type Parts = ReturnType<typeof compose>

export type ComposeOptions = {
  config: Config
  database_url: string
  log: Log
  clock?: Clock
}

export function compose(options: ComposeOptions) {
  const { config, log } = options
  const metrics = createMetrics()
  const clock = options.clock ?? systemClock
  const http_client = createHttpClient()
  const connect = (pool_size: number) =>
    new Db({
      url: options.database_url,
      pool_size,
      application_name: `svc ${config.ROLE}`,
      observe: (statement, seconds) => metrics.db_statements.labels(statement).observe(seconds),
    })
  const db = connect(config.DATABASE_POOL_SIZE)
  metrics.watchPool(() => db.counts())
  // A pool that is busy must not keep revocations from being read.
  const feed_db = connect(1)
  const secret_box = new SecretBox(() => readSecretKeys(config))
  const webhook_client = createWebhookClient({ allow_loopback: config.SVC_MODE !== 'live' })
  const dispatcher = new Dispatcher({ db, client: webhook_client, secret_box, clock, log, metrics })
  const event_wake = new Wake(db, EVENTS_CHANNEL)
  const kept_days = config.RESPONSE_ITEMS_DAYS
  const limits = composeLimits(config, log, metrics)
  const credentials = composeCredentials(options, { db: feed_db, metrics, others: [dispatcher] })
  return {
    config,
    log,
    clock,
    metrics,
    db,
    database_url: options.database_url,
    feed_db,
    ...credentials,
    ...composeModels(config, clock, http_client),
    response_items: new ResponseItems({ db, clock, log, metrics, kept_days }),
    http_client,
    webhook_client,
    secret_box,
    step_up: config.STEP_UP,
    dispatcher,
    listeners: new Listeners(),
    event_wake,
    delivery_wake: new Wake(db, DELIVERIES_CHANNEL),
    ...composeProcessor(config),
    uploads: new Uploads(path.join(config.DATA_DIR, 'uploads')),
    drains: { open: 0 },
    ...composeCalls(options, { db, clock, metrics, event_wake }),
    growth: { wait_ms: GROWTH_WAIT_MS },
    running: new RunningCalls(config.CALLS_AT_ONCE_MAX),
    price_lists: new PriceLists(db, clock),
    failed_calls: new FailedCalls((count) => metrics.failed_calls_dropped.inc(count)),
    limits,
    lookups: new Lookups(limits),
    last_used: new LastUsed(),
    scanner_keys: readScannerKeys(config),
    last_seen: new LastSeen({ idle_minutes: config.SESSION_IDLE_MINUTES }),
    link_uses: new LinkUses(),
    lifecycle: createLifecycle(),
    job_runs: new JobRuns(),
    mailer: composeMailer(config),
  }
}

export async function closeParts(parts: Parts): Promise<void> {
  await Promise.all([parts.call_ledger.stop(), parts.dispatcher.stop()])
  await parts.failed_calls.flush(parts.db).catch((error: unknown) => {
    parts.log.warn({ err: error }, 'failed calls of the last second are not in the record')
  })
  await parts.feed.stop()
  await parts.limits.close()
  parts.mailer.close()
  await Promise.all([parts.http_client.close(), parts.webhook_client.close()])
  await Promise.all([parts.db.close(), parts.feed_db.close()])
}

type CallParts = { db: Db; clock: Clock; metrics: Metrics; event_wake: Wake }

function composeCalls({ config, log, database_url }: ComposeOptions, parts: CallParts) {
  const { db, clock, metrics, event_wake } = parts
  const call_ledger = new CallLedger({
    url: database_url,
    folder: path.join(config.DATA_DIR, 'unposted'),
    promotional_credits: config.PROMOTIONAL_CREDITS,
    log,
    metrics,
    onSettled: event_wake.wake,
  })
  const readNodeId = () => call_ledger.node_id
  return { call_ledger, idempotent_calls: new IdempotentCalls({ db, clock, log, readNodeId }) }
}

function composeModels(config: Config, clock: Clock, http_client: HttpClient) {
  const catalog = openCatalog(config, clock)
  return {
    catalog,
    responses_dialect: composeResponses(config, clock, catalog),
    upstreams: createProviders(config, http_client),
    embedders: createEmbedders(config, http_client),
    elevenlabs: createElevenlabs(config, http_client),
    model_watch: new ModelWatch(),
  }
}

function composeResponses(config: Config, clock: Clock, catalog: Catalog): Dialect {
  const readKeys = () => readSecretKeys(config)
  let id_secret: KeyObject | undefined
  return createResponsesDialect({
    reasoning: new ReasoningSeal(readKeys),
    clock,
    // When it is first needed, as all keys are.
    get id_secret() {
      const [first] = id_secret ? [] : readKeys()
      if (first) id_secret = deriveKey(first.key, 'response ids')
      if (!id_secret) throw new Error('there is no key to make ids with: set SECRETS_KEY')
      return id_secret
    },
    findModel(name) {
      const model = catalog.find(name)
      return model?.kind === 'chat' ? model : undefined
    },
    keeps_items: config.RESPONSE_ITEMS_DAYS > 0,
  })
}

function composeMailer(config: Config): Mailer {
  return createMailer({
    smtp_url: config.SMTP_URL,
    from: config.MAIL_FROM,
    folder: path.join(config.DATA_DIR, 'mail'),
  })
}

/** Undefined: nobody can be paid, and nobody can top up. */
function composeProcessor(config: Config) {
  const { STRIPE_SECRET_KEY, STRIPE_BASE_URL, STRIPE_TIMEOUT_MS } = config
  if (STRIPE_SECRET_KEY === undefined) return { stripe: undefined, processor: undefined }
  const stripe = createStripe({
    secret_key: STRIPE_SECRET_KEY,
    base_url: STRIPE_BASE_URL,
    timeout_ms: STRIPE_TIMEOUT_MS,
  })
  return { stripe, processor: createProcessor(stripe, STRIPE_TIMEOUT_MS) }
}

type FeedOptions = { db: Db; metrics: Metrics; others: readonly Forgetful[] }

function composeCredentials(options: ComposeOptions, { db, metrics, others }: FeedOptions) {
  const isTrusted = () => feed.trusted
  const keys = new CredentialCache<KeyPrincipal>({ isTrusted })
  const sessions = new CredentialCache<KnownSession>({ isTrusted })
  const tokens = new CredentialCache<TokenPrincipal>({ isTrusted })
  // A link may be made at any time, and is then wanted at once.
  const links = new CredentialCache<LinkedUser>({ isTrusted, remembers_unknown: false })
  const caches = { key: keys, session: sessions, token: tokens, link: links }
  for (const [name, cache] of Object.entries(caches))
    metrics.watchCredentialCache(name, cache.counts)
  const feed = new InvalidationFeed({
    db,
    url: options.database_url,
    log: options.log,
    caches: [...Object.values(caches), ...others],
    onTrust: (trusted) => metrics.credential_cache_trusted.set(trusted ? 1 : 0),
  })
  return { keys, sessions, tokens, links, feed }
}

function composeLimits(config: Config, log: Log, metrics: Metrics): RateLimits {
  return new RateLimits({
    limits: limitsFrom(config),
    redis_url: config.REDIS_URL,
    log,
    events: {
      onShared: (shared) => metrics.rate_limit_shared.set(shared ? 1 : 0),
      onFallback: () => metrics.rate_limit_fallbacks.inc(),
      onRefused: (limit) => metrics.rate_limited.labels(limit).inc(),
    },
  })
}
