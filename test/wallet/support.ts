// What the wallet's tests and its bench share: a ledger on a database, wallets to use, calls to charge.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Client } from 'pg'
import { type Clock, systemClock } from '../../src/platform/clock.ts'
import type { Db } from '../../src/platform/db.ts'
import { createLog } from '../../src/platform/log.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import { mintId } from '../../src/platform/tokens.ts'
import { mintWalletId } from '../../src/wallet/bucket.ts'
import { checkLedger } from '../../src/wallet/check.ts'
import type { Hold, HoldRequest, SettleRequest } from '../../src/wallet/holds.ts'
import {
  type LedgerAnswers,
  type SettleItem,
  writeBatch,
} from '../../src/wallet/lanes/batch-statement.ts'
import { CallLedger, type CallLedgerOptions } from '../../src/wallet/lanes/call-ledger.ts'
import { LaneConnection } from '../../src/wallet/lanes/connection.ts'
import { openWallet } from '../../src/wallet/postings.ts'
import type { PromotionalCredits } from '../../src/wallet/promotional.ts'

/** The full versions of the tests run with SVC_LONG=1. */
export const LONG = process.env['SVC_LONG'] === '1'

export const silent = createLog({ level: 'silent' })

export async function makeLedger(
  url: string,
  options: Partial<CallLedgerOptions> = {},
): Promise<CallLedger> {
  const folder = makeTestFolder()
  const ledger = new CallLedger({
    url,
    log: silent,
    metrics: createMetrics(),
    folder,
    promotional_credits: 'as_money',
    ...options,
  })
  await ledger.start()
  return ledger
}

const test_folders: string[] = []
// Not a hook of the test runner: the bench has none.
process.once('exit', () => {
  for (const folder of test_folders) rmSync(folder, { recursive: true, force: true })
})

function makeTestFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-unposted-'))
  test_folders.push(folder)
  return folder
}

/** Not the `sql` of the tests: the bench shares this file, and the test runner's hooks would be half of its CPU. */
async function runSql(url: string, text: string, values: unknown[] = []): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(text, values)
  } finally {
    await client.end()
  }
}

/** A node that lives without a beat. */
export async function makeNode(url: string): Promise<string> {
  const node_id = mintId()
  await runSql(
    url,
    "insert into gateway_node (node_id, beat, beaten_at) values ($1, 1, 'infinity')",
    [node_id],
  )
  return node_id
}

/** Every open hold is past its time. */
export async function expireHolds(url: string): Promise<void> {
  await runSql(url, "update hold set expires_at = '-infinity'")
}

/** Batches as they are written here: no queue, no lane, no lease. */
export async function makeBatchWriter(
  url: string,
  promotional_credits: PromotionalCredits = 'as_money',
) {
  const connection = new LaneConnection({ url, application_name: 'test', deadline_ms: 10_000 })
  const live = await makeNode(url)
  return {
    write(
      items: { settles?: readonly SettleItem[]; holds?: readonly HoldRequest[] },
      node_id = live,
    ): Promise<LedgerAnswers> {
      const deadline_ms = Date.now() + 60_000
      return writeBatch(connection, {
        settles: items.settles ?? [],
        holds: (items.holds ?? []).map((request) => ({ request, deadline_ms })),
        node_id,
        lease_ms: 15_000,
        expires_after_ms: 3_600_000,
        promotional_credits,
      })
    },
    close: () => connection.close(),
  }
}

export async function makeWallets(
  db: Db,
  count: number,
  credits: bigint,
  clock: Clock = systemClock,
): Promise<string[]> {
  const at = clock.now()
  const wallet_ids: string[] = []
  await db.transaction(async (tx) => {
    for (let i = 0; i < count; i++) {
      const account_id = mintId({ at })
      await openWallet(tx, { account_id, welcome_credits: credits, at })
      wallet_ids.push(account_id)
    }
  })
  return wallet_ids
}

/** From now on the ledger posts at this time, in this database. */
export async function setLedgerTime(url: string, at: Date): Promise<void> {
  await runSql(
    url,
    `create or replace function ledger_now() returns timestamptz language sql volatile as
     $$ select timestamptz '${at.toISOString()}' $$`,
  )
}

/** A hold of exactly this much. */
export function holdOf(wallet_id: string, credits: bigint) {
  return {
    id: mintWalletId(wallet_id, new Date()),
    wallet_id,
    min_credits: credits,
    max_credits: credits,
  }
}

const DEVELOPER_ID = mintId()

export function chargeOf(
  hold: Hold,
  used_credits: bigint,
  cost_credits = used_credits,
): SettleRequest {
  return {
    hold,
    used_credits,
    cost_credits,
    usage: {
      model: 'openai/gpt-test',
      billing_mode: 'user',
      developer_id: DEVELOPER_ID,
      input_tokens: 100,
      cached_input_tokens: 0,
      cache_write_tokens: 0,
      output_tokens: 20,
      reasoning_tokens: 0,
      estimated: false,
    },
    event: { model: 'openai/gpt-test' },
  }
}

/** Runs `count` tasks, at most `limit` at once. */
export async function inParallel(
  count: number,
  limit: number,
  task: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) await task(next++)
  }
  await Promise.all(Array.from({ length: Math.min(limit, count) }, worker))
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

/** Every proof of the ledger check, and nothing left held unless said so. */
export async function assertBooks(db: Db): Promise<void> {
  const report = await checkLedger(db)
  assert.deepEqual(
    report.proofs.filter((proof) => proof.differences > 0),
    [],
  )
  assert.equal(report.ok, true)
}
