// The reservation while the database is away: whatever the layout of the processes and however long it lasts, a hold of a
// process that lives is kept. A process that is really dead gives its holds back.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createMetrics } from '../../src/platform/metrics.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import type { LedgerCommand, LedgerTask } from './ledger-process.ts'
import { Proxy } from './proxy.ts'
import { assertBooks, holdOf, LONG, makeLedger, makeWallets } from './support.ts'

const PROGRAM = fileURLToPath(new URL('ledger-process.ts', import.meta.url))
/** The short one is longer than a lease. */
const OUTAGES_S = LONG ? [20, 60, 300] : [17]
/** Longer than a lease and two looks: whoever would be called dead by mistake is by then. */
const AFTERWARDS_MS = 18_000
const BALANCE = 1_000_000n
const HELD = 950_330

type Layout = {
  name: string
  roles: LedgerTask['role'][]
  /** By how much the worker's wall clock is wrong. */
  skew_ms?: number
  /** The workers are replaced in turn, each before it could call anybody dead. */
  restarts?: boolean
}

const LAYOUTS: Layout[] = [
  { name: 'one process does everything', roles: ['all'] },
  { name: 'api and worker', roles: ['api', 'worker'] },
  { name: 'two processes that do everything', roles: ['all', 'all'] },
  { name: 'a worker whose clock is a minute fast', roles: ['api', 'worker'], skew_ms: 60_000 },
  { name: 'a worker whose clock is a minute slow', roles: ['api', 'worker'], skew_ms: -60_000 },
  { name: 'two workers that are restarted', roles: ['api', 'worker', 'worker'], restarts: true },
]

async function startProcess(task: LedgerTask, skew_ms = 0) {
  const skew = `const now = Date.now; Date.now = () => now() + ${skew_ms}`
  const preload = skew_ms === 0 ? [] : ['--import', `data:text/javascript,${skew}`]
  const child: ChildProcess = spawn(process.execPath, [...preload, PROGRAM, JSON.stringify(task)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  assert.ok(child.stdout && child.stdin)
  const { stdin } = child
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const answer = async () => JSON.parse((await lines.next()).value ?? '{}') as object
  assert.deepEqual(await answer(), { ready: true })
  return {
    async tell(command: LedgerCommand): Promise<object> {
      stdin.write(`${JSON.stringify(command)}\n`)
      return await answer()
    },
    async end(signal: 'SIGKILL' | 'SIGTERM' = 'SIGTERM') {
      const exited = once(child, 'exit')
      if (signal === 'SIGKILL') child.kill(signal)
      else stdin.end()
      await exited
    },
  }
}

async function setUp() {
  const url = await createDatabase()
  const db = openDb(url)
  const [wallet_id = ''] = await makeWallets(db, 1, BALANCE)
  const proxy = new Proxy(Number(new URL(url).port))
  const proxied = new URL(url)
  proxied.port = String(await proxy.listen())
  after(async () => {
    await proxy.close()
    await db.close()
  })
  return { url, db, wallet_id, proxy, proxied: proxied.toString() }
}

async function openHolds(url: string): Promise<number> {
  return (await sql(url, 'select 1 from hold')).length
}

async function survive(layout: Layout, outage_s: number): Promise<void> {
  const { url, db, wallet_id, proxy, proxied } = await setUp()
  const start = (role: LedgerTask['role']) =>
    startProcess({ url: proxied, role }, role === 'worker' ? layout.skew_ms : 0)
  const processes = await Promise.all(layout.roles.map(start))
  const [caller] = processes
  assert.ok(caller)
  assert.deepEqual(await caller.tell({ do: 'hold', wallet_id, credits: HELD }), { held: HELD })
  proxy.goAway()
  await sleep(outage_s * 1_000)
  proxy.comeBack()
  if (layout.restarts) {
    for (const index of [1, 2]) {
      await sleep(AFTERWARDS_MS / 3)
      await processes[index]?.end('SIGKILL')
      processes[index] = await start('worker')
    }
  }
  await sleep(AFTERWARDS_MS)
  assert.equal(await openHolds(url), 1, `${layout.name}: the live hold is still there`)
  await assertNoRoom(url, wallet_id)
  assert.deepEqual(
    await caller.tell({ do: 'settle', credits: HELD }),
    { state: 'settled', charged: HELD, shortfall: 0 },
    layout.name,
  )
  // It can go on: its lease is alive again.
  assert.deepEqual(await caller.tell({ do: 'hold', wallet_id, credits: 10 }), { held: 10 })
  await caller.tell({ do: 'settle', credits: 10 })
  await Promise.all(processes.map((each) => each.end()))
  await assertBooks(db)
}

/** Another process must not get what is held. */
async function assertNoRoom(url: string, wallet_id: string): Promise<void> {
  const other = await makeLedger(url, { hold_wait_ms: 0 })
  await assert.rejects(other.hold(holdOf(wallet_id, 900_000n)), { code: 'insufficient_credits' })
  await other.stop()
}

// Side by side: they mostly wait.
describe('while the database is away, or a process is', { concurrency: true }, () => {
  for (const outage_s of OUTAGES_S) {
    it(`a live hold is kept through ${outage_s} s without a database, in every layout`, async () => {
      await Promise.all(LAYOUTS.map((layout) => survive(layout, outage_s)))
    })
  }

  it('a process that is really dead gives its holds back within a minute', async () => {
    const { url, db, wallet_id } = await setUp()
    const [dead, worker] = await Promise.all([
      startProcess({ url, role: 'api' }),
      startProcess({ url, role: 'worker' }),
    ])
    assert.deepEqual(await dead.tell({ do: 'hold', wallet_id, credits: HELD }), { held: HELD })
    await dead.end('SIGKILL')
    await eventually('its holds are back', async () => (await openHolds(url)) === 0, 60_000)
    await worker.end()
    await assertBooks(db)
  })

  it('a process whose lease could not be renewed places no hold, and asks nobody for one, until it is renewed', async () => {
    const { url, db, wallet_id, proxy, proxied } = await setUp()
    const metrics = createMetrics()
    const ledger = await makeLedger(proxied, { metrics })
    // Only the lease is cut off: the lanes have their connections.
    await ledger.release(await ledger.hold(holdOf(wallet_id, 1n)))
    await sql(
      url,
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'svc ledger lease' and datname = current_database()`,
    )
    proxy.refuseNew()
    const isLapsed = async () => (await metrics.ledger_lease_live.get()).values[0]?.value === 0
    await eventually('the lease lapses', isLapsed, 20_000)
    await assert.rejects(ledger.hold(holdOf(wallet_id, 1n)), { code: 'service_unavailable' })
    assert.equal(await openHolds(url), 0)
    proxy.comeBack()
    await eventually('the lease is renewed', async () => !(await isLapsed()), 10_000)
    await ledger.release(await ledger.hold(holdOf(wallet_id, 1n)))
    await ledger.stop()
    await assertBooks(db)
  })

  it('a process without a lease is refused by the database too, by the database’s clock', async () => {
    const { url, wallet_id } = await setUp()
    const ledger = await makeLedger(url)
    const request = holdOf(wallet_id, 1n)
    // As if a first copy had been placed and its answer lost: whatever stands there is given back.
    await ledger.hold(request)
    await sql(url, "update gateway_node set beaten_at = now() - interval '16 s'")
    await assert.rejects(ledger.hold(request), { code: 'service_unavailable' })
    await eventually('it is given back', async () => (await openHolds(url)) === 0, 5_000)
    await ledger.stop()
  })

  it('a pool that one locked table exhausts costs no process its lease', async () => {
    const { url, db, wallet_id } = await setUp()
    const worker = await startProcess({ url, role: 'worker' })
    const small = await startProcess({ url, role: 'all' })
    assert.deepEqual(await small.tell({ do: 'hold', wallet_id, credits: HELD }), { held: HELD })
    // Whoever reads accounts waits; so does every connection of a pool, after a while.
    const blocked = Array.from({ length: 10 }, () =>
      db.run({ name: '', text: 'select pg_sleep(0.1), count(*) from account' }).catch(() => {}),
    )
    await sql(
      url,
      `begin; lock table account in access exclusive mode; select pg_sleep(18); commit`,
    )
    await Promise.all(blocked)
    assert.equal(await openHolds(url), 1)
    assert.deepEqual(await small.tell({ do: 'settle', credits: HELD }), {
      state: 'settled',
      charged: HELD,
      shortfall: 0,
    })
    await Promise.all([worker.end(), small.end()])
    await assertBooks(db)
  })
})
