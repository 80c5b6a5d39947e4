// The wallet's statement as CSV: read page by page, so a long one never stands in memory whole.

import type { Db } from '../platform/db.ts'
import { listTransactions, type Transaction, type TransactionPage } from '../wallet/statement.ts'

const COLUMNS = [
  'id',
  'created_at',
  'kind',
  'amount',
  'balance_before',
  'balance_after',
  'description',
  'generation_id',
] as const
export const CSV_HEAD = `${COLUMNS.join(',')}\r\n`
const PAGE_SIZE = 500

/** Resolves once the first page is read: what is wrong with the request is known before anything is sent. */
export async function readStatement(
  db: Db,
  from: { account_id: string; cursor?: string },
): Promise<AsyncGenerator<string>> {
  return formatPages(db, from.account_id, await listTransactions(db, { ...from, limit: PAGE_SIZE }))
}

async function* formatPages(
  db: Db,
  account_id: string,
  first: TransactionPage,
): AsyncGenerator<string> {
  yield CSV_HEAD
  let page = first
  for (;;) {
    yield page.data.map(formatLine).join('')
    if (page.next_cursor === null) return
    page = await listTransactions(db, { account_id, limit: PAGE_SIZE, cursor: page.next_cursor })
  }
}

function formatLine(row: Transaction): string {
  return `${COLUMNS.map((column) => formatCell(row[column])).join(',')}\r\n`
}

function formatCell(value: string | bigint | Date | null): string {
  if (value === null) return ''
  if (typeof value === 'bigint') return String(value)
  const text = value instanceof Date ? value.toISOString() : value
  // A cell that starts like a formula would be run by a spreadsheet; the quote in front makes it text.
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
