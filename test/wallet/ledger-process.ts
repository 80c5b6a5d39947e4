// A process of the service without HTTP, to be told what to do line by line: it places and settles holds (`api`), or
// watches nodes and sweeps (`worker`), or both (`all`). Each answer is a line of JSON.

import { mkdtempSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { systemClock } from '../../src/platform/clock.ts'
import { Db } from '../../src/platform/db.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import { Worker } from '../../src/platform/worker.ts'
import type { Hold } from '../../src/wallet/holds.ts'
import { walletJobs } from '../../src/wallet/jobs.ts'
import { CallLedger } from '../../src/wallet/lanes/call-ledger.ts'
import { chargeOf, holdOf, silent } from './support.ts'

export type LedgerTask = { url: string; role: 'all' | 'api' | 'worker' }

export type LedgerCommand =
  | { do: 'hold'; wallet_id: string; credits: number }
  | { do: 'settle'; credits: number }

const task = JSON.parse(process.argv[2] ?? '') as LedgerTask
const db = new Db({ url: task.url, pool_size: 4, application_name: 'ledger process' })
const metrics = createMetrics()
const folder = mkdtempSync(path.join(tmpdir(), 'svc-unposted-'))
const promotional_credits = 'as_money'
const ledger = new CallLedger({ url: task.url, log: silent, metrics, folder, promotional_credits })
await ledger.start()
const worker = new Worker({ log: silent, observe: () => {} })
const own_node_id = ledger.node_id
if (task.role !== 'api') {
  worker.start(walletJobs({ db, clock: systemClock, log: silent, metrics, own_node_id }))
}
let hold: Hold | undefined
say({ ready: true })
for await (const line of createInterface({ input: process.stdin })) {
  try {
    say(await obey(JSON.parse(line) as LedgerCommand))
  } catch (error) {
    say({ error: String(error) })
  }
}
await worker.stop()
await ledger.stop()
await db.close()
rmSync(folder, { recursive: true, force: true })

async function obey(command: LedgerCommand): Promise<object> {
  const credits = BigInt(command.credits)
  if (command.do === 'hold') {
    hold = await ledger.hold(holdOf(command.wallet_id, credits))
    return { held: Number(hold.amount) }
  }
  if (!hold) throw new Error('nothing is held')
  const { state, credits_used, shortfall_credits } = await ledger.settle(chargeOf(hold, credits))
  return { state, charged: Number(credits_used), shortfall: Number(shortfall_credits) }
}

function say(answer: object): void {
  writeSync(1, `${JSON.stringify(answer)}\n`)
}
