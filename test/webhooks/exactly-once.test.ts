// Nothing is lost and nothing is invented: calls are charged while the workers that tell of them are killed, the
// database stops at once and the receiver fails at random. In the end each charged call was told once as usage.completed and
// once as balance.updated, however often each was sent, and of calls that were not charged nothing was told.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres.ts'
import { migrate } from '../../src/platform/migrate.ts'
import { mintWalletId } from '../../src/wallet/bucket.ts'
import type { Hold } from '../../src/wallet/holds.ts'
import { atEnd } from '../support/cleanup.ts'
import { sql } from '../support/database.ts'
import { startEventReceiver } from '../support/event-receiver.ts'
import { eventually } from '../support/eventually.ts'
import { createOAuthApp } from '../support/oauth.ts'
import { launch, makeFolder, type Program, SERVER } from '../support/service.ts'
import { createWebhookService } from '../support/webhooks.ts'
import { Proxy } from '../wallet/proxy.ts'
import { inParallel, LONG } from '../wallet/support.ts'

const CALLS = LONG ? 12_000 : 1_200
const KILLS = LONG ? 20 : 3
const STOPS = LONG ? 5 : 1
/** Each has a price of its own, by which an event is told to be of it. */
const LEAST_PRICE = 1_000
const SECRETS_KEY = randomBytes(32).toString('base64')

/** One of its own, which can be stopped as by a power cut; the address stays. */
async function startDatabase() {
  const data_dir = makeFolder()
  const start = () => startEmbeddedPostgres({ data_dir, log: () => {} })
  let postgres = await start()
  const proxy = new Proxy(Number(new URL(postgres.url).port))
  const url = new URL(postgres.url)
  url.port = String(await proxy.listen())
  await migrate(url.toString())
  atEnd(async () => {
    await proxy.close()
    await postgres.stop()
  })
  return {
    url: url.toString(),
    async stopAndStart() {
      const ended = new Promise<string>((resolve) => postgres.onExit(resolve))
      process.kill(postgres.pid, 'SIGQUIT')
      await ended
      postgres = await start()
      proxy.target_port = Number(new URL(postgres.url).port)
    },
  }
}

/** From now on the database's time is ahead by so much. */
async function jump(url: string, minutes: number): Promise<void> {
  await sql(
    url,
    `create or replace function ledger_now() returns timestamptz language sql volatile as
     $$ select clock_timestamp() + interval '${minutes} minutes' $$`,
  )
}

test(`${CALLS} charged calls are told once each, through kills, a stop of the database and failures`, async () => {
  const database = await startDatabase()
  const service = await createWebhookService({
    database_url: database.url,
    settings: { SECRETS_KEY, WELCOME_CREDITS: '1000000000' },
  })
  const { url } = database
  const developer = await service.register()
  const { client_id } = await createOAuthApp(service, developer)
  let failing = 0.3
  const receiver = await startEventReceiver((response) => {
    const luck = Math.random()
    if (luck > failing) response.end('ok')
    else if (luck > failing * 0.6) response.writeHead(500).end('not now')
    else if (luck > failing * 0.2) response.destroy()
    else setTimeout(() => response.end('late'), 200)
  })
  const events = ['usage.completed', 'balance.updated']
  const webhook = await service.subscribe(developer, { client_id, url: receiver.url, events })

  const startWorker = (): Program =>
    launch([process.execPath, SERVER], {
      ROLE: 'worker',
      WORKER_PORT: '0',
      DATABASE_URL: url,
      DATA_DIR: makeFolder(),
      SECRETS_KEY,
      LOG_LEVEL: 'warn',
    })
  const workers = [startWorker(), startWorker()]

  const charged = new Set<number>()
  const wallet_id = developer.user_id
  const ledger = service.parts.call_ledger
  /** While the database is away nothing is held, and so nothing charged: the caller tries again. */
  const holdWhenPossible = async (credits: bigint): Promise<Hold> => {
    const id = mintWalletId(wallet_id, new Date())
    try {
      return await ledger.hold({ id, wallet_id, min_credits: credits, max_credits: credits })
    } catch {
      await sleep(100)
      return await holdWhenPossible(credits)
    }
  }
  const callOnce = async (index: number) => {
    const price = LEAST_PRICE + index
    const credits = BigInt(price)
    const hold = await holdWhenPossible(credits)
    // Some end without a charge: nothing may be told of them.
    if (index % 10 === 0) {
      await ledger.release(hold)
      return
    }
    const tokens = {
      input_tokens: 1,
      cached_input_tokens: 0,
      cache_write_tokens: 0,
      output_tokens: 1,
      reasoning_tokens: 0,
    }
    await ledger.settle({
      hold,
      used_credits: credits,
      cost_credits: credits,
      usage: {
        model: 'gpt-4o-mini',
        billing_mode: 'developer',
        developer_id: wallet_id,
        endpoint: '/v1/chat/completions',
        estimated: false,
        ...tokens,
      },
      event: {},
    })
    charged.add(price)
  }
  const calling = inParallel(CALLS, 8, async (index) => {
    await callOnce(index)
    await sleep(2)
  })

  for (let kill = 0; kill < KILLS; kill++) {
    await sleep(500 + Math.random() * 1_500)
    const victim = Math.floor(Math.random() * workers.length)
    await workers[victim]?.kill()
    workers[victim] = startWorker()
    if (kill % Math.ceil(KILLS / STOPS) === 1) await database.stopAndStart()
  }
  await calling
  const told = () => new Map(receiver.received.map((one) => [one.event.id, one.event]))

  // What failed is tried again when its time has come; what was given up, when the developer asks.
  const { post } = service.manage(developer)
  for (const minutes of [2, 30, 8 * 60, 12 * 60]) {
    failing /= 2
    await jump(url, minutes)
    await sleep(1_500)
  }
  failing = 0
  await eventually(
    'everything is told',
    async () => {
      await post(`/v1/webhooks/${webhook.id}/recover`, { since: '2026-01-01T00:00:00Z' })
      await sleep(300)
      return told().size >= charged.size * 2
    },
    LONG ? 300_000 : 60_000,
  )

  for (const worker of workers) await worker.stop()
  const unique = [...told().values()]
  for (const type of events) {
    const field = type === 'usage.completed' ? 'credits_used' : 'amount_spent'
    const prices = unique.filter((event) => event.type === type).map((event) => event.data[field])
    assert.equal(prices.length, charged.size, `${type}: events`)
    assert.deepEqual(new Set(prices), charged, `${type}: calls`)
  }
  assert.equal(unique.length, charged.size * 2)
  const [rows] = await sql<{ count: string }>(url, 'select count(*)::text from webhook_delivery')
  assert.equal(Number(rows?.count), charged.size * 2)
  process.stdout.write(
    `${charged.size} charged calls, ${unique.length} events, ${receiver.received.length} deliveries, 0 lost, 0 invented\n`,
  )
})
