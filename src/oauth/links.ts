// Which users belong to a developer: by the name the developer gave them (a hosted link), or by having
// connected to one of the developer's apps.

import { requireNotSuspended } from '../accounts/suspension.ts'
import type { Clock } from '../platform/clock.ts'
import type { CredentialCache } from '../platform/credential-cache.ts'
import type { Db, Queryable } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { isUuid } from '../platform/tokens.ts'
import type { LinkUses } from './link-uses.ts'
import { findConnectedUser, findNewestLink } from './token-store.ts'
import { describeUser, userTags } from './tokens.ts'

export type LinkedUser = ReturnType<typeof describeUser> & { external_user_id: string }

export type LinkParts = {
  db: Db
  clock: Clock
  links: CredentialCache<LinkedUser>
  link_uses: LinkUses
}

export type LinkWanted = {
  developer_id: string
  external_user_id: string
  /** Only links of this app; of all the developer's apps if null. */
  client_id: string | null
}

/** Undefined if the link is not in memory; `requireLinkedUser` then says whether there is one. */
export function findLinkInMemory(
  parts: Omit<LinkParts, 'db'>,
  wanted: LinkWanted,
): LinkedUser | undefined {
  const link = parts.links.peek(nameOf(wanted))
  if (link) parts.link_uses.touch(link.grant_id, parts.clock.now())
  return link
}

/** The user behind a developer's own id for them. The newest link counts. */
export async function requireLinkedUser(parts: LinkParts, wanted: LinkWanted): Promise<LinkedUser> {
  const link = await parts.links.find(nameOf(wanted), () => readLink(parts.db, wanted))
  if (!link) return unlinked(wanted.external_user_id)
  parts.link_uses.touch(link.grant_id, parts.clock.now())
  return link
}

function nameOf({ developer_id, client_id, external_user_id }: LinkWanted): string {
  return JSON.stringify([developer_id, client_id, external_user_id])
}

/** The same inside a transaction that moves money: not from memory. */
export async function readLinkedUser(db: Queryable, wanted: LinkWanted): Promise<LinkedUser> {
  const user = (await readLink(db, wanted))?.value ?? unlinked(wanted.external_user_id)
  requireNotSuspended(user)
  return user
}

/** The user of that id, if connected to an app of the developer. */
export async function readConnectedUser(
  db: Queryable,
  wanted: { developer_id: string; account_id: string; client_id: string | null },
): Promise<{ account_id: string; external_user_id: string | null }> {
  const user = isUuid(wanted.account_id) ? await findConnectedUser(db, wanted) : undefined
  if (user) {
    requireNotSuspended(user)
    return user
  }
  throw new ApiError('user_not_found', {
    message: 'No user of that id has connected to an app of yours.',
    hint: HINT,
  })
}

async function readLink(db: Queryable, wanted: LinkWanted) {
  const row = await findNewestLink(db, wanted)
  if (!row) return undefined
  const { external_user_id, developer_id } = wanted
  return {
    value: { ...describeUser(row), external_user_id },
    // A newer link through another app takes the place of this one.
    tags: [...userTags(row), `hosted:${developer_id}:${external_user_id}`],
  }
}

const HINT = 'The user connects with GET /oauth/authorize; a link that was ended is no link.'

function unlinked(external_user_id: string): never {
  throw new ApiError('user_not_found', {
    message: `No linked user has the external id ${JSON.stringify(external_user_id)}.`,
    hint: HINT,
  })
}
