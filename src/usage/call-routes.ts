// The record of calls: /account/usage as a list and as sums, /v1/generations/:id as a receipt.

import { type Static, Type } from 'typebox'
import { principalOf, sessionOf } from '../http/access.ts'
import { Credits, Nullable, PageQuery, Text, Timestamp } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import { CallDescription, CSV_COLUMNS, presentCall } from './call-shape.ts'
import { BILLING_MODES, CALL_STATUSES, listCalls } from './calls.ts'
import { readCallLines } from './calls-csv.ts'
import { describeCsv, sendCsv } from './csv.ts'
import { ENDED_BY, RECEIPT_UNITS, readReceipt } from './receipt.ts'
import { GROUPINGS, INTERVALS, type Summary, sumUsage } from './summary.ts'

const TAGS = ['Usage']

const Time = Type.Optional(
  Type.String({ maxLength: 40, description: 'ISO 8601.', examples: ['2026-11-01T00:00:00Z'] }),
)
const Name = Type.Optional(Text({ min: 1, max: 300 }))
const Filters = {
  from: Time,
  to: Time,
  model: Name,
  key_id: Name,
  client_id: Name,
  external_user_id: Name,
  status: Type.Optional(Type.Enum([...CALL_STATUSES])),
  billing_mode: Type.Optional(Type.Enum([...BILLING_MODES])),
}

const Count = Type.Unsafe<bigint>({ type: 'integer', examples: [12] })
const Sums = {
  credits: Credits,
  own_credits: Type.Unsafe<bigint>({
    type: 'integer',
    description: 'Of these, what your own wallet paid; the rest was paid by users of your apps.',
    examples: [1_000_000],
  }),
  cost_credits: Credits,
  markup_credits: Credits,
  requests: Count,
  errors: Count,
  input_tokens: Count,
  cached_input_tokens: Count,
  cache_write_tokens: Count,
  output_tokens: Count,
}

const SummaryDescription = Type.Object({
  interval: Type.Enum([...INTERVALS]),
  group_by: Nullable(Type.Enum([...GROUPINGS])),
  timezone: Type.Literal('UTC', { description: 'Hours and days are those of UTC.' }),
  from: Timestamp,
  to: Timestamp,
  data: Type.Array(
    Type.Object({
      start: Timestamp,
      group: Nullable(
        Type.String({ description: 'The model, key, app, user or error code; null: none.' }),
      ),
      is_other: Type.Boolean({ description: 'All groups beyond the 100 with the most credits.' }),
      ...Sums,
    }),
  ),
  total: Type.Object(Sums),
})

const Generation = Type.Object({
  ...CallDescription.properties,
  ended_by: Type.Enum([...ENDED_BY], {
    description: 'Who ended it: `gateway` where it was refused before a provider was asked.',
  }),
  error: Nullable(
    Type.Object(
      { message: Type.String(), hint: Nullable(Type.String()) },
      { description: 'What `error_code` means, and what to do.' },
    ),
  ),
  receipt: Type.Object({
    lines: Type.Array(
      Type.Object({
        bucket: Type.String({
          description:
            '`input`, `audio_input`, `cached_input`, `cache_write`, `cache_write_1h`, `output`; of audio models `characters`, `milliseconds` or `sounds`.',
          examples: ['input'],
        }),
        unit: Type.Enum([...RECEIPT_UNITS], { description: 'What the price is of.' }),
        tokens: Type.Integer({
          description: 'How many: tokens, or what the bucket of an audio model is named for.',
          examples: [12],
        }),
        price: Type.Integer({ description: 'Credits per million units.', examples: [150_000] }),
        millionths: Type.Unsafe<bigint>({
          type: 'integer',
          description:
            'tokens × price, in millionths of a credit; of a transcript by the hour, rounded up.',
          examples: [1_800_000],
        }),
      }),
    ),
    millionths: Type.Unsafe<bigint>({
      type: 'integer',
      description: 'The sum of the lines. Rounded up once, to whole credits, it is the cost.',
      examples: [1_800_000],
    }),
    cost_credits: Credits,
    markup_credits: Credits,
    credits_used: Credits,
    shortfall_credits: Type.Unsafe<bigint>({
      type: 'integer',
      description: 'What the wallet did not have, and nobody is asked for.',
      examples: [0],
    }),
  }),
})

export function callRoutes(app: App, parts: { db: Db; clock: Clock }): void {
  app.get(
    '/account/usage',
    {
      config: {
        access: 'session',
        errors: ['bad_request'],
        documents: describeCsv(CSV_COLUMNS),
      },
      schema: {
        tags: TAGS,
        operationId: 'usage',
        summary: 'Every call, newest first',
        description:
          'Calls that your wallet paid for, and those of users of your apps, without their balances; also calls that failed and cost nothing, for 90 days. With `format=csv` all of them from the cursor on, as a file.',
        querystring: Type.Object({
          ...Filters,
          ...PageQuery.properties,
          format: Type.Optional(Type.Enum(['json', 'csv'])),
        }),
        response: {
          200: Type.Object({
            data: Type.Array(CallDescription),
            has_more: Type.Boolean(),
            next_cursor: Nullable(Type.String()),
          }),
        },
      },
    },
    async (request, reply) => {
      const { account_id } = sessionOf(request)
      const { format, ...asked } = request.query
      if (format === 'csv') {
        return sendCsv(reply, 'usage.csv', await readCallLines(parts.db, account_id, asked))
      }
      const page = await listCalls(parts.db, account_id, asked)
      return { ...page, data: page.data.map(presentCall) }
    },
  )
  summaryRoute(app, parts)
  generationRoute(app, parts)
}

function summaryRoute(app: App, parts: { db: Db; clock: Clock }): void {
  app.get(
    '/account/usage/summary',
    {
      config: { access: 'session', errors: ['bad_request'] },
      schema: {
        tags: TAGS,
        operationId: 'usage_summary',
        summary: 'Calls added up by time and group',
        description:
          'Exact at any instant. `from` and `to` are moved outwards to whole hours (UTC), and the reply says where; without them, the last 30 days, or 2 by the hour. At most 31 days by the hour, 366 by the day.',
        querystring: Type.Object({
          ...Filters,
          interval: Type.Enum([...INTERVALS], { default: 'day' }),
          group_by: Type.Optional(Type.Enum([...GROUPINGS])),
        }),
        response: { 200: SummaryDescription },
      },
    },
    async (request) => {
      const { account_id } = sessionOf(request)
      const { interval, group_by = null } = request.query
      const summary = await sumUsage(parts.db, parts.clock, { ...request.query, account_id })
      return { interval, group_by, ...presentSummary(summary) }
    },
  )
}

function generationRoute(app: App, parts: { db: Db }): void {
  app.get(
    '/v1/generations/:id',
    {
      config: { access: 'anyone_known', errors: ['not_found'] },
      schema: {
        tags: TAGS,
        operationId: 'generation',
        summary: 'The receipt of a call',
        description:
          'By `X-Svc-Generation-Id` of its reply, with the credential that made the call, or with the session of who paid or whose app it was. A call that cost nothing shows up within two seconds.',
        params: Type.Object({ id: Type.String({ maxLength: 100 }) }),
        response: { 200: Generation },
      },
    },
    async (request): Promise<Static<typeof Generation>> => {
      const found = await readReceipt(parts.db, principalOf(request), request.params.id)
      const { call, lines, ended_by, error } = found
      const { cost_credits, markup_credits, credits_used, shortfall_credits } = call
      const millionths = lines.reduce((sum, line) => sum + line.millionths, 0n)
      const sums = { cost_credits, markup_credits, credits_used, shortfall_credits }
      return { ...presentCall(call), ended_by, error, receipt: { lines, millionths, ...sums } }
    },
  )
}

function presentSummary({ from, to, data, total }: Summary) {
  return {
    timezone: 'UTC' as const,
    from: from.toISOString(),
    to: to.toISOString(),
    data: data.map((cell) => ({ ...cell, start: cell.start.toISOString() })),
    total,
  }
}
