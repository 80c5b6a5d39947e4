// How operators find people and apps: by id, or by how an address or a name begins. A page is read from an index,
// however many there are.

import { emailKey } from '../accounts/email-address.ts'
import { readCursor, toPage } from '../http/schemas.ts'
import type { Queryable } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { isUuid } from '../platform/tokens.ts'
import {
  type AppRow,
  addBalances,
  FIND_APP,
  FIND_USER,
  LIST_APPS,
  LIST_APPS_BY_NAME,
  LIST_APPS_OF_DEVELOPER,
  LIST_USERS,
  LIST_USERS_BY_EMAIL,
  type UserRow,
} from './user-store.ts'

/** Sorts behind every character that a name can have. */
const LAST = '\u{10ffff}'
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

export type Search = { query: string; cursor: string | undefined; limit: number }

/** All, newest first; one, by id; or those whose address begins so, by address. */
export async function searchUsers(db: Queryable, search: Search) {
  const page = await findUsers(db, search)
  return { ...page, data: await addBalances(db, page.data) }
}

async function findUsers(db: Queryable, { query, cursor, limit }: Search) {
  if (query === '') {
    const rows = await db.run(LIST_USERS, [readCursor(cursor), limit + 1])
    return toPage<UserRow>(rows, limit, (row) => row.id)
  }
  if (isUuid(query))
    return toPage<UserRow>(await db.run(FIND_USER, [query]), limit, (row) => row.id)
  const prefix = emailKey(query)
  const [after] = cursor === undefined ? [] : readPlace(cursor, 1)
  // The least text that sorts behind the last address of the page before.
  const from = after === undefined ? prefix : `${after}\u0001`
  const rows = await db.run(LIST_USERS_BY_EMAIL, [from, prefix + LAST, limit + 1])
  return toPage<UserRow>(rows, limit, (row) => writePlace([row.email_key]))
}

/** All, newest first; one, by its client id; those of a developer, by id; or those whose name begins so, by name. */
export async function searchApps(db: Queryable, { query, cursor, limit }: Search) {
  const before_id = isUuid(query) || query === '' ? readCursor(cursor) : null
  if (query === '') {
    return pageApps(await db.run(LIST_APPS, [before_id, limit + 1]), limit)
  }
  if (isUuid(query)) {
    return pageApps(await db.run(LIST_APPS_OF_DEVELOPER, [query, before_id, limit + 1]), limit)
  }
  if (cursor === undefined) {
    const found = await db.run(FIND_APP, [query])
    if (found.length > 0) return pageApps(found, limit)
  }
  const [name = '', id = FIRST_ID] = cursor === undefined ? [] : readPlace(cursor, 2)
  if (!isUuid(id)) throw wrongCursor()
  const rows = await db.run(LIST_APPS_BY_NAME, [query, name, id, limit + 1, LAST])
  return toPage<AppRow>(rows, limit, (row) => writePlace([row.name_key, row.id]))
}

function pageApps(rows: AppRow[], limit: number) {
  return toPage<AppRow>(rows, limit, (row) => row.id)
}

function writePlace(place: readonly string[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

function readPlace(cursor: string, length: number): string[] {
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    const is_place =
      Array.isArray(place) &&
      place.length === length &&
      place.every((part) => typeof part === 'string' && !part.includes('\0'))
    if (is_place) return place
  } catch {
    // As below.
  }
  throw wrongCursor()
}

function wrongCursor(): ApiError {
  return new ApiError('bad_request', {
    message: 'query.cursor is not one of ours.',
    param: 'cursor',
  })
}
