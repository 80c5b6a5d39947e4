// A gateway without HTTP, as its own process, to be killed: callers that hold and settle, or move credits,
// beside the real jobs. Every acknowledged settle is a line on stdout, written before the next call.

import { mkdtempSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock } from '../../src/platform/clock.ts'
import { Db } from '../../src/platform/db.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import { Worker } from '../../src/platform/worker.ts'
import { mintWalletId } from '../../src/wallet/bucket.ts'
import { walletJobs } from '../../src/wallet/jobs.ts'
import { CallLedger } from '../../src/wallet/lanes/call-ledger.ts'
import { transferCredits } from '../../src/wallet/postings.ts'
import type { SpendLimit } from '../../src/wallet/spend-limits.ts'
import { chargeOf, holdOf, silent } from './support.ts'

export type GatewayTask = {
  url: string
  node_id: string
  wallet_ids: string[]
  callers: number
  work: 'calls' | 'transfers'
  /** What binds every call. They travel as JSON, so their credits come apart from them. */
  limits: Omit<SpendLimit, 'limit_credits'>[]
  limit_credits: number[]
}

const task = JSON.parse(process.argv[2] ?? '') as GatewayTask
const spend_limits = task.limits.map((limit, index) => {
  return { ...limit, limit_credits: BigInt(task.limit_credits[index] ?? 0) } as SpendLimit
})
const db = new Db({ url: task.url, pool_size: 16, application_name: task.node_id })
const metrics = createMetrics()
const folder = mkdtempSync(path.join(tmpdir(), 'svc-unposted-'))
const promotional_credits = 'as_money'
const ledger = new CallLedger({ url: task.url, log: silent, metrics, folder, promotional_credits })
await ledger.start()
const job_options = { db, clock: systemClock, log: silent, metrics, own_node_id: ledger.node_id }
const jobs = walletJobs(job_options)
const worker = new Worker({ log: silent, observe: () => {} })
worker.start(jobs)

const stop = new AbortController()
process.on('SIGTERM', () => {
  stop.abort()
})
writeSync(1, 'ready\n')
const step = task.work === 'calls' ? callOnce : transferOnce
const stopped = new Promise((resolve) => {
  stop.signal.addEventListener('abort', resolve)
})
await Promise.all([stopped, ...Array.from({ length: task.callers }, keepGoing)])
await worker.stop()
await ledger.stop()
await db.close()
rmSync(folder, { recursive: true, force: true })

async function keepGoing(): Promise<void> {
  while (!stop.signal.aborted) {
    try {
      await step(ledger)
    } catch {
      // Refused or unknown: not acknowledged, so nothing is claimed.
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
}

async function callOnce(ledger: CallLedger): Promise<void> {
  const hold = await ledger.hold({ ...holdOf(pick(), 100n), spend_limits })
  const used = BigInt(1 + Math.floor(Math.random() * 100))
  const done = await ledger.settle(chargeOf(hold, used, used - used / 10n))
  writeSync(1, `${done.id} ${done.credits_used} ${done.balance_before} ${done.balance_after}\n`)
}

async function transferOnce(): Promise<void> {
  const from_account_id = pick()
  const to_account_id = pick()
  if (from_account_id === to_account_id) return
  const at = new Date()
  const id = mintWalletId(from_account_id, at)
  const receipt_id = mintWalletId(to_account_id, at)
  const amount = BigInt(1 + Math.floor(Math.random() * 500))
  await db.transaction((tx) =>
    transferCredits(tx, {
      id,
      receipt_id,
      from_account_id,
      to_account_id,
      amount,
      promotional_credits,
    }),
  )
}

function pick(): string {
  const { wallet_ids } = task
  return wallet_ids[Math.floor(Math.random() * wallet_ids.length)] ?? ''
}
