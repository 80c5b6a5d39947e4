// /account/topups and /account/auto-topup: buying credits.

import { Type } from 'typebox'
import { type RoutePolicy, sessionOf } from '../http/access.ts'
import { renderNotice, sendPage } from '../http/page.ts'
import { Credits, Id, Nullable, Page, PageQuery, ReturnPath, Timestamp } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import { type AutoTopup as AutoTopupState, readAutoTopup, setAutoTopup } from './auto-topups.ts'
import { usdNumber } from './dollars.ts'
import { renderReceipt } from './receipt-page.ts'
import type { TopupRow } from './store.ts'
import { listOwnTopups, readOwnReceipt, startTopup, type TopupParts } from './topups.ts'

const TAGS = ['Top-ups']
const POLICY = { access: 'session' } as const satisfies RoutePolicy
const PROCESSOR_ERRORS = ['stripe_error', 'provider_misconfigured'] as const

function Usd(description: string, example: number) {
  return Type.Number({ description, examples: [example] })
}

const Topup = Type.Object({
  id: Id,
  amount_usd: Usd('What it costs.', 20),
  credits: Credits,
  state: Type.Enum(['pending', 'paid', 'failed', 'expired']),
  source: Type.Enum(['checkout', 'automatic']),
  refunded_credits: Type.Unsafe<bigint>({
    type: 'integer',
    description: 'What refunds asked back.',
    examples: [0],
  }),
  failure_code: Nullable(Type.String({ examples: ['card_declined'] })),
  receipt_url: Nullable(
    Type.String({
      description: 'A page for the browser of who paid, once it is paid.',
      examples: ['https://svc.example/account/topups/01989f2e-7c1a-7b3e-9d7e-2f6f0d1c5a10/receipt'],
    }),
  ),
  created_at: Timestamp,
})

const AutoTopup = Type.Object({
  enabled: Type.Boolean(),
  threshold_credits: Type.Unsafe<bigint>({
    type: 'integer',
    description: 'Charged when the balance is below. 0: never set.',
    examples: [5_000_000],
  }),
  amount_usd: Usd('What is charged each time.', 20),
  monthly_ceiling_usd: Usd('The most that is charged in a month (UTC).', 100),
  charged_this_month_usd: Usd('What was charged in this month, or still may be.', 0),
  payment_method: Nullable(
    Type.String({ description: 'What is charged.', examples: ['visa 4242'] }),
  ),
  switched_off_reason: Nullable(
    Type.String({
      description: 'Why it is off although you had it on.',
      examples: ['card_declined'],
    }),
  ),
})

export function topupRoutes(app: App, parts: TopupParts): void {
  app.post(
    '/account/topups',
    {
      config: { ...POLICY, errors: PROCESSOR_ERRORS },
      schema: {
        tags: TAGS,
        operationId: 'create_topup',
        summary: 'Buy credits',
        description:
          'Send the user to `checkout_url`. The credits are there once the processor has told us of the payment, usually within seconds. From there the browser comes to `return_to` with `?result=paid` or `?result=canceled` and the `topup_id`, or to a page that only says so.',
        body: Type.Object({
          amount_usd: Usd('In whole cents; $1.00 is 1,000,000 credits.', 20),
          save_payment_method: Type.Boolean({
            default: false,
            description: 'Keep the payment method for automatic top-ups.',
          }),
          return_to: Type.Optional(ReturnPath),
        }),
        response: {
          200: Type.Object({
            id: Id,
            checkout_url: Type.String({ examples: ['https://checkout.stripe.com/c/pay/cs_1'] }),
          }),
        },
      },
    },
    (request) => startTopup(parts, sessionOf(request).account_id, request.body),
  )
  app.get(
    '/account/topups',
    {
      config: { ...POLICY, errors: ['bad_request'] },
      schema: {
        tags: TAGS,
        operationId: 'list_topups',
        summary: 'List top-ups',
        description: 'Newest first.',
        querystring: PageQuery,
        response: { 200: Page(Topup) },
      },
    },
    async (request) => {
      const { cursor, limit } = request.query
      const page = await listOwnTopups(parts, sessionOf(request).account_id, { cursor, limit })
      return { ...page, data: page.data.map((row) => presentTopup(row, parts)) }
    },
  )
  receiptRoute(app, parts)
  app.get(
    '/account/topups/return',
    { config: { access: 'public', page: true }, schema: { hide: true } },
    (request, reply) => sendPage(reply, renderReturn(request.query)),
  )
  autoTopupRoutes(app, parts)
}

function receiptRoute(app: App, parts: TopupParts): void {
  app.get(
    '/account/topups/:id/receipt',
    {
      config: {
        ...POLICY,
        page: true,
        errors: ['not_found'],
        documents: { reply: { 'text/html': { schema: { type: 'string' } } } },
      },
      schema: {
        tags: TAGS,
        operationId: 'topup_receipt',
        summary: 'Show the receipt of a top-up',
        description: 'A page to print or keep. For top-ups that are paid.',
        params: Type.Object({ id: Type.String({ maxLength: 100 }) }),
      },
    },
    async (request, reply) => {
      const { account_id } = sessionOf(request)
      const { email, topup } = await readOwnReceipt(parts, account_id, request.params.id)
      return sendPage(reply, renderReceipt(email, topup))
    },
  )
}

function autoTopupRoutes(app: App, parts: TopupParts): void {
  app.get(
    '/account/auto-topup',
    {
      config: POLICY,
      schema: {
        tags: TAGS,
        operationId: 'read_auto_topup',
        summary: 'Read automatic top-up',
        response: { 200: AutoTopup },
      },
    },
    async (request) => presentAuto(await readAutoTopup(parts, sessionOf(request).account_id)),
  )
  app.put(
    '/account/auto-topup',
    {
      config: { ...POLICY, errors: ['provider_misconfigured'] },
      schema: {
        tags: TAGS,
        operationId: 'set_auto_topup',
        summary: 'Set automatic top-up',
        description:
          'When the balance falls below the threshold, the saved payment method is charged, up to the ceiling a month. You get a mail each time. A charge that is declined switches it off.',
        body: Type.Object({
          enabled: Type.Boolean(),
          threshold_credits: Type.Number({ examples: [5_000_000] }),
          amount_usd: Usd('What is charged each time.', 20),
          monthly_ceiling_usd: Usd('The most that is charged in a month (UTC).', 100),
        }),
        response: { 200: AutoTopup },
      },
    },
    async (request) => {
      const { account_id } = sessionOf(request)
      return presentAuto(await setAutoTopup(parts, account_id, request.body))
    },
  )
}

function renderReturn(query: unknown): string {
  const is_paid =
    typeof query === 'object' && query !== null && 'result' in query && query.result === 'paid'
  return is_paid
    ? renderNotice({
        title: 'Thank you',
        text: 'Your credits are added as soon as the payment is confirmed, usually within seconds. A receipt comes by mail.',
        hint: 'You may close this page.',
      })
    : renderNotice({
        title: 'Nothing was charged',
        text: 'You left the payment. You may close this page.',
      })
}

function presentTopup(row: TopupRow, { public_url }: Pick<TopupParts, 'public_url'>) {
  const { id, credits, state, source, refunded_credits, failure_code } = row
  return {
    id,
    amount_usd: usdNumber(row.amount_cents),
    credits,
    state,
    source,
    refunded_credits,
    failure_code,
    receipt_url: state === 'paid' ? `${public_url}/account/topups/${id}/receipt` : null,
    created_at: row.created_at.toISOString(),
  }
}

function presentAuto(auto: AutoTopupState) {
  const { enabled, threshold_credits, payment_method_label, switched_off_reason } = auto
  const has_method = auto.stripe_payment_method_id !== null
  return {
    enabled,
    threshold_credits,
    amount_usd: usdNumber(auto.amount_cents),
    monthly_ceiling_usd: usdNumber(auto.monthly_ceiling_cents),
    charged_this_month_usd: usdNumber(auto.charged_this_month_cents),
    payment_method: has_method ? (payment_method_label ?? 'saved') : null,
    switched_off_reason,
  }
}
