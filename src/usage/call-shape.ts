// A call as the API shows it, in JSON and in CSV.

import { Type } from 'typebox'
import { Credits, Nullable, NullableCredits, nullableCredits, Timestamp } from '../http/schemas.ts'
import { BILLING_MODES, CALL_STATUSES, type Call } from './calls.ts'
import type { Cell } from './csv.ts'
import { ignoredFieldsOf, pricesOf, upstreamModelOf } from './prices.ts'

const EXAMPLE_ID = '01989f2e-7c1a-7b3e-9d7e-2f6f0d1c5a10'
const Tokens = Type.Integer({ examples: [12] })
const Price = Type.Integer({ examples: [150_000] })
const NullableText = Nullable(Type.String())
const CALL_SOURCES = ['api', 'playground'] as const

export const Prices = Type.Object(
  {
    input: Price,
    cached_input: Price,
    cache_write: Price,
    cache_write_1h: Price,
    output: Price,
  },
  { description: 'Credits per million tokens, as they were when the call was made.' },
)

export const CallDescription = Type.Object({
  id: Type.String({
    description: 'The generation: `X-Svc-Generation-Id` of the reply.',
    examples: [EXAMPLE_ID],
  }),
  created_at: Timestamp,
  status: Type.Enum([...CALL_STATUSES], {
    description:
      '`ok`; `cut`: it ended early because the client left, the credits ended or the service stopped; `failed`.',
  }),
  error_code: Nullable(Type.String({ description: 'Of a failed call: one of the error codes.' })),
  model: Type.String({ examples: ['gpt-4o-mini'] }),
  upstream_model: Nullable(Type.String({ description: 'What the provider calls it.' })),
  endpoint: NullableText,
  source: Type.Enum([...CALL_SOURCES], {
    description: '`playground`: made with your session; `api`: with a key or a token.',
  }),
  stream: Type.Boolean(),
  billing_mode: Type.Enum([...BILLING_MODES]),
  user_id: Type.String({ description: 'The account that paid.', examples: [EXAMPLE_ID] }),
  key_id: Nullable(Type.String({ description: 'Of one of your keys.' })),
  client_id: Nullable(Type.String({ description: 'The app that it came through.' })),
  external_user_id: NullableText,
  request_id: Nullable(Type.String({ description: '`X-Request-Id` of the reply.' })),
  input_tokens: Tokens,
  cached_input_tokens: Tokens,
  cache_write_tokens: Tokens,
  output_tokens: Type.Integer({ description: 'With reasoning.', examples: [80] }),
  reasoning_tokens: Type.Integer({ description: 'Of the output.', examples: [0] }),
  prices: Nullable(Prices),
  cost_credits: Credits,
  markup_credits: Credits,
  credits_used: Credits,
  balance_before: NullableCredits,
  balance_after: NullableCredits,
  estimated: Type.Boolean({ description: 'The provider did not report what was used.' }),
  latency_ms: Nullable(Type.Integer({ examples: [1_200] })),
  first_token_ms: Nullable(Type.Integer({ examples: [310] })),
  ignored_fields: Type.Array(Type.String(), {
    description: 'Fields of the request that nobody could do.',
  }),
})

function sourceOf({ endpoint }: Call): (typeof CALL_SOURCES)[number] {
  return endpoint?.startsWith('/account/playground/') ? 'playground' : 'api'
}

export function presentCall(call: Call) {
  return {
    id: call.id,
    created_at: call.created_at.toISOString(),
    status: call.status,
    error_code: call.error_code,
    model: call.model,
    upstream_model: upstreamModelOf(call),
    endpoint: call.endpoint,
    source: sourceOf(call),
    stream: call.stream,
    billing_mode: call.billing_mode,
    user_id: call.wallet_id,
    key_id: call.key_id,
    client_id: call.client_id,
    external_user_id: call.external_user_id,
    request_id: call.request_id && `req_${call.request_id.replaceAll('-', '')}`,
    input_tokens: call.input_tokens,
    cached_input_tokens: call.cached_input_tokens,
    cache_write_tokens: call.cache_write_tokens,
    output_tokens: call.output_tokens,
    reasoning_tokens: call.reasoning_tokens,
    prices: pricesOf(call),
    cost_credits: call.cost_credits,
    markup_credits: call.markup_credits,
    credits_used: call.credits_used,
    balance_before: nullableCredits(call.balance_before),
    balance_after: nullableCredits(call.balance_after),
    estimated: call.estimated,
    latency_ms: call.latency_ms,
    first_token_ms: call.first_token_ms,
    ignored_fields: ignoredFieldsOf(call),
  }
}

/** Everything that is one value; prices have a column each. */
export const CSV_COLUMNS = Object.keys(CallDescription.properties).flatMap((name) =>
  name === 'prices' ? Object.keys(Prices.properties).map((price) => `${price}_price`) : [name],
)

export function callCells(call: Call): Cell[] {
  const { prices, ignored_fields, ...values } = presentCall(call)
  const cells: Record<string, Cell> = { ...values, ignored_fields: ignored_fields.join(' ') }
  for (const [name, price] of Object.entries(prices ?? {})) cells[`${name}_price`] = price
  return CSV_COLUMNS.map((column) => cells[column] ?? null)
}
