// The end of what an account let apps do, and of its own apps: in the transaction of whatever makes it necessary. Locks
// are taken in the order of grants.ts.

import type { Tx } from '../platform/db.ts'
import { deleteAppsOfAccount, findGrantsOfAccount, lockAppsOfAccount } from './ending-store.ts'
import { endGrants, type GrantParts, linkNames, updateConnections } from './grants.ts'
import { lockGrants, lockLinks } from './store.ts'

/**
 * Every consent of the account ends, with its tokens and links, and the apps are told. With `apps: 'ended'` the apps that
 * the account registered go as well, with all that their users granted them.
 */
export async function endOAuthOfAccount(
  parts: GrantParts,
  tx: Tx,
  ending: { account_id: string; apps: 'kept' | 'ended' },
): Promise<void> {
  const { account_id, apps } = ending
  const seen = await findGrantsOfAccount(tx, account_id)
  await lockLinks(tx, linkNames(seen))
  if (apps === 'ended') {
    await lockAppsOfAccount(
      tx,
      account_id,
      seen.map((grant) => grant.app_id),
    )
  }
  const grants = await lockGrants(
    tx,
    seen.map((grant) => grant.id),
  )
  await endGrants(parts, tx, grants)
  await updateConnections(parts, tx, { ids: seen.map((grant) => grant.connection_id) })
  if (apps === 'kept') return
  const deleted = await deleteAppsOfAccount(tx, account_id)
  await parts.feed.invalidate(
    tx,
    deleted.map((client_id) => `app:${client_id}`),
  )
}

/**
 * What runs in a browser ends with the sessions there: it lasts longer than they do, so signing out everywhere, or a new
 * password, would otherwise leave something behind on a machine that somebody wanted to leave.
 */
export async function endBrowserGrants(
  parts: GrantParts,
  tx: Tx,
  account_id: string,
): Promise<void> {
  const seen = await findGrantsOfAccount(tx, account_id, 'browser')
  if (seen.length === 0) return
  const grants = await lockGrants(
    tx,
    seen.map((grant) => grant.id),
  )
  await endGrants(parts, tx, grants)
  await updateConnections(parts, tx, { ids: seen.map((grant) => grant.connection_id) })
}
