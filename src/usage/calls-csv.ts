// Calls as CSV: read page by page, so a long list never stands in memory whole.

import type { Db } from '../platform/db.ts'
import { CSV_COLUMNS, callCells } from './call-shape.ts'
import { type CallPage, type CallsAsked, listCalls } from './calls.ts'
import { formatLine } from './csv.ts'

const PAGE_SIZE = 500

/** Resolves once the first page is read: what is wrong with the request is known before anything is sent. */
export async function readCallLines(
  db: Db,
  account_id: string,
  asked: CallsAsked,
): Promise<AsyncGenerator<string>> {
  const read = (cursor?: string) =>
    listCalls(db, account_id, {
      ...asked,
      ...(cursor !== undefined && { cursor }),
      limit: PAGE_SIZE,
    })
  return formatPages(read, await read())
}

async function* formatPages(
  read: (cursor: string) => Promise<CallPage>,
  first: CallPage,
): AsyncGenerator<string> {
  yield formatLine(CSV_COLUMNS)
  let page = first
  for (;;) {
    yield page.data.map((call) => formatLine(callCells(call))).join('')
    if (page.next_cursor === null) return
    page = await read(page.next_cursor)
  }
}
