// A user's connected apps: what each may spend, what it spent this month, and the end of it.

import { recordSecurityEvent } from '../accounts/security-log/security-log.ts'
import { nullableCredits, readCursor, toPage } from '../http/schemas.ts'
import type { Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { openSpendCounter, periodEnd, type SpendLimit } from '../wallet/spend-limits.ts'
import type { Actor } from './actor.ts'
import { sumSpentThroughApps } from './app-spending-store.ts'
import type { AppRow } from './app-store.ts'
import { findAppOfClient } from './apps.ts'
import { isPublic } from './client-types.ts'
import { endConnection, type GrantParts } from './grants.ts'
import {
  type Cap,
  type CapPeriod,
  type ConnectionRow,
  findConnection,
  type ListedConnectionRow,
  listConnections,
  setCap,
} from './store.ts'

export type Connection = ListedConnectionRow & {
  /** In the period of the cap, or in the month where there is none. */
  spent_credits: bigint
  period_resets_at: Date | null
}

export async function listOwnConnections(
  parts: Pick<GrantParts, 'db' | 'clock'>,
  account_id: string,
  page: { cursor: string | undefined; limit: number },
) {
  const before_id = readCursor(page.cursor)
  const rows = await listConnections(parts.db, account_id, { before_id, count: page.limit + 1 })
  const now = parts.clock.now()
  const client_ids = rows.map((row) => row.client_id)
  const sums = await sumSpentThroughApps(parts.db, { account_id, client_ids, at: now })
  const spent = new Map(sums.map((app) => [app.client_id, app]))
  const connections = rows.map((row) => {
    const app = spent.get(row.client_id)
    const in_period = row.cap_period === 'day' ? app?.today_credits : app?.month_credits
    return {
      ...row,
      spent_credits: in_period ?? 0n,
      period_resets_at: periodEnd(row.cap_period, now),
      last_used_at: latest(row.last_used_at, app?.last_used_at),
    }
  })
  return toPage(connections, page.limit, (row) => row.id)
}

export async function setOwnCap(
  parts: GrantParts,
  owner: { account_id: string; client_id: string },
  change: { cap: Cap; actor: Actor },
): Promise<void> {
  const { cap, actor } = change
  const { connection, app } = await requireConnection(parts, owner)
  if (cap.cap_credits === null && isPublic(app)) {
    throw new ApiError('bad_request', {
      message: 'An app without a server needs a cap.',
      hint: 'Set another amount, or disconnect the app.',
      param: 'cap_credits',
    })
  }
  await parts.db.transaction(async (tx) => {
    await changeCap(parts, tx, { connection, ...owner, cap })
    await recordSecurityEvent(parts, tx, {
      account_id: owner.account_id,
      kind: 'cap_changed',
      at: parts.clock.now(),
      ...actor,
      details: { client_id: app.client_id, app_name: app.name, ...describeCap(cap) },
    })
  })
}

/** Grants, tokens and links end together; the app's webhooks are told. */
export async function disconnect(
  parts: GrantParts,
  owner: { account_id: string; client_id: string },
  actor: Actor,
): Promise<void> {
  const { connection } = await requireConnection(parts, owner)
  await parts.db.transaction((tx) => endConnection(parts, tx, connection.id, actor))
}

/** Holds from the next call on. What was spent in this day or month counts, with the cap or without it. */
export async function changeCap(
  parts: GrantParts,
  tx: Tx,
  change: {
    connection: ConnectionRow
    account_id: string
    client_id: string
    cap: Cap
  },
): Promise<void> {
  const { connection, account_id, client_id, cap } = change
  await setCap(tx, connection.id, cap)
  if (cap.cap_credits !== null) {
    const at = parts.clock.now()
    const owner_id = connection.id
    await openSpendCounter(tx, { owner_id, account_id, client_id, period: cap.cap_period, at })
  }
  await parts.feed.invalidate(tx, [`connection:${connection.id}`])
}

/** As the security log has it. */
export function describeCap({ cap_credits, cap_period }: Cap) {
  return { cap_credits: nullableCredits(cap_credits), cap_period }
}

/** The user's cap for an app, as the wallet enforces it. */
export function capOf(user: {
  account_id: string
  connection_id: string
  cap_credits: bigint | null
  cap_period: CapPeriod
}): SpendLimit | null {
  const { account_id, connection_id, cap_credits, cap_period } = user
  if (cap_credits === null) return null
  return {
    kind: 'app',
    owner_id: connection_id,
    account_id,
    limit_credits: cap_credits,
    period: cap_period,
  }
}

function latest(left: Date | null, right: Date | null = null): Date | null {
  if (!left || !right) return left ?? right
  return left > right ? left : right
}

async function requireConnection(
  parts: GrantParts,
  owner: { account_id: string; client_id: string },
): Promise<{ connection: ConnectionRow; app: AppRow }> {
  const app = await findAppOfClient(parts.db, owner.client_id)
  const connection =
    app && (await findConnection(parts.db, { account_id: owner.account_id, app_id: app.id }))
  if (app && connection?.connected_at) return { connection, app }
  throw new ApiError('not_found', { message: 'You are not connected to such an app.' })
}
