// /operator/payout-runs, /operator/payouts: what was paid, what would be, and making a batch.

import { Type } from 'typebox'
import {
  Credits,
  Id,
  Nullable,
  Page,
  PageQuery,
  readCursor,
  Timestamp,
  toPage,
} from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import { listPayouts, type PayoutRow } from '../payouts/operator.ts'
import { nextBatchAt } from '../payouts/rules.ts'
import { listRuns, previewBatch } from '../payouts/runs.ts'
import type { Db } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { actorOf, IdempotencyKey, LIST, Reason, sendAnswer, TAGS, write } from './actor.ts'
import { type RunParts, startPayoutRun } from './payout-runs.ts'
import { toText } from './user-schemas.ts'
import { readEmails } from './user-store.ts'

export type PayoutRouteParts = Omit<RunParts, 'stripe'> & {
  /** Undefined: nobody can be paid. */
  stripe: RunParts['stripe'] | undefined
}

const Cents = Type.Unsafe<bigint>({ type: 'integer', examples: [12_050] })
const MaybeCount = Nullable(Type.Integer({ examples: [3] }))

const Run = Type.Object({
  id: Id,
  day: Nullable(Type.String({ description: 'Null: an operator’s.', examples: ['2026-11-15'] })),
  started_by: Nullable(Type.String({ description: 'Null: the daily batch.' })),
  started_at: Timestamp,
  ended_at: Nullable(Timestamp),
  outcome: Nullable(
    Type.String({ description: '`done`, or why it stopped. Null: it runs.', examples: ['done'] }),
  ),
  paid: MaybeCount,
  failed: MaybeCount,
  pending: MaybeCount,
  paid_cents: MaybeCount,
})

const DeveloperEmail = Nullable(
  Type.String({ description: 'Null: the account is gone.', examples: ['ann@example.com'] }),
)

const Due = Type.Object({
  developer_id: Id,
  developer_email: DeveloperEmail,
  gross_credits: Credits,
  reserve_credits: Credits,
  transfer_credits: Credits,
  amount_cents: Cents,
})

const DryRun = Type.Object({
  dry_run: Type.Literal(true),
  total_cents: Cents,
  developers: Type.Integer({ description: 'How many are due.', examples: [3] }),
  suspended: Type.Integer({ description: 'Who would be due and is suspended.', examples: [0] }),
  payouts: Type.Array(Due, { description: 'The first 200.' }),
})

const Started = Type.Object({
  id: Id,
  dry_run: Type.Literal(false),
  total_cents: Cents,
  developers: Type.Integer({ examples: [3] }),
})

const Payout = Type.Object({
  id: Id,
  developer_id: Id,
  developer_email: DeveloperEmail,
  status: Type.Enum(['pending', 'paid', 'failed']),
  gross_credits: Credits,
  reserve_credits: Credits,
  transfer_credits: Credits,
  amount_cents: Cents,
  currency: Type.String({ examples: ['usd'] }),
  period_start: Timestamp,
  period_end: Timestamp,
  attempt: Type.Integer({ examples: [0] }),
  stripe_transfer_id: Nullable(Type.String()),
  failure_code: Nullable(Type.String()),
  failure_message: Nullable(Type.String()),
  created_at: Timestamp,
})

export function payoutRoutes(app: App, parts: PayoutRouteParts): void {
  app.get(
    '/operator/payout-runs',
    {
      config: LIST,
      schema: {
        tags: TAGS,
        operationId: 'operator_list_payout_runs',
        summary: 'List payout runs',
        description: 'The daily batches and those of operators, newest first.',
        querystring: PageQuery,
        response: { 200: Type.Object({ ...Page(Run).properties, next_run_at: Timestamp }) },
      },
    },
    async (request) => {
      const { cursor, limit } = request.query
      const page = await listRuns(parts.db, { cursor, limit })
      const next_run_at = nextBatchAt(parts.clock.now()).toISOString()
      return { ...page, data: page.data.map(presentRun), next_run_at }
    },
  )
  runRoutes(app, parts)
  app.get(
    '/operator/payouts',
    {
      config: LIST,
      schema: {
        tags: TAGS,
        operationId: 'operator_list_payouts',
        summary: 'List payouts',
        description:
          'Of everybody, newest first. `pending`: the transfer is in doubt, and the next batch finds out.',
        querystring: Type.Object({
          ...PageQuery.properties,
          status: Type.Optional(Type.Enum(['pending', 'paid', 'failed'])),
        }),
        response: { 200: Page(Payout) },
      },
    },
    async (request) => {
      const { status, cursor, limit } = request.query
      const before_id = readCursor(cursor)
      const rows = await listPayouts(parts.db, { status, before_id, limit: limit + 1 })
      const page = toPage(rows, limit, (row) => row.id)
      return { ...page, data: await withEmails(parts.db, page.data.map(presentPayout)) }
    },
  )
}

function runRoutes(app: App, parts: PayoutRouteParts): void {
  const ending = new AbortController()
  const running = new Set<Promise<void>>()
  app.addHook('onClose', async () => {
    ending.abort()
    await Promise.all(running)
  })
  app.post(
    '/operator/payout-runs',
    {
      config: write('service_unavailable'),
      schema: {
        tags: TAGS,
        operationId: 'operator_run_payouts',
        summary: 'Pay developers now',
        description:
          'With `dry_run` it says who is due and how much, and changes nothing: no proof and no reason is asked for. Without, it needs a fresh proof, a reason and the total of a dry run: 409 if that has changed. Transfers that are in doubt are resolved too and are not in the total. The answer comes before the batch is made: `GET /operator/payout-runs` says what became of it. The same `Idempotency-Key` makes it once. While another batch runs, its outcome is `already_running`, and nothing is paid.',
        headers: Type.Partial(IdempotencyKey),
        body: Type.Object({
          dry_run: Type.Boolean({ examples: [true] }),
          expected_total_cents: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: Number.MAX_SAFE_INTEGER,
              description: '`total_cents` of the dry run.',
            }),
          ),
          reason: Type.Optional(Reason),
        }),
        response: { 200: DryRun, 202: Started },
      },
    },
    async (request, reply) => {
      const { dry_run, expected_total_cents, reason } = request.body
      const run_parts = { ...parts, stripe: requireStripe(parts) }
      if (dry_run) {
        const { developer_ids: _, ...found } = await previewBatch(run_parts, parts.clock.now())
        const payouts = await withEmails(parts.db, found.payouts)
        return { dry_run: true as const, ...found, payouts }
      }
      const by = await actorOf(parts, request, requireGiven('reason', reason))
      const idempotency_key = request.headers['idempotency-key']
      const total = requireGiven('expected_total_cents', expected_total_cents)
      const wanted = { expected_total_cents: total }
      const { answer, begin } = await startPayoutRun(run_parts, wanted, { ...by, idempotency_key })
      if (begin) {
        const work = begin(ending.signal).finally(() => running.delete(work))
        running.add(work)
      }
      return sendAnswer(reply, answer)
    },
  )
}

/** People know each other by their addresses, not by ids. */
async function withEmails<Row extends { developer_id: string }>(db: Db, rows: readonly Row[]) {
  const emails = await readEmails(
    db,
    rows.map(({ developer_id }) => developer_id),
  )
  return rows.map((row) => ({ ...row, developer_email: emails.get(row.developer_id) ?? null }))
}

function requireStripe({ stripe }: PayoutRouteParts): RunParts['stripe'] {
  if (stripe) return stripe
  throw new ApiError('service_unavailable', {
    message: 'Nobody can be paid: STRIPE_SECRET_KEY is not set.',
  })
}

/** A dry run needs neither. */
function requireGiven<Value>(param: string, value: Value | undefined): Value {
  if (value !== undefined) return value
  throw new ApiError('bad_request', {
    message: `body.${param} is missing: only a dry run goes without.`,
    param,
  })
}

function presentRun(run: Awaited<ReturnType<typeof listRuns>>['data'][number]) {
  const { started_at, ended_at, paid_cents, ...rest } = run
  return {
    ...rest,
    started_at: started_at.toISOString(),
    ended_at: toText(ended_at),
    paid_cents: paid_cents === null ? null : Number(paid_cents),
  }
}

function presentPayout(row: PayoutRow) {
  return {
    ...row,
    period_start: row.period_start.toISOString(),
    period_end: row.period_end.toISOString(),
    created_at: row.created_at.toISOString(),
  }
}
