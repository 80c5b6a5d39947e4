// What the wallet's tests and its bench share: a ledger on a database, wallets to use, calls to charge.

import assert from 'node:assert/strict'
import { type Clock, systemClock } from '../../src/platform/clock.ts'
import type { Db } from '../../src/platform/db.ts'
import { createLog } from '../../src/platform/log.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import { mintId } from '../../src/platform/tokens.ts'
import { mintWalletId } from '../../src/wallet/bucket.ts'
import { checkLedger } from '../../src/wallet/check.ts'
import type { Hold, SettleRequest } from '../../src/wallet/holds.ts'
import { startNode } from '../../src/wallet/jobs.ts'
import {
  type CallLedger,
  type CallLedgerOptions,
  createCallLedger,
} from '../../src/wallet/lanes/call-ledger.ts'
import { openWallet } from '../../src/wallet/postings.ts'
import { sql } from '../support/database.ts'

/** The full versions of the tests run with SVC_LONG=1. */
export const LONG = process.env['SVC_LONG'] === '1'

export const silent = createLog({ level: 'silent' })

export async function makeLedger(
  db: Db,
  url: string,
  options: Partial<CallLedgerOptions> = {},
): Promise<CallLedger> {
  const clock = options.clock ?? systemClock
  const node = options.node ?? (await startNode(db, { node_id: `test-${mintId()}`, clock }))
  return createCallLedger({ url, clock, log: silent, metrics: createMetrics(), node, ...options })
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
  await sql(
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
