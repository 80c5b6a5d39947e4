// Speed of webhooks with the database, the service and the receiver on this machine: deliveries a second, how long from
// the commit to the arrival, what telling adds to a settled call in the database, and whether a dead receiver slows
// another. Run with `npm run bench:webhooks`.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres.ts'
import { mintWalletId } from '../src/wallet/bucket.ts'
import { quantile } from '../test/wallet/support.ts'
import { treeCpu } from './process-cpu.ts'
import { startWebhookBench, type WebhookBench } from './webhooks-service.ts'

const CALLS = Number(process.env['SVC_BENCH_CALLS'] ?? 10_000)
const IDLE_CALLS = 150
const DEAD_QUEUE = 10_000
const CALLERS = 64

const folder = mkdtempSync(path.join(tmpdir(), 'svc-bench-'))
const postgres = await startEmbeddedPostgres({ data_dir: folder, log: () => {} })
const receiver = fork(fileURLToPath(new URL('webhooks-receiver.ts', import.meta.url)))
const [{ port }] = (await once(receiver, 'message')) as [{ port: number }]
console.log(
  `${cpus().length} cores, ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}, load before the run ${loadavg()[0]?.toFixed(2)}`,
)
try {
  const bench = await startWebhookBench({ database_url: postgres.url, data_dir: folder, port })
  await call(bench, 500, CALLERS)
  await costOfTelling(bench)
  await throughput(bench)
  const alone = await arrivals(bench)
  print('idle: commit to arrival', alone)
  await bench.queueForDeadReceiver(DEAD_QUEUE)
  const beside = await arrivals(bench)
  print(`beside a dead receiver with ${DEAD_QUEUE} queued`, beside)
  await bench.stop()
} finally {
  receiver.kill()
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
}

/** Settles calls, each with its usage, journal and outbox rows. */
async function call(bench: WebhookBench, count: number, callers: number): Promise<void> {
  const { ledger, wallet_id } = bench
  let left = count
  const caller = async () => {
    while (left-- > 0) {
      const id = mintWalletId(wallet_id, new Date())
      const hold = await ledger.hold({ id, wallet_id, min_credits: 10n, max_credits: 10n })
      await ledger.settle(bench.chargeOf(hold))
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
}

/** CPU of PostgreSQL for a settled call: with nobody to tell, and with two events for one webhook, all delivered. */
async function costOfTelling(bench: WebhookBench): Promise<void> {
  const costs = { untold: [] as number[], told: [] as number[] }
  for (let round = 0; round < 3; round++) {
    for (const kind of ['untold', 'told'] as const) {
      await bench.subscribe(kind === 'told')
      await reset()
      await sleep(1_500)
      const before = treeCpu(postgres.pid)
      await call(bench, CALLS / 4, CALLERS)
      if (kind === 'told') await untilArrived(CALLS / 2)
      await sleep(1_500)
      costs[kind].push((treeCpu(postgres.pid) - before) / (CALLS / 4))
    }
  }
  const untold = quantile(costs.untold, 0.5)
  const told = quantile(costs.told, 0.5)
  console.log(
    `PostgreSQL for a settled call: ${untold.toFixed(0)} us untold, ${told.toFixed(0)} us with two events delivered: ${percent(told / untold - 1)} more`,
  )
}

/** Events that have gathered while nobody read are read, queued, sent and written. */
async function throughput(bench: WebhookBench): Promise<void> {
  await bench.subscribe(true)
  for (let round = 0; round < 3; round++) {
    bench.pause()
    await reset()
    await call(bench, CALLS, CALLERS)
    const own_before = process.cpuUsage()
    const database_before = treeCpu(postgres.pid)
    const began = performance.now()
    await bench.statements()
    bench.resume()
    await untilArrived(CALLS * 2)
    await bench.untilIdle()
    const seconds = (performance.now() - began) / 1000
    const own = process.cpuUsage(own_before)
    const deliveries = CALLS * 2
    console.log(
      `${Math.round(deliveries / seconds)} deliveries/s; CPU of each: ${((own.user + own.system) / deliveries).toFixed(0)} us service, ${((treeCpu(postgres.pid) - database_before) / deliveries).toFixed(0)} us PostgreSQL`,
    )
    for (const { name, ms, runs } of (await bench.statements()).slice(0, 4)) {
      console.log(`  ${name}: ${ms.toFixed(0)} ms in ${runs} runs`)
    }
  }
}

async function arrivals(bench: WebhookBench): Promise<number[]> {
  await reset()
  const settled: number[] = []
  for (let index = 0; index < IDLE_CALLS; index++) {
    await call(bench, 1, 1)
    settled.push(performance.timeOrigin + performance.now())
    await sleep(60)
  }
  await untilArrived(IDLE_CALLS * 2)
  const reply = (await ask(receiver, 'arrivals')) as { arrivals: [string, number][] }
  // Two for each call, in the order of the calls: the first to come of each.
  const times = reply.arrivals.map(([, at]) => at).sort((a, b) => a - b)
  return settled.map((at, index) => (times[index * 2 + 1] ?? 0) - at)
}

async function untilArrived(count: number): Promise<void> {
  for (let tries = 0; tries < 12_000; tries++) {
    const reply = (await ask(receiver, 'count')) as { count: number }
    if (reply.count >= count) return
    await sleep(10)
  }
  throw new Error('not everything arrived within two minutes')
}

async function ask(child: ChildProcess, question: string): Promise<unknown> {
  child.send(question)
  return ((await once(child, 'message')) as [unknown])[0]
}

async function reset(): Promise<void> {
  receiver.send('reset')
  await sleep(50)
}

function print(title: string, times_ms: number[]): void {
  const at = (share: number) => quantile(times_ms, share).toFixed(1)
  console.log(`${title}: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, p99 ${at(0.99)} ms`)
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`
}
