// What operators read of people and apps, as it travels.

import { Type } from 'typebox'
import {
  Credits,
  Id,
  Nullable,
  NullableCredits,
  nullableCredits,
  Text,
  Timestamp,
} from '../http/schemas.ts'
import type { UserPage } from './user-page.ts'
import type { AppRow, UserOfList } from './user-store.ts'

export const SearchText = Text({
  max: 200,
  description:
    'The whole id, or the beginning of the address or name. Without it all, newest first.',
  examples: ['ann@'],
})

export const UserId = Type.Object({
  id: Text({ min: 1, max: 254, description: 'The id of the account.' }),
})

const Email = Type.String({ examples: ['ann@example.com'] })

export const User = Type.Object({
  id: Id,
  email: Email,
  email_verified: Type.Boolean({ examples: [true] }),
  is_operator: Type.Boolean({ examples: [false] }),
  state: Type.Enum(['active', 'suspended', 'closing']),
  balance_credits: NullableCredits,
  created_at: Timestamp,
})

export const OperatorApp = Type.Object({
  client_id: Type.String({ examples: ['svc_client_3fJ9'] }),
  name: Type.String({ examples: ['Poem Machine'] }),
  developer_id: Id,
  developer_email: Email,
  markup_percent: Type.Number({ examples: [20] }),
  suspended_at: Nullable(Timestamp),
  suspended_reason: Nullable(Type.String()),
  created_at: Timestamp,
})

const UserKey = Type.Object({
  id: Id,
  name: Type.String({ examples: ['server'] }),
  prefix: Type.String({ examples: ['sk-svc-3fJ9'] }),
  billing_mode: Type.Enum(['developer', 'user']),
  rate_limit_per_minute: Nullable(Type.Integer({ description: 'Null: the limit of all keys.' })),
  last_used_at: Nullable(Timestamp),
  created_at: Timestamp,
})

export const UserDetails = Type.Object({
  ...User.properties,
  held_credits: NullableCredits,
  promotional_credits: NullableCredits,
  suspended_at: Nullable(Timestamp),
  suspended_reason: Nullable(Type.String()),
  closes_at: Nullable(Timestamp),
  last_sign_in_at: Nullable(Timestamp),
  spent_30_days_credits: Type.Unsafe<bigint>({
    type: 'integer',
    description:
      'What the wallet paid for calls on the last 30 days (UTC), to the last second or so.',
    examples: [2_500_000],
  }),
  requests_30_days: Type.Unsafe<bigint>({ type: 'integer', examples: [1204] }),
  counts: Type.Object({
    sessions: Type.Integer({ examples: [1] }),
    keys: Type.Integer({ examples: [2] }),
    apps: Type.Integer({ examples: [1] }),
    connected_apps: Type.Integer({ examples: [3] }),
  }),
  disputes: Type.Object({
    open: Type.Integer({ examples: [0] }),
    lost: Type.Integer({ examples: [0] }),
    open_credits: Credits,
  }),
  payouts: Type.Object({
    connected: Type.Boolean(),
    enabled: Type.Boolean(),
    blocked: Type.Boolean({
      description: 'A transfer came back: `svc payouts unblock` clears it.',
    }),
    disabled_reason: Nullable(Type.String()),
  }),
  keys: Type.Array(UserKey, { description: 'The newest 50.' }),
  apps: Type.Array(OperatorApp, { description: 'The newest 50.' }),
  events: Type.Array(
    Type.Object({
      id: Id,
      kind: Type.String({ examples: ['sign_in'] }),
      at: Timestamp,
      ip: Nullable(Type.String({ examples: ['203.0.113.7'] })),
    }),
    { description: 'The newest 20 of the security log.' },
  ),
})

type Standing = { suspended_at: Date | null; closes_at?: Date | null }

function stateOf({ suspended_at, closes_at = null }: Standing) {
  if (suspended_at) return 'suspended' as const
  return closes_at ? ('closing' as const) : ('active' as const)
}

export function presentUser(row: UserOfList) {
  return {
    id: row.id,
    email: row.email,
    email_verified: row.email_verified_at !== null,
    is_operator: row.is_operator,
    state: stateOf(row),
    balance_credits: nullableCredits(row.balance_credits),
    created_at: row.created_at.toISOString(),
  }
}

export function presentApp(row: AppRow) {
  return {
    client_id: row.client_id,
    name: row.name,
    developer_id: row.developer_id,
    developer_email: row.developer_email,
    markup_percent: row.markup_bps / 100,
    suspended_at: toText(row.suspended_at),
    suspended_reason: row.suspended_reason,
    created_at: row.created_at.toISOString(),
  }
}

export function presentUserPage({ account, money, keys, apps, events }: UserPage) {
  return {
    id: account.id,
    email: account.email,
    email_verified: account.email_verified_at !== null,
    is_operator: account.is_operator,
    state: stateOf(account),
    balance_credits: nullableCredits(account.balance_credits),
    created_at: account.created_at.toISOString(),
    held_credits: nullableCredits(account.held_credits),
    promotional_credits: nullableCredits(account.promotional_credits),
    suspended_at: toText(account.suspended_at),
    suspended_reason: account.suspended_reason,
    closes_at: toText(account.closes_at),
    last_sign_in_at: toText(account.last_sign_in_at),
    spent_30_days_credits: money.spent_30_days_credits,
    requests_30_days: money.requests_30_days,
    counts: {
      sessions: Number(account.sessions),
      keys: Number(account.keys),
      apps: Number(account.apps),
      connected_apps: Number(account.connected_apps),
    },
    disputes: {
      open: Number(money.disputes_open),
      lost: Number(money.disputes_lost),
      open_credits: money.disputed_credits,
    },
    payouts: {
      connected: money.payouts_connected,
      enabled: money.payouts_enabled,
      blocked: money.payouts_blocked,
      disabled_reason: money.payouts_disabled_reason,
    },
    keys: keys.map(presentKey),
    apps: apps.map(presentApp),
    events: events.map((event) => ({ ...event, at: event.at.toISOString() })),
  }
}

function presentKey(key: UserPage['keys'][number]) {
  const { id, name, prefix, rate_limit_per_minute } = key
  const billing_mode = key.billing_mode === 'user' ? ('user' as const) : ('developer' as const)
  const created_at = key.created_at.toISOString()
  const last_used_at = toText(key.last_used_at)
  return { id, name, prefix, billing_mode, rate_limit_per_minute, last_used_at, created_at }
}

export function toText(at: Date | null): string | null {
  return at?.toISOString() ?? null
}
