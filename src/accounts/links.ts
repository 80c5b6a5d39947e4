// Which users belong to a developer. A link starts with consent and ends when either side wants.

import type { Queryable } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { isUuid } from '../platform/tokens.ts'
import { findNewestLink, type LinkRow } from './store.ts'

/** The user behind the developer's own id for them. Of several apps the newest link counts. */
export async function requireLinkedUser(
  db: Queryable,
  wanted: { developer_id: string; external_user_id: string; client_id: string | null },
): Promise<LinkRow> {
  const link = await findNewestLink(db, { ...wanted, account_id: null })
  if (!link)
    throw unlinked(`No linked user has the external id ${JSON.stringify(wanted.external_user_id)}.`)
  return link
}

/** The user of that id, if they granted an app of the developer. */
export async function requireGrantingUser(
  db: Queryable,
  wanted: { developer_id: string; account_id: string; client_id: string | null },
): Promise<LinkRow> {
  const link = isUuid(wanted.account_id)
    ? await findNewestLink(db, { ...wanted, external_user_id: null })
    : undefined
  if (!link) throw unlinked('No user of that id has connected to an app of yours.')
  return link
}

function unlinked(message: string): ApiError {
  return new ApiError('user_not_found', {
    message,
    hint: 'The user connects with GET /oauth/authorize; a link that was ended is no link.',
  })
}
