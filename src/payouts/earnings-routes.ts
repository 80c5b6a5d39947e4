// /developers/earnings and /developers/payouts: what came in, what went out, what is kept back. Session cookie only.

import { Type } from 'typebox'
import { sessionOf } from '../http/access.ts'
import { Credits, Id, Nullable, Page, PageQuery, Timestamp } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import { PAYOUT_POLICY } from './account-routes.ts'
import { listOwnPayouts, readSeries, readSummary } from './earnings.ts'
import type { OwnPayoutRow } from './earnings-store.ts'
import { nextBatchAt } from './rules.ts'

const TAGS = ['Earnings']
const RECENT_PAYOUTS = 10

const about = (description: string) =>
  Type.Unsafe<bigint>({ type: 'integer', description, examples: [2_500_000] })

const Summary = Type.Object({
  total_earned_credits: about('All markup ever earned; the sum of the other eight.'),
  pending_payout_credits: about(
    'Past the seven days and at least $10: goes out with the next batch.',
  ),
  accumulating_credits: about('Past the seven days, below $10: carried forward.'),
  reserve_held_credits: about('Withheld from payouts and not yet released.'),
  total_paid_out_credits: about('All transfers ever made.'),
  on_hold_credits: about('Earned in the last seven days.'),
  in_flight_credits: about('In a payout whose outcome is not known yet.'),
  released_reserve_credits: about('Reserves that the next payout takes along.'),
  not_payable_credits: about('Earned with credits that nobody paid for; never paid out.'),
  next_batch_at: Timestamp,
})

const Payout = Type.Object({
  id: Id,
  gross_amount_credits: Credits,
  reserve_amount_credits: Credits,
  transfer_amount_credits: Credits,
  amount_cents: Type.Unsafe<bigint>({ type: 'integer', examples: [2250] }),
  currency: Type.String({ examples: ['usd'] }),
  earnings_count: Type.Unsafe<bigint>({ type: 'integer', examples: [120] }),
  status: Type.Enum(['paid', 'pending', 'failed']),
  failure_code: Nullable(Type.String({ examples: ['insufficient_capabilities_for_transfer'] })),
  failure_reason: Nullable(Type.String()),
  reserve_release_at: Nullable(Timestamp),
  period_start: Timestamp,
  period_end: Timestamp,
  created_at: Timestamp,
})

const SeriesEntry = Type.Object({
  name: Type.String({
    description: 'The day (UTC), or the `client_id` of the app; empty for calls through none.',
    examples: ['2026-11-15'],
  }),
  client_id: Type.Optional(
    Nullable(
      Type.String({
        description:
          'Of a series by day and app: the app; empty for none, null for all beyond the 20 that earned most.',
      }),
    ),
  ),
  earned_credits: Credits,
  calls: Type.Unsafe<bigint>({ type: 'integer', examples: [40] }),
})

export function earningsRoutes(app: App, parts: { db: Db; clock: Clock }): void {
  app.get(
    '/developers/earnings',
    {
      config: { ...PAYOUT_POLICY, errors: ['bad_request'] },
      schema: {
        tags: TAGS,
        operationId: 'earnings',
        summary: 'What was earned and where it is now',
        description:
          'Takes the session cookie only. The sums are of one instant. With `group_by` also a series, of the last 30 days unless told otherwise.',
        querystring: Type.Object({
          group_by: Type.Optional(Type.Enum(['day', 'app', 'day_and_app'])),
          from: Type.Optional(Type.String({ format: 'date' })),
          to: Type.Optional(Type.String({ format: 'date' })),
        }),
        response: {
          200: Type.Object({
            summary: Summary,
            recent_payouts: Type.Array(Payout),
            series: Type.Optional(Type.Array(SeriesEntry)),
          }),
        },
      },
    },
    async (request) => {
      const developer_id = sessionOf(request).account_id
      const now = parts.clock.now()
      const { group_by, ...days } = request.query
      const summary = await readSummary(parts.db, developer_id, now)
      const recent = await listOwnPayouts(parts.db, { developer_id, limit: RECENT_PAYOUTS })
      const wanted = group_by && { group_by, ...days, now }
      return {
        summary: { ...summary, next_batch_at: nextBatchAt(now).toISOString() },
        recent_payouts: recent.data.map(presentPayout),
        ...(wanted && { series: await readSeries(parts.db, developer_id, wanted) }),
      }
    },
  )
  app.get(
    '/developers/payouts',
    {
      config: { ...PAYOUT_POLICY, errors: ['bad_request'] },
      schema: {
        tags: TAGS,
        operationId: 'list_payouts',
        summary: 'List payouts',
        description:
          'Newest first. `failure_reason` says why one failed, `reserve_release_at` when its reserve is released. Takes the session cookie only.',
        querystring: PageQuery,
        response: { 200: Page(Payout) },
      },
    },
    async (request) => {
      const page = await listOwnPayouts(parts.db, {
        developer_id: sessionOf(request).account_id,
        ...request.query,
      })
      return { ...page, data: page.data.map(presentPayout) }
    },
  )
}

function presentPayout(row: OwnPayoutRow) {
  return {
    id: row.id,
    gross_amount_credits: row.gross_credits,
    reserve_amount_credits: row.reserve_credits,
    transfer_amount_credits: row.transfer_credits,
    amount_cents: row.amount_cents,
    currency: row.currency,
    earnings_count: row.earnings_count,
    status: row.status,
    failure_code: row.failure_code,
    failure_reason: row.failure_message,
    reserve_release_at: row.reserve_release_at?.toISOString() ?? null,
    period_start: row.period_start.toISOString(),
    period_end: row.period_end.toISOString(),
    created_at: row.created_at.toISOString(),
  }
}
