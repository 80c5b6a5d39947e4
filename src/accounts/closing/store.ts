// SQL of accounts that their owners give up.

import { type Queryable, statement, type Tx } from '../../platform/db.ts'

const SET_CLOSING = statement<object>(
  'accounts.set_closing',
  `update account
   set closes_at = $2::timestamptz
   where id = $1::uuid`,
)

// Whoever is suspended cannot come back, so their days do not run out.
const LIST_CLOSED = statement<{ id: string }>(
  'accounts.list_closed',
  `select id
   from account
   where closes_at <= $1::timestamptz
     and suspended_at is null
     and id > $2::uuid
   order by id
   limit $3::integer`,
)

const DELETE_ACCOUNT = statement<object>(
  'accounts.delete_account',
  `delete from account
   where id = $1::uuid`,
)

/** Null: it stays. */
export async function setClosing(
  tx: Tx,
  account_id: string,
  closes_at: Date | null,
): Promise<void> {
  await tx.run(SET_CLOSING, [account_id, closes_at])
}

export async function listClosed(
  db: Queryable,
  page: { now: Date; after_id: string; count: number },
): Promise<string[]> {
  const rows = await db.run(LIST_CLOSED, [page.now, page.after_id, page.count])
  return rows.map((row) => row.id)
}

/** Everything that belongs to the account goes with it, by its foreign keys. */
export async function deleteAccount(tx: Tx, account_id: string): Promise<void> {
  await tx.run(DELETE_ACCOUNT, [account_id])
}
