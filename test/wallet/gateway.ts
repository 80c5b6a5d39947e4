// Starts and kills gateway processes, and knows what each of them acknowledged.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { sql } from '../support/database.ts'
import type { GatewayTask } from './gateway-process.ts'

const PROGRAM = fileURLToPath(new URL('gateway-process.ts', import.meta.url))

export type Acknowledged = Map<string, string>

export type GatewayProcess = {
  child: ChildProcess
  /** kill -9. */
  kill(): Promise<void>
  stop(): Promise<void>
}

export async function startGateway(
  task: Partial<GatewayTask> & Pick<GatewayTask, 'url' | 'node_id' | 'wallet_ids'>,
  acknowledged: Acknowledged,
): Promise<GatewayProcess> {
  const usual = {
    callers: 32,
    work: 'calls',
    limits: [],
    limit_credits: [],
  }
  const whole = { ...usual, ...task }
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(whole)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  assert.ok(child.stdout)
  const lines = createInterface({ input: child.stdout })
  const closed = once(lines, 'close')
  const ready = new Promise<void>((resolve) => {
    lines.on('line', (line) => {
      if (line === 'ready') resolve()
      const [id, ...numbers] = line.split(' ')
      // A line cut in two by the kill was never acknowledged to anybody.
      if (id && numbers.length === 3) acknowledged.set(id, numbers.join(' '))
    })
  })
  await Promise.race([ready, exited])
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    await exited
    await closed
  }
  return { child, kill: () => end('SIGKILL'), stop: () => end('SIGTERM') }
}

/** Every acknowledged settle is in the database, once, with the numbers that were answered. */
export async function assertNothingLost(url: string, acknowledged: Acknowledged): Promise<void> {
  const rows = await sql<{ id: string; numbers: string; lines: string }>(
    url,
    // Counted for all at once: only the first line of a transaction can be found by its id.
    `select u.id, u.credits_used || ' ' || u.balance_before || ' ' || u.balance_after as numbers,
       coalesce(j.lines, 0)::text as lines
     from usage_event u
     left join (
       select bucket, tx, count(*) as lines from journal where account = 'wallet' group by bucket, tx
     ) j on j.bucket = u.bucket and j.tx = u.id`,
  )
  const stored = new Map(rows.map((row) => [row.id, row]))
  const lost: string[] = []
  for (const [id, numbers] of acknowledged) {
    const row = stored.get(id)
    if (row?.numbers !== numbers || row.lines !== '1') lost.push(`${id} ${numbers} ${row?.numbers}`)
  }
  assert.deepEqual(lost.slice(0, 3), [], `${lost.length} acknowledged settles lost or changed`)
}
