// GET /developers/apps/:id/users: who is connected to an app, and what they used.

import { Type } from 'typebox'
import { sessionOf } from '../http/access.ts'
import {
  Credits,
  Id,
  Nullable,
  NullableCredits,
  nullableCredits,
  Page,
  PageQuery,
  readCursor,
  Timestamp,
  toPage,
} from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import { spendPeriod } from '../wallet/spend-limits.ts'
import { type AppUserRow, listAppUsers } from './app-users-store.ts'
import { readApp } from './apps.ts'

const AppUser = Type.Object({
  user_id: Id,
  external_user_ids: Type.Array(Type.String(), { description: 'Your own names for the user.' }),
  cap_credits: NullableCredits,
  cap_period: Type.Enum(['day', 'month']),
  spent_credits: Credits,
  spent_total_credits: Credits,
  earned_credits: Credits,
  requests: Type.Unsafe<bigint>({ type: 'integer', examples: [12] }),
  last_used_at: Nullable(Timestamp),
  connected_at: Timestamp,
})

export function appUserRoutes(app: App, parts: { db: Db; clock: Clock }): void {
  app.get(
    '/developers/apps/:id/users',
    {
      config: { access: 'session', errors: ['not_found', 'bad_request'] },
      schema: {
        tags: ['Apps'],
        operationId: 'list_app_users',
        summary: 'List the users of an app',
        description:
          'Those who are connected, newest first, with what they spent through it this month (UTC) and in all. A call is in these sums about a second after it ended.',
        params: Type.Object({ id: Type.String() }),
        querystring: PageQuery,
        response: { 200: Page(AppUser) },
      },
    },
    async (request) => {
      const { cursor, limit } = request.query
      const developer_id = sessionOf(request).account_id
      const of = await readApp(parts.db, { developer_id, id: request.params.id })
      const rows = await listAppUsers(parts.db, of, {
        before_id: readCursor(cursor),
        count: limit + 1,
        month: spendPeriod('month', parts.clock.now()),
      })
      const page = toPage(rows, limit, (row) => row.id)
      return { ...page, data: page.data.map(presentUser) }
    },
  )
}

function presentUser(row: AppUserRow) {
  return {
    user_id: row.user_id,
    external_user_ids: row.external_user_ids,
    cap_credits: nullableCredits(row.cap_credits),
    cap_period: row.cap_period,
    spent_credits: row.spent_credits,
    spent_total_credits: row.spent_total_credits,
    earned_credits: row.earned_credits,
    requests: row.requests,
    last_used_at: row.last_used_at?.toISOString() ?? null,
    connected_at: row.connected_at.toISOString(),
  }
}
