// What the tests and the bench of payouts share: a stand-in of Stripe, developers with accounts there, earnings as the
// settlement writes them, and the books.

import assert from 'node:assert/strict'
import type { Stripe } from 'stripe'
import { startSandbox } from '../../sandbox/main.ts'
import { type BatchOptions, type BatchResult, runBatch } from '../../src/payouts/batch.ts'
import { checkPayouts } from '../../src/payouts/check.ts'
import { type EarningsSummary, readSummary } from '../../src/payouts/earnings.ts'
import { createStripe } from '../../src/payouts/stripe-client.ts'
import type { TransferLimits } from '../../src/payouts/transfers.ts'
import type { Db, Statement } from '../../src/platform/db.ts'
import { createLog, type Log } from '../../src/platform/log.ts'
import { mintId } from '../../src/platform/tokens.ts'
import { bucketOf } from '../../src/wallet/bucket.ts'

export const DAY = 24 * 3_600_000
/** Faults that hang are given up soon, and the stand-in answers within milliseconds. */
export const QUICK: TransferLimits = { timeout: 300, maxNetworkRetries: 0 }

export type StandIn = {
  url: string
  stripe: Stripe
  control<Answer = Record<string, unknown>>(path: string, body?: object): Promise<Answer>
  close(): Promise<void>
}

export async function startStandIn(seed = 'payouts'): Promise<StandIn> {
  const sandbox = await startSandbox({ port: 0, stripe: { seed } })
  return { ...standInAt(sandbox.urls.stripe), close: () => sandbox.close() }
}

export function standInAt(url: string): Omit<StandIn, 'close'> {
  return {
    url,
    stripe: createStripe({ secret_key: 'sk_test_payouts', base_url: url }),
    async control<Answer>(path: string, body?: object): Promise<Answer> {
      const response = await fetch(`${url}/_sandbox/stripe${path}`, {
        ...(body && {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      })
      const text = await response.text()
      assert.equal(response.status, 200, text)
      return JSON.parse(text) as Answer
    },
  }
}

const INSERT_ACCOUNTS: Statement<object> = {
  name: 'test.insert_accounts',
  text: `insert into account (id, email, email_key, password_hash, created_at)
    select id, id || '@example.com', id || '@example.com', '-', now() from unnest($1::uuid[]) id`,
}
const INSERT_PAYOUT_ACCOUNTS: Statement<object> = {
  name: 'test.insert_payout_accounts',
  text: `insert into payout_account (developer_id, stripe_account_id, payouts_enabled, mirrored_at, created_at)
    select d, s, true, now(), now() from unnest($1::uuid[], $2::text[]) as a (d, s)`,
}

export async function makeDevelopers(
  db: Db,
  stand_in: Pick<StandIn, 'control'>,
  count: number,
): Promise<string[]> {
  const ids = Array.from({ length: count }, () => mintId())
  await db.run(INSERT_ACCOUNTS, [ids])
  const { accounts } = await stand_in.control<{ accounts: string[] }>('/seed', { accounts: count })
  await db.run(INSERT_PAYOUT_ACCOUNTS, [ids, accounts])
  return ids
}

export async function makeDeveloper(db: Db, stand_in: Pick<StandIn, 'control'>): Promise<string> {
  const [developer] = await makeDevelopers(db, stand_in, 1)
  assert.ok(developer)
  return developer
}

const EARN: Statement<object> = {
  name: 'test.earn',
  text: `with given as (
      select * from unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::timestamptz[]) as g (id, bucket, amount, at)
    ), earnings as (
      insert into developer_earning (bucket, id, developer_id, amount, usage_at, payable)
      select bucket, id, $5, amount, at, $7 from given
    ), deltas as (
      insert into earning_delta (developer_id, hour, client_id, earned, not_payable, unclaimed, calls)
      select $5, date_trunc('hour', at, 'UTC'), $6, sum(amount), case when $7 then 0 else sum(amount) end,
        case when $7 then sum(amount) else 0 end, count(*)
      from given group by 2
    )
    insert into journal (bucket, tx, line, at, account, owner, amount, kind)
    select g.bucket, g.id, l.line, now(), l.account::journal_account, l.owner, l.amount, 'usage'
    from given g
    cross join lateral (values
      (1, case when $7 then 'dev_payable' else 'dev_promotional' end, $5::uuid, g.amount), (2, 'external', null, -g.amount))
      as l (line, account, owner, amount)`,
}

/** Earnings as the settlement writes them: the row, its part of the sums, its lines. Answers their ids. */
export async function earn(
  db: Db,
  developer_id: string,
  given: { amounts: readonly bigint[]; at: Date; client_id?: string; payable?: boolean },
): Promise<string[]> {
  const ids = given.amounts.map(() => mintId({ at: given.at }))
  await db.run(EARN, [
    ids,
    ids.map(bucketOf),
    given.amounts,
    ids.map(() => given.at),
    developer_id,
    given.client_id ?? '',
    given.payable ?? true,
  ])
  return ids
}

export const silent: Log = createLog({ level: 'silent' })

export type Bench = { db: Db; database_url: string; stand_in: Omit<StandIn, 'close'>; log?: Log }

export async function batch(
  { db, database_url, stand_in, log = silent }: Bench,
  options: BatchOptions & { limits?: TransferLimits },
): Promise<BatchResult> {
  const { limits = QUICK, ...rest } = options
  return await runBatch(
    { db, database_url, stripe: stand_in.stripe, transfer_limits: limits, log },
    rest,
  )
}

export function assertCloses(summary: EarningsSummary, about = ''): void {
  const parts = Object.entries(summary).filter(([name]) => name !== 'total_earned_credits')
  const sum = parts.reduce((total, [, credits]) => total + credits, 0n)
  assert.equal(sum, summary.total_earned_credits, `${about} ${parts.join(' ')}`)
  for (const [name, credits] of parts) assert.ok(credits >= 0n, `${about} ${name} is ${credits}`)
  assert.equal(summary.pending_payout_credits * summary.accumulating_credits, 0n)
}

export async function summaryOf(db: Db, developer_id: string, now: Date): Promise<EarningsSummary> {
  const summary = await readSummary(db, developer_id, now)
  assertCloses(summary, now.toISOString())
  return summary
}

export type PayoutFact = {
  id: string
  status: string
  amount_cents: bigint
  gross_credits: bigint
  earnings_credits: bigint
  rolled_reserve_credits: bigint
  attempt: number
  idempotency_key: string
  failure_code: string | null
  stripe_transfer_id: string | null
}

export async function payoutsOf(db: Db, developer_id: string): Promise<PayoutFact[]> {
  return await db.run<PayoutFact>(
    {
      name: 'test.payouts_of',
      text: `select id, status, amount_cents, gross_credits, earnings_credits, rolled_reserve_credits, attempt,
        idempotency_key, failure_code, stripe_transfer_id from payout where developer_id = $1 order by claimed_at`,
    },
    [developer_id],
  )
}

type Totals = { transferred_cents: number; duplicates: number }

/** The books agree with themselves, and with the processor to the cent. */
export async function assertPaidOnce({
  db,
  stand_in,
}: Pick<Bench, 'db' | 'stand_in'>): Promise<void> {
  const { proofs } = await checkPayouts(db)
  assert.deepEqual(
    proofs.filter(({ differences }) => differences > 0),
    [],
  )
  const totals = await stand_in.control<Totals>('')
  assert.equal(totals.duplicates, 0)
  const [paid] = await db.run<{ cents: bigint }>({
    name: 'test.paid_cents',
    text: `select coalesce(sum(amount_cents), 0)::bigint as cents from payout where status = 'paid'`,
  })
  assert.equal(totals.transferred_cents, Number(paid?.cents))
}
