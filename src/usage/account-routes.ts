// /account: who one is, what one has, how far one has come, and when one wants to be told that it runs low.

import { Type } from 'typebox'
import { PROVIDERS, type Provider } from '../catalog/models.ts'
import { sessionOf } from '../http/access.ts'
import {
  Credits,
  Id,
  Nullable,
  NullableCredits,
  nullableCredits,
  Timestamp,
} from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import type { Db } from '../platform/db.ts'
import { CREDITS_MAX } from '../platform/money.ts'
import { readAccount, setLowBalance } from './account.ts'
import type { AccountOverviewRow } from './account-store.ts'

export const MODES = ['sandbox', 'live'] as const
const Step = Type.Boolean()

const AccountDescription = Type.Object({
  id: Id,
  email: Type.String({ examples: ['ada@example.com'] }),
  email_verified: Type.Boolean(),
  balance: Credits,
  held: Type.Unsafe<bigint>({
    type: 'integer',
    description: 'Reserved by calls that are running.',
    examples: [0],
  }),
  available: Credits,
  promotional: Type.Unsafe<bigint>({
    type: 'integer',
    description: 'The part of the balance that nobody paid for. It is spent first.',
    examples: [100],
  }),
  is_operator: Type.Boolean({ examples: [false] }),
  came_from: Type.Enum(['registration', 'consent'], {
    description: '`consent`: registered on the way to an app that asked for consent.',
  }),
  low_balance_credits: NullableCredits,
  created_at: Timestamp,
  mode: Type.Enum([...MODES], {
    description: '`sandbox`: what has no credential is a stand-in, and no money moves there.',
  }),
  onboarding: Type.Object(
    {
      verify_email: Step,
      create_key: Step,
      first_call: Step,
      top_up: Step,
      register_app: Step,
      add_webhook: Step,
      connect_payouts: Step,
    },
    { description: 'The steps of a first run, and whether each is done.' },
  ),
  service: Type.Object(
    {
      public_url: Type.String({ examples: ['https://svc.example'] }),
      currency: Type.Literal('usd'),
      credits_per_usd: Type.Integer({ examples: [1_000_000] }),
      topup: Nullable(
        Type.Object(
          {
            min_usd: Type.Integer({ examples: [5] }),
            max_usd: Type.Integer({ examples: [1_000] }),
            suggested_usd: Type.Array(Type.Integer({ examples: [20] })),
          },
          { description: 'What one top-up may cost. null: nobody can top up here.' },
        ),
      ),
      providers: Type.Array(Type.Enum([...PROVIDERS]), {
        description: 'Those whose models can be called here.',
      }),
    },
    { description: 'What is the same for every account.' },
  ),
})

/** What the pages of an account have to know of the service. */
export type ServiceDescription = {
  mode: (typeof MODES)[number]
  service: {
    public_url: string
    currency: 'usd'
    credits_per_usd: number
    topup: { min_usd: number; max_usd: number; suggested_usd: number[] } | null
    providers: Provider[]
  }
}

export function accountRoutes(app: App, parts: { db: Db; described: ServiceDescription }): void {
  const present = (row: AccountOverviewRow) => ({ ...presentAccount(row), ...parts.described })
  app.get(
    '/account',
    {
      config: { access: 'session', errors: ['user_not_found'] },
      schema: {
        tags: ['Accounts'],
        operationId: 'account',
        summary: 'The account and its wallet',
        response: { 200: AccountDescription },
      },
    },
    async (request) => present(await readAccount(parts.db, sessionOf(request).account_id)),
  )
  app.patch(
    '/account',
    {
      config: { access: 'session', errors: ['user_not_found'] },
      schema: {
        tags: ['Accounts'],
        operationId: 'change_account',
        summary: 'Say when to be told of a low balance',
        description:
          'A mail goes out each time the balance falls below it, once for each time. `null`: never.',
        body: Type.Object({
          low_balance_credits: Nullable(
            Type.Integer({ minimum: 1, maximum: Number(CREDITS_MAX), examples: [500_000] }),
          ),
        }),
        response: { 200: AccountDescription },
      },
    },
    async (request) => {
      const { account_id } = sessionOf(request)
      const { low_balance_credits: credits } = request.body
      await setLowBalance(parts.db, account_id, credits === null ? null : BigInt(credits))
      return present(await readAccount(parts.db, account_id))
    },
  )
}

function presentAccount(row: AccountOverviewRow) {
  return {
    id: row.id,
    email: row.email,
    email_verified: row.email_verified,
    balance: row.balance,
    held: row.held,
    available: row.available,
    promotional: row.promotional,
    is_operator: row.is_operator,
    came_from: row.came_from,
    low_balance_credits: nullableCredits(row.low_balance_credits),
    created_at: row.created_at.toISOString(),
    onboarding: {
      verify_email: row.email_verified,
      create_key: row.created_key,
      first_call: row.made_call,
      top_up: row.topped_up,
      register_app: row.registered_app,
      add_webhook: row.added_webhook,
      connect_payouts: row.connected_payouts,
    },
  }
}
