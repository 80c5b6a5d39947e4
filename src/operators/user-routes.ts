// /operator/users: finding people, seeing how an account stands, and what can be done to it.

import { Type } from 'typebox'
import { Credits, Id, Page, PageQuery, Timestamp } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import { ApiError } from '../platform/errors.ts'
import { CREDITS_MAX } from '../platform/money.ts'
import { endSessions, type OperatorParts, resume, suspend } from './accounts.ts'
import {
  actorOf,
  Changed,
  IdempotencyKey,
  LIST,
  READ,
  Reason,
  requireUserId,
  sendAnswer,
  TAGS,
  Why,
  write,
} from './actor.ts'
import { giveCreditsOnce } from './grants.ts'
import { limitKey } from './keys.ts'
import { searchUsers } from './search.ts'
import { readUserPage } from './user-page.ts'
import {
  presentUser,
  presentUserPage,
  SearchText,
  User,
  UserDetails,
  UserId,
} from './user-schemas.ts'

const LIMIT_MAX = 1_000_000

export function userRoutes(app: App, parts: OperatorParts): void {
  app.get(
    '/operator/users',
    {
      config: { ...LIST, errors: ['bad_request', 'invalid_email'] },
      schema: {
        tags: TAGS,
        operationId: 'operator_list_users',
        summary: 'Find accounts',
        description:
          'By the whole id or the beginning of the address, then sorted by address; without `query` all, newest first.',
        querystring: Type.Object({ ...PageQuery.properties, query: Type.Optional(SearchText) }),
        response: { 200: Page(User) },
      },
    },
    async (request) => {
      const { query = '', cursor, limit } = request.query
      const page = await searchUsers(parts.db, { query: query.trim(), cursor, limit })
      return { ...page, data: page.data.map(presentUser) }
    },
  )
  app.get(
    '/operator/users/:id',
    {
      config: { ...READ, errors: ['user_not_found'] },
      schema: {
        tags: TAGS,
        operationId: 'operator_read_user',
        summary: 'See an account',
        params: UserId,
        response: { 200: UserDetails },
      },
    },
    async (request) => presentUserPage(await readUserPage(parts, requireUserId(request.params.id))),
  )
  standingRoutes(app, parts)
  grantRoutes(app, parts)
}

function standingRoutes(app: App, parts: OperatorParts): void {
  app.post(
    '/operator/users/:id/suspend',
    {
      config: write('user_not_found'),
      schema: {
        tags: TAGS,
        operationId: 'operator_suspend_user',
        summary: 'Suspend an account',
        description:
          'Nothing new starts with its credentials, nor through its apps and keys, on every machine within a second; calls that run are finished. Whoever shows such a credential reads the reason, and the owner is told by mail: write it for them.',
        params: UserId,
        body: Why,
        response: { 200: Changed },
      },
    },
    async (request) => {
      const by = await actorOf(parts, request, request.body.reason)
      const id = requireUserId(request.params.id)
      if (id === by.operator_id) throw yourself()
      return { changed: await suspend(parts, id, by) }
    },
  )
  app.post(
    '/operator/users/:id/resume',
    {
      config: write('user_not_found'),
      schema: {
        tags: TAGS,
        operationId: 'operator_resume_user',
        summary: 'Resume an account',
        description: 'As it was before it was suspended.',
        params: UserId,
        body: Why,
        response: { 200: Changed },
      },
    },
    async (request) => {
      const by = await actorOf(parts, request, request.body.reason)
      return { changed: await resume(parts, requireUserId(request.params.id), by) }
    },
  )
  app.post(
    '/operator/users/:id/end-sessions',
    {
      config: write('user_not_found'),
      schema: {
        tags: TAGS,
        operationId: 'operator_end_sessions',
        summary: 'Sign an account out everywhere',
        description: 'Keys and apps stay.',
        params: UserId,
        body: Why,
        response: { 200: Type.Object({ sessions: Type.Integer({ examples: [2] }) }) },
      },
    },
    async (request) => {
      const by = await actorOf(parts, request, request.body.reason)
      return { sessions: await endSessions(parts, requireUserId(request.params.id), by) }
    },
  )
  app.patch(
    '/operator/users/:id/keys/:key_id',
    {
      config: write(),
      schema: {
        tags: TAGS,
        operationId: 'operator_limit_key',
        summary: 'Set the rate limit of an API key',
        description: 'Takes effect within a second.',
        params: Type.Object({ id: Type.String(), key_id: Type.String() }),
        body: Type.Object({
          rate_limit_per_minute: Type.Integer({ minimum: 1, maximum: LIMIT_MAX, examples: [600] }),
          reason: Reason,
        }),
        response: {
          200: Type.Object({
            id: Id,
            name: Type.String({ examples: ['server'] }),
            rate_limit_per_minute: Type.Integer({ examples: [600] }),
          }),
        },
      },
    },
    async (request) => {
      const { rate_limit_per_minute: per_minute, reason } = request.body
      const { id: account_id, key_id: id } = request.params
      const by = await actorOf(parts, request, reason)
      const { name } = await limitKey(parts, { id, per_minute, account_id }, by)
      return { id, name, rate_limit_per_minute: per_minute }
    },
  )
}

function grantRoutes(app: App, parts: OperatorParts): void {
  app.post(
    '/operator/users/:id/grant',
    {
      config: write('user_not_found'),
      schema: {
        tags: TAGS,
        operationId: 'operator_grant',
        summary: 'Give credits',
        description:
          'A present (promotional), or with `paid` credits that were paid for elsewhere. Safe to repeat: the same `Idempotency-Key` with the same body gives once and gets the same answer, with `Idempotent-Replayed: true`. An answer that is an error is not remembered.',
        params: UserId,
        headers: IdempotencyKey,
        body: Type.Object({
          credits: Type.Integer({ minimum: 1, maximum: Number(CREDITS_MAX), examples: [500_000] }),
          paid: Type.Boolean({ default: false, description: 'They were paid for elsewhere.' }),
          reason: Reason,
        }),
        response: {
          200: Type.Object({
            id: Id,
            credits: Credits,
            paid: Type.Boolean({ examples: [false] }),
            balance_before: Credits,
            balance_after: Credits,
            created_at: Timestamp,
          }),
        },
      },
    },
    async (request, reply) => {
      const { credits, paid, reason } = request.body
      const by = await actorOf(parts, request, reason)
      const wanted = { account_id: requireUserId(request.params.id), credits, paid }
      const idempotency_key = request.headers['idempotency-key']
      return sendAnswer(reply, await giveCreditsOnce(parts, wanted, { ...by, idempotency_key }))
    },
  )
}

function yourself(): ApiError {
  return new ApiError('bad_request', {
    message: 'This is your own account.',
    hint: 'Another operator can suspend it, or `svc account suspend`.',
  })
}
