// SQL of what ends with an account, or with a password that somebody else may have known.

import { type Queryable, statement, type Tx } from '../platform/db.ts'
import type { ClientType } from './client-types.ts'

const FIND_GRANTS_OF_ACCOUNT = statement<{
  id: string
  app_id: string
  developer_id: string
  connection_id: string
  external_user_id: string | null
}>(
  'oauth.find_grants_of_account',
  `select g.id, c.app_id, a.developer_id, g.connection_id, g.external_user_id
   from app_connection c
   join app a on a.id = c.app_id
   join oauth_grant g on g.connection_id = c.id
   where c.account_id = $1::uuid
     and ($2::text is null or a.client_type = $2::text)
     and g.ended_at is null
   order by g.id`,
)

// Also those that the account is connected to: two accounts that end at once, each with a consent to an app of the
// other, must not wait for each other in a circle.
const LOCK_APPS_OF_ACCOUNT = statement<{ id: string }>(
  'oauth.lock_apps_of_account',
  `select id
   from app
   where developer_id = $1::uuid
     or id = any ($2::uuid[])
   order by id
   for update`,
)

const DELETE_APPS_OF_ACCOUNT = statement<{ client_id: string }>(
  'oauth.delete_apps_of_account',
  `delete from app
   where developer_id = $1::uuid
   returning client_id`,
)

/** What was not ended yet, also consents whose code nobody has exchanged; of all kinds of apps or of one. */
export async function findGrantsOfAccount(
  db: Queryable,
  account_id: string,
  client_type: ClientType | null = null,
) {
  return await db.run(FIND_GRANTS_OF_ACCOUNT, [account_id, client_type])
}

export async function lockAppsOfAccount(
  tx: Tx,
  account_id: string,
  connected_app_ids: readonly string[],
): Promise<void> {
  await tx.run(LOCK_APPS_OF_ACCOUNT, [account_id, connected_app_ids])
}

export async function deleteAppsOfAccount(tx: Tx, account_id: string): Promise<string[]> {
  return (await tx.run(DELETE_APPS_OF_ACCOUNT, [account_id])).map((app) => app.client_id)
}
