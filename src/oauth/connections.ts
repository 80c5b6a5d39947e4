// A user's connected apps: what each may spend, what it spent this month, and the end of it.

import { readCursor, toPage } from '../http/schemas.ts'
import type { Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import {
  openSpendCounter,
  type SpendLimit,
  spentThroughApps,
  startOfMonth,
} from '../wallet/spend-limits.ts'
import { findAppOfClient } from './apps.ts'
import { endConnection, type GrantParts } from './grants.ts'
import {
  type ConnectionRow,
  findConnection,
  type ListedConnectionRow,
  listConnections,
  setCap,
} from './store.ts'

export type Connection = ListedConnectionRow & { spent_this_month_credits: bigint }

export async function listOwnConnections(
  parts: Pick<GrantParts, 'db' | 'clock'>,
  account_id: string,
  page: { cursor: string | undefined; limit: number },
) {
  const before_id = readCursor(page.cursor)
  const rows = await listConnections(parts.db, account_id, { before_id, count: page.limit + 1 })
  const from = startOfMonth(parts.clock.now())
  const spent = new Map(
    (await spentThroughApps(parts.db, { account_id, from })).map((app) => [
      app.client_id,
      app.credits_used,
    ]),
  )
  const connections = rows.map((row) => ({
    ...row,
    spent_this_month_credits: spent.get(row.client_id) ?? 0n,
  }))
  return toPage(connections, page.limit, (row) => row.id)
}

export async function setMonthlyCap(
  parts: GrantParts,
  owner: { account_id: string; client_id: string },
  monthly_cap_credits: bigint | null,
): Promise<void> {
  const connection = await requireConnection(parts, owner)
  await parts.db.transaction((tx) =>
    changeCap(parts, tx, { connection, ...owner, monthly_cap_credits }),
  )
}

/** Grants, tokens and links end together; the app's webhooks are told. */
export async function disconnect(
  parts: GrantParts,
  owner: { account_id: string; client_id: string },
): Promise<void> {
  const connection = await requireConnection(parts, owner)
  await parts.db.transaction((tx) => endConnection(parts, tx, connection.id))
}

/** Holds from the next call on. What was spent this month counts, with the cap or without it. */
export async function changeCap(
  parts: GrantParts,
  tx: Tx,
  change: {
    connection: ConnectionRow
    account_id: string
    client_id: string
    monthly_cap_credits: bigint | null
  },
): Promise<void> {
  const { connection, account_id, client_id, monthly_cap_credits } = change
  await setCap(tx, connection.id, monthly_cap_credits)
  if (monthly_cap_credits !== null) {
    const at = parts.clock.now()
    await openSpendCounter(tx, { owner_id: connection.id, account_id, client_id, at })
  }
  await parts.feed.invalidate(tx, [`connection:${connection.id}`])
}

/** The user's cap for an app, as the wallet enforces it. */
export function capOf(user: {
  account_id: string
  connection_id: string
  monthly_cap_credits: bigint | null
}): SpendLimit | null {
  const { account_id, connection_id, monthly_cap_credits } = user
  if (monthly_cap_credits === null) return null
  return {
    kind: 'app',
    owner_id: connection_id,
    account_id,
    limit_credits: monthly_cap_credits,
    period: 'month',
  }
}

async function requireConnection(
  parts: GrantParts,
  owner: { account_id: string; client_id: string },
): Promise<ConnectionRow> {
  const app = await findAppOfClient(parts.db, owner.client_id)
  const connection =
    app && (await findConnection(parts.db, { account_id: owner.account_id, app_id: app.id }))
  if (connection?.connected_at) return connection
  throw new ApiError('not_found', { message: 'You are not connected to such an app.' })
}
