// The wallet's statement as CSV: read page by page, so a long one never stands in memory whole.

import type { Db } from '../platform/db.ts'
import {
  listTransactions,
  type TransactionFilters,
  type TransactionPage,
} from '../wallet/statement.ts'
import { formatLine } from './csv.ts'

export const TRANSACTION_COLUMNS = [
  'id',
  'created_at',
  'kind',
  'amount',
  'balance_before',
  'balance_after',
  'description',
  'generation_id',
  'client_id',
  'app_name',
] as const
const PAGE_SIZE = 500

type Asked = TransactionFilters & { account_id: string; cursor?: string }

/** Resolves once the first page is read: what is wrong with the request is known before anything is sent. */
export async function readStatement(db: Db, asked: Asked): Promise<AsyncGenerator<string>> {
  return formatPages(db, asked, await listTransactions(db, { ...asked, limit: PAGE_SIZE }))
}

async function* formatPages(db: Db, asked: Asked, first: TransactionPage): AsyncGenerator<string> {
  yield formatLine(TRANSACTION_COLUMNS)
  let page = first
  for (;;) {
    yield page.data
      .map((row) => formatLine(TRANSACTION_COLUMNS.map((column) => row[column])))
      .join('')
    if (page.next_cursor === null) return
    page = await listTransactions(db, { ...asked, limit: PAGE_SIZE, cursor: page.next_cursor })
  }
}
