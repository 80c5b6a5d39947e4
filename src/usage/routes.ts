// GET /account/transactions: what happened in one's wallet.

import { Type } from 'typebox'
import { sessionOf } from '../http/access.ts'
import { Credits, Nullable, PageQuery, Timestamp } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import type { Db } from '../platform/db.ts'
import { listTransactions, TRANSACTION_KINDS } from '../wallet/statement.ts'
import { readTime } from './calls.ts'
import { describeCsv, sendCsv } from './csv.ts'
import { readStatement, TRANSACTION_COLUMNS } from './transactions-csv.ts'

const Transaction = Type.Object({
  id: Type.String(),
  kind: Type.String({
    description: `One of ${TRANSACTION_KINDS.map((kind) => `\`${kind}\``).join(', ')}.`,
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

function time(description: string) {
  const examples = ['2026-11-01T00:00:00Z']
  return Type.Optional(
    Type.String({ maxLength: 40, description: `${description} ISO 8601.`, examples }),
  )
}

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
          'Every movement, newest first, each with the balance before and after it. A page of `kind=usage` looks through 10,000 movements: it may have fewer rows than asked for, or none, and more after it. With `format=csv` all that was asked for from the cursor on, as a file.',
        querystring: Type.Object({
          ...PageQuery.properties,
          kind: Type.Optional(
            Type.Enum([...TRANSACTION_KINDS], { description: 'Only movements of this kind.' }),
          ),
          from: time('Only movements at this time or later.'),
          to: time('Only movements before this time.'),
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
      const { limit, cursor, format, kind } = request.query
      const [from, to] = [readTime('from', request.query.from), readTime('to', request.query.to)]
      const narrowed = { ...(kind && { kind }), ...(from && { from }), ...(to && { to }) }
      const asked = { account_id, ...narrowed, ...(cursor !== undefined && { cursor }) }
      if (format === 'csv')
        return sendCsv(reply, 'transactions.csv', await readStatement(parts.db, asked))
      const page = await listTransactions(parts.db, { ...asked, limit })
      const data = page.data.map((row) => ({ ...row, created_at: row.created_at.toISOString() }))
      return { ...page, data }
    },
  )
}
