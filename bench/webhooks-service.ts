// The parts of the service that a bench of webhooks needs, in this process: the ledger of calls, a developer with an app
// and a webhook, and the jobs that read, queue and send.

import { Client } from 'pg'
import { closeParts, compose } from '../src/compose.ts'
import { loadConfig } from '../src/config.ts'
import { createLog } from '../src/platform/log.ts'
import { migrate } from '../src/platform/migrate.ts'
import { digestSecret, mintId } from '../src/platform/tokens.ts'
import { Worker } from '../src/platform/worker.ts'
import type { Hold, SettleRequest } from '../src/wallet/holds.ts'
import { prepareLedger } from '../src/wallet/jobs.ts'
import { openWallet } from '../src/wallet/postings.ts'
import { FAN_OUT_JOB, prepareWebhooks, SEND_DUE_JOB, webhookJobs } from '../src/webhooks/jobs.ts'
import { changeWebhook, createWebhook } from '../src/webhooks/webhooks.ts'

export type WebhookBench = Awaited<ReturnType<typeof startWebhookBench>>

const CLIENT_ID = 'bench'
const BALANCE_CREDITS = 1_000_000_000_000_000n
const EVENTS = ['usage.completed', 'balance.updated']

export async function startWebhookBench(options: {
  database_url: string
  data_dir: string
  port: number
}) {
  const { database_url } = options
  await migrate(database_url)
  const config = loadConfig({ DATA_DIR: options.data_dir, WEBHOOKS_PER_ACCOUNT_MAX: '10' })
  const parts = compose({ config, database_url, log: createLog({ level: 'warn' }) })
  const worker = new Worker({ log: parts.log, observe: () => {} })
  const jobs = webhookJobs({ ...parts, wakeMailSender: () => {} })
  const state = { paused: false }
  const sending = jobs.map((job) => ({
    ...job,
    run: async (signal: AbortSignal) => {
      if (!state.paused) await job.run(signal)
    },
  }))
  parts.event_wake.workHere(() => worker.kick(FAN_OUT_JOB))
  parts.dispatcher.onRoom(() => worker.kick(SEND_DUE_JOB))
  await parts.feed.start()
  await prepareLedger(parts)
  await prepareWebhooks(parts)
  await parts.call_ledger.start()
  const wallet_id = await makeDeveloper(parts, database_url)
  const manage = { ...parts, url_rules: parts.webhook_client.rules, webhooks_per_account_max: 10 }
  const subscribe = (path: string) =>
    createWebhook(manage, wallet_id, {
      client_id: CLIENT_ID,
      url: `http://127.0.0.1:${options.port}${path}`,
      events: EVENTS,
    })
  const { webhook } = await subscribe('/')
  worker.start(sending)
  return {
    ledger: parts.call_ledger,
    wallet_id,
    chargeOf: (hold: Hold) => chargeOf(hold, wallet_id),
    subscribe: async (active: boolean) => {
      await changeWebhook(manage, { developer_id: wallet_id, id: webhook.id }, { active })
    },
    pause: () => {
      state.paused = true
    },
    resume: () => {
      state.paused = false
      worker.kick(FAN_OUT_JOB)
    },
    untilIdle: async () => {
      while (!parts.dispatcher.is_idle) await new Promise(setImmediate)
    },
    queueForDeadReceiver: async (count: number) => {
      const dead = await subscribe('/dead')
      await queueMany(database_url, dead.webhook.id, count)
      worker.kick(SEND_DUE_JOB)
    },
    /** Time in each statement since the last question, as this process saw it. */
    statements: async () => {
      const { values } = await parts.metrics.db_statements.get()
      const seconds = values.filter((value) => value.metricName?.endsWith('_sum'))
      const counts = values.filter((value) => value.metricName?.endsWith('_count'))
      parts.metrics.db_statements.reset()
      return seconds
        .map(({ labels, value }, index) => ({
          name: String(labels.statement),
          ms: value * 1000,
          runs: counts[index]?.value ?? 0,
        }))
        .sort((a, b) => b.ms - a.ms)
    },
    stop: async () => {
      await worker.stop()
      await closeParts(parts)
    },
  }
}

function chargeOf(hold: Hold, developer_id: string): SettleRequest {
  return {
    hold,
    used_credits: 10n,
    cost_credits: 10n,
    usage: {
      model: 'gpt-4o-mini',
      billing_mode: 'developer',
      developer_id,
      endpoint: '/v1/chat/completions',
      input_tokens: 100,
      cached_input_tokens: 0,
      cache_write_tokens: 0,
      output_tokens: 20,
      reasoning_tokens: 0,
      estimated: false,
    },
    event: {},
  }
}

async function makeDeveloper(
  parts: ReturnType<typeof compose>,
  database_url: string,
): Promise<string> {
  const at = new Date()
  const account_id = mintId({ at })
  await onDatabase(database_url, async (client) => {
    await client.query(
      `insert into account (id, email, email_key, password_hash, created_at) values ($1, 'bench', 'bench', '', now())`,
      [account_id],
    )
    await client.query(
      `insert into app (id, developer_id, client_id, secret_digest, name, redirect_uris, allowed_scopes, markup_bps, created_at)
       values ($1, $2, $3, $4, 'bench', '{}', '{credits.read,credits.spend}', 0, now())`,
      [mintId(), account_id, CLIENT_ID, digestSecret('bench')],
    )
  })
  await parts.db.transaction((tx) =>
    openWallet(tx, { account_id, welcome_credits: BALANCE_CREDITS, at }),
  )
  return account_id
}

async function queueMany(database_url: string, webhook_id: string, count: number): Promise<void> {
  await onDatabase(database_url, async (client) => {
    await client.query(
      `insert into webhook_delivery (id, created_at, queued_at, due_at, status, retries_left, webhook_id, event_id,
         event_type, body)
       select gen_random_uuid(), date_trunc('milliseconds', now()), now(), now(), 'pending', 3, $1, gen_random_uuid(), 'usage.completed', '{}'
       from generate_series(1, $2::integer)`,
      [webhook_id, count],
    )
  })
}

async function onDatabase(url: string, work: (client: Client) => Promise<void>): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}
