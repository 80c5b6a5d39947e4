// GET /account/transactions: what happened in one's wallet.

import { Type } from 'typebox'
import { sessionOf } from '../http/access.ts'
import { Credits, Nullable, PageQuery, Timestamp } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import type { Db } from '../platform/db.ts'
import { listTransactions } from '../wallet/statement.ts'
import { describeCsv, sendCsv } from './csv.ts'
import { readStatement, TRANSACTION_COLUMNS } from './transactions-csv.ts'

const Transaction = Type.Object({
  id: Type.String(),
  kind: Type.String({
    description:
      '`welcome`, `verified`, `grant`, `paid_grant`, `topup`, `transfer_in`, `transfer_out`, `usage`, `refund`, `refund_failed`, `dispute`, `dispute_won`, `dispute_lost`, `dispute_reinstated` or `closure`.',
    examples: ['welcome'],
  }),
  amount: Type.Unsafe<bigint>({
    type: 'integer',
    description: 'Credits: positive came in, negative went out.',
    examples: [1_000_000],
  }),
  balance_before: Type.Unsafe<bigint>({ type: 'integer', examples: [0] }),
  balance_after: Credits,
  description: Nullable(Type.String({ description: 'Of a call: the model.' })),
  generation_id: Nullable(Type.String({ description: 'The call that was charged.' })),
  client_id: Nullable(Type.String({ description: 'The app that the call came through.' })),
  app_name: Nullable(Type.String({ description: 'Its name; null once it is deleted.' })),
  created_at: Timestamp,
})

export function usageRoutes(app: App, parts: { db: Db }): void {
  app.get(
    '/account/transactions',
    {
      config: {
        access: 'session',
        errors: ['bad_request'],
        documents: describeCsv(TRANSACTION_COLUMNS),
      },
      schema: {
        tags: ['Wallet'],
        operationId: 'transactions',
        summary: 'The wallet’s statement',
        description:
          'Every movement, newest first, each with the balance before and after it. With `format=csv` the whole statement from the cursor on, as a file.',
        querystring: Type.Object({
          ...PageQuery.properties,
          format: Type.Optional(Type.Enum(['json', 'csv'])),
        }),
        response: {
          200: Type.Object({
            data: Type.Array(Transaction),
            has_more: Type.Boolean(),
            next_cursor: Nullable(Type.String()),
          }),
        },
      },
    },
    async (request, reply) => {
      const { account_id } = sessionOf(request)
      const { limit, cursor, format } = request.query
      const from = { account_id, ...(cursor !== undefined && { cursor }) }
      if (format === 'csv')
        return sendCsv(reply, 'transactions.csv', await readStatement(parts.db, from))
      const page = await listTransactions(parts.db, { ...from, limit })
      const data = page.data.map((row) => ({ ...row, created_at: row.created_at.toISOString() }))
      return { ...page, data }
    },
  )
}
