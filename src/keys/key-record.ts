// A key on the wire: the fields of its record, those that its owner may set, and how they are read and shown.

import { type Static, Type } from 'typebox'
import { Id, Nullable, NullableCredits, nullableCredits, Text, Timestamp } from '../http/schemas.ts'
import { ApiError } from '../platform/errors.ts'
import { CREDITS_MAX } from '../platform/money.ts'
import type { KeyChange } from './changes.ts'
import type { Spending } from './keys.ts'
import { ADDRESS_RANGES_MAX, KEY_ENDPOINTS, type KeyEndpoint, readRanges } from './restrictions.ts'
import type { KeyRow } from './store.ts'

export const BillingMode = Type.Enum(['developer', 'user'], {
  description: 'Who pays: `developer`, or the end `user` who is named with each call.',
})
export const SpendPeriod = Type.Enum(['day', 'month', 'total'])

export const SpendingDescription = {
  spent_period_credits: Nullable(
    Type.Integer({
      description: 'What it spent in the present period of its limit; null without a limit.',
      examples: [120_000],
    }),
  ),
  period_resets_at: Nullable(Timestamp),
}

export const Restrictions = {
  allowed_endpoints: Nullable(
    Type.Array(Type.Enum(KEY_ENDPOINTS), {
      description: 'What it may be used for; null: everything.',
      examples: [['/v1/chat/completions']],
    }),
  ),
  allowed_ips: Nullable(
    Type.Array(Type.String(), {
      description: 'Where it may be used from; null: everywhere.',
      examples: [['203.0.113.0/24']],
    }),
  ),
}

export const KeyDescription = Type.Object({
  id: Id,
  name: Type.String({ examples: ['production'] }),
  billing_mode: BillingMode,
  client_id: Nullable(Type.String({ description: 'The app it is bound to.' })),
  prefix: Type.String({ description: 'The first 12 characters.', examples: ['sk-svc-4fT9x'] }),
  created_at: Timestamp,
  last_used_at: Nullable(Timestamp),
  expires_at: Nullable(Timestamp),
  rate_limit_per_minute: Nullable(Type.Integer()),
  spend_limit_credits: NullableCredits,
  spend_limit_period: Nullable(SpendPeriod),
  ...Restrictions,
  previous_secret_until: Nullable(
    Type.String({
      format: 'date-time',
      description: 'Until when the secret before the last rotation works too; null: it does not.',
    }),
  ),
  ...SpendingDescription,
})

export const IssuedKey = Type.Object({
  key: Type.String({
    description: 'The secret. Shown once, stored nowhere.',
    examples: ['sk-svc-4fT9xQ2mWb7LrK0sVn3EjH5uYc0aBcDe'],
  }),
  ...KeyDescription.properties,
})

export const KeyName = Text({
  min: 1,
  max: 200,
  description: 'For your own eyes.',
  examples: ['production'],
})

/** What can be set at creation and changed later, besides the name. */
export const KeyLimits = {
  expires_at: Type.Optional(
    Nullable(Type.String({ format: 'date-time', description: 'When it stops working. ISO 8601.' })),
  ),
  rate_limit_per_minute: Type.Optional(
    Nullable(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        description: 'At most what the service allows.',
      }),
    ),
  ),
  spend_limit_credits: Type.Optional(
    Nullable(
      Type.Integer({
        minimum: 1,
        maximum: Number(CREDITS_MAX),
        description: 'Calls that would spend more are refused. Needs `spend_limit_period`.',
      }),
    ),
  ),
  spend_limit_period: Type.Optional(Nullable(SpendPeriod)),
  allowed_endpoints: Type.Optional(
    Nullable(
      Type.Array(Type.Enum(KEY_ENDPOINTS), {
        minItems: 1,
        maxItems: KEY_ENDPOINTS.length,
        uniqueItems: true,
        description:
          'The key is refused elsewhere with 403 `forbidden`. Each includes its form for a linked user. `GET /v1/key`, and what needs no key, stays open.',
        examples: [['/v1/chat/completions', '/v1/balance']],
      }),
    ),
  ),
  allowed_ips: Type.Optional(
    Nullable(
      Type.Array(Text({ min: 1, max: 50 }), {
        minItems: 1,
        maxItems: ADDRESS_RANGES_MAX,
        description:
          'Addresses and CIDR ranges, IPv4 or IPv6. From elsewhere the key is refused with 403 `forbidden`.',
        examples: [['203.0.113.0/24', '2001:db8::/48']],
      }),
    ),
  ),
}

const LimitsBody = Type.Object(KeyLimits)

/** Which limits a body asks for: those that it leaves out are absent. */
export function readLimits(body: Static<typeof LimitsBody>, rate_limit_max: number): KeyChange {
  const { expires_at, rate_limit_per_minute, spend_limit_credits: credits } = body
  const { spend_limit_period, allowed_endpoints, allowed_ips } = body
  if ((rate_limit_per_minute ?? 0) > rate_limit_max) {
    throw new ApiError('bad_request', {
      message: `body.rate_limit_per_minute is above ${rate_limit_max}.`,
      hint: 'Ask the operator of this service to raise the limit of a key.',
      param: 'rate_limit_per_minute',
    })
  }
  return {
    ...(expires_at !== undefined && {
      expires_at: expires_at === null ? null : readExpiry(expires_at),
    }),
    ...(rate_limit_per_minute !== undefined && { rate_limit_per_minute }),
    ...(credits !== undefined && {
      spend_limit_credits: credits === null ? null : BigInt(credits),
    }),
    ...(spend_limit_period !== undefined && { spend_limit_period }),
    ...(allowed_endpoints !== undefined && { allowed_endpoints }),
    ...(allowed_ips !== undefined && { allowed_ips: allowed_ips && readRanges(allowed_ips) }),
  }
}

/** Times that the format allows and a calendar does not: leap seconds, years beyond four digits. */
function readExpiry(text: string): Date {
  const at = new Date(text)
  if (!Number.isNaN(at.getTime()) && at.getUTCFullYear() <= 9999) return at
  throw new ApiError('bad_request', {
    message: 'body.expires_at is no time we can keep.',
    hint: 'Send it like 2030-01-31T00:00:00Z.',
    param: 'expires_at',
  })
}

export function presentKey(row: KeyRow & Spending, now: Date) {
  const { account_id: _, previous_secret_until: until, ...rest } = row
  return {
    ...rest,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? null,
    expires_at: row.expires_at?.toISOString() ?? null,
    spend_limit_credits: nullableCredits(row.spend_limit_credits),
    allowed_endpoints: row.allowed_endpoints as KeyEndpoint[] | null,
    previous_secret_until: until && until > now ? until.toISOString() : null,
    ...presentSpending(row),
  }
}

export function presentSpending({ spent_period_credits, period_resets_at }: Spending) {
  return {
    spent_period_credits: nullableCredits(spent_period_credits),
    period_resets_at: period_resets_at?.toISOString() ?? null,
  }
}
