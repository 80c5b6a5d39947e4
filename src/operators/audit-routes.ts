// GET /operator/audit: what operators did, by whichever door.

import { Type } from 'typebox'
import { Id, Nullable, Page, PageQuery, Text, Timestamp } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import type { Db } from '../platform/db.ts'
import { LIST, TAGS } from './actor.ts'
import { pageActs } from './acts.ts'

const Filters = Type.Object({
  ...PageQuery.properties,
  who: Type.Optional(Text({ max: 254, description: 'All of what one operator did.' })),
  act: Type.Optional(Text({ max: 100, description: 'One kind.', examples: ['account suspend'] })),
  subject: Type.Optional(
    Text({ max: 254, description: 'About one address, client id, or id of a key or webhook.' }),
  ),
})

const ActDescription = Type.Object({
  id: Id,
  at: Timestamp,
  who: Type.String({
    description: 'The operator’s address, or a name from the command line.',
    examples: ['olga@example.com'],
  }),
  act: Type.String({ examples: ['account suspend'] }),
  subject: Type.String({ examples: ['ann@example.com'] }),
  reason: Nullable(Type.String({ examples: ['card fraud'] })),
  details: Type.Record(Type.String(), Type.Unknown(), { examples: [{ grant_id: '01989f2e' }] }),
  operator_id: Nullable(Type.String({ description: 'Null: on the command line.' })),
  session_id: Nullable(Type.String()),
  ip: Nullable(Type.String({ examples: ['203.0.113.7'] })),
})

export function auditRoutes(app: App, parts: { db: Db }): void {
  app.get(
    '/operator/audit',
    {
      config: LIST,
      schema: {
        tags: TAGS,
        operationId: 'operator_list_acts',
        summary: 'Read what operators did',
        description:
          'Newest first, those of the command line too. The table takes new rows only; the database refuses everything else.',
        querystring: Filters,
        response: { 200: Page(ActDescription) },
      },
    },
    async (request) => {
      const page = await pageActs(parts.db, request.query)
      return { ...page, data: page.data.map((act) => ({ ...act, at: act.at.toISOString() })) }
    },
  )
}
