// /developers/apps

import { type Static, Type } from 'typebox'
import { requireRecentProof } from '../accounts/step-up.ts'
import { sessionOf } from '../http/access.ts'
import { Id, Nullable, Page, PageQuery, Success, Text, Timestamp } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import { ApiError } from '../platform/errors.ts'
import { actorOf } from './actor.ts'
import type { AppRow } from './app-store.ts'
import { countAppUsers } from './app-users-store.ts'
import {
  type AppParts,
  changeApp,
  createApp,
  deleteApp,
  listOwnApps,
  previousSecretEnd,
  readApp,
  rotateSecret,
} from './apps.ts'
import { SCOPES } from './scopes.ts'

const TAGS = ['Apps']

const Name = Text({
  min: 1,
  max: 100,
  description: 'Users read it when they are asked for consent.',
  examples: ['Poem Machine'],
})
const RedirectUris = Type.Array(Type.String({ maxLength: 4096 }), {
  description:
    'Where users return to: https://, or http://localhost and http://127.0.0.1 with any port. Compared exactly.',
  examples: [['https://app.example.com/callback', 'http://localhost:3000/callback']],
})
const AllowedScopes = Type.Array(Type.Enum([...SCOPES]), {
  description: 'The most that the app may ask for.',
  uniqueItems: true,
  minItems: 1,
  examples: [['credits.read', 'credits.spend']],
})
const MarkupPercent = Type.Number({
  minimum: 0,
  maximum: 100,
  description:
    'What you earn on top of the price of each call that a user pays for; two decimals. Users see it.',
  examples: [20],
})

const RequireExternalUserId = Type.Boolean({
  description:
    'With hosted storage: POST /oauth/token makes a link only if it carries the `external_user_id`. Recommended.',
  examples: [true],
})

const AppDescription = Type.Object({
  id: Id,
  name: Name,
  client_id: Type.String({ examples: ['svc_client_2f6f0d1c5a10'] }),
  redirect_uris: RedirectUris,
  allowed_scopes: AllowedScopes,
  markup_percent: MarkupPercent,
  require_external_user_id: RequireExternalUserId,
  previous_secret_expires_at: Nullable(Timestamp),
  suspended_at: Nullable(Timestamp),
  suspended_reason: Nullable(Type.String()),
  created_at: Timestamp,
})

const AppWithUsers = Type.Object({
  ...AppDescription.properties,
  connected_users: Type.Integer({
    description: 'Who would lose the connection if the app were deleted; counted up to 10,000.',
    examples: [12],
  }),
})

const AppWithSecret = Type.Object({
  ...AppDescription.properties,
  client_secret: Type.String({
    description: 'Shown once, stored nowhere.',
    examples: ['svc_secret_7c1a7b3e9d7e'],
  }),
})

const NewApp = Type.Object({
  name: Name,
  redirect_uris: RedirectUris,
  allowed_scopes: Type.Optional(AllowedScopes),
  markup_percent: Type.Optional(MarkupPercent),
  require_external_user_id: Type.Optional(RequireExternalUserId),
})

const AppChange = Type.Partial(NewApp)

/** May be left out. */
const Rotation = Nullable(
  Type.Object({
    overlap_hours: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 72,
        description:
          'How long the secret before stays good beside the new one. 0, as without it: it ends at once.',
        examples: [24],
      }),
    ),
  }),
)
const AppParams = Type.Object({ id: Type.String() })

export function appRoutes(app: App, parts: AppParts): void {
  app.post(
    '/developers/apps',
    {
      config: { access: 'session', errors: ['invalid_request'] },
      schema: {
        tags: TAGS,
        operationId: 'create_app',
        summary: 'Register an app',
        description:
          'An OAuth client: with it, users sign in and pay for calls with their own credits.',
        body: NewApp,
        response: { 201: AppWithSecret },
      },
    },
    async (request, reply) => {
      const { name, redirect_uris, allowed_scopes, markup_percent = 0 } = request.body
      const { require_external_user_id = false } = request.body
      const wanted = {
        name,
        redirect_uris,
        allowed_scopes,
        markup_bps: toBasisPoints(markup_percent),
        require_external_user_id,
      }
      const owner = { developer_id: sessionOf(request).account_id, actor: actorOf(request) }
      const created = await createApp(parts, wanted, owner)
      reply.code(201)
      return { ...presentApp(parts, created.app), client_secret: created.client_secret }
    },
  )
  app.get(
    '/developers/apps',
    {
      config: { access: 'session', errors: ['bad_request'] },
      schema: {
        tags: TAGS,
        operationId: 'list_apps',
        summary: 'List apps',
        description: 'Newest first, without secrets.',
        querystring: PageQuery,
        response: { 200: Page(AppDescription) },
      },
    },
    async (request) => {
      const { cursor, limit } = request.query
      const page = await listOwnApps(parts, sessionOf(request).account_id, { cursor, limit })
      return { ...page, data: page.data.map((row) => presentApp(parts, row)) }
    },
  )
  oneAppRoutes(app, parts)
}

function oneAppRoutes(app: App, parts: AppParts): void {
  const config = { access: 'session', errors: ['not_found'] } as const
  app.get(
    '/developers/apps/:id',
    {
      config,
      schema: {
        tags: TAGS,
        operationId: 'read_app',
        summary: 'One app',
        params: AppParams,
        response: { 200: AppWithUsers },
      },
    },
    async (request) => {
      const found = await readApp(parts.db, owned(request))
      const connected_users = await countAppUsers(parts.db, found.id)
      return { ...presentApp(parts, found), connected_users }
    },
  )
  app.patch(
    '/developers/apps/:id',
    {
      config: { access: 'session', errors: ['not_found', 'invalid_request'] },
      schema: {
        tags: TAGS,
        operationId: 'change_app',
        summary: 'Change an app',
        description:
          'Takes effect at once, also for tokens that were issued before. Only a higher markup holds for nobody until they have seen and allowed it.',
        params: AppParams,
        body: AppChange,
        response: { 200: AppDescription },
      },
    },
    async (request) =>
      presentApp(parts, await changeApp(parts, owned(request), readChange(request.body))),
  )
  app.post(
    '/developers/apps/:id/rotate-secret',
    {
      config: { access: 'session', errors: ['not_found', 'forbidden', 'bad_request'] },
      schema: {
        tags: TAGS,
        operationId: 'rotate_secret',
        summary: 'Replace the client secret',
        description:
          'The old one stops working at once, or after the overlap. Tokens stay good. The session must have proved its owner within 15 minutes.',
        params: AppParams,
        body: Rotation,
        response: { 200: AppWithSecret },
      },
    },
    async (request) => {
      requireRecentProof(parts, sessionOf(request))
      const { app: row, client_secret } = await rotateSecret(parts, owned(request), {
        overlap_hours: request.body?.overlap_hours ?? 0,
        actor: actorOf(request),
      })
      return { ...presentApp(parts, row), client_secret }
    },
  )
  app.delete(
    '/developers/apps/:id',
    {
      config,
      schema: {
        tags: TAGS,
        operationId: 'delete_app',
        summary: 'Delete an app',
        description: 'Every grant, token and link of it ends, and every key bound to it.',
        params: AppParams,
        response: { 200: Success },
      },
    },
    async (request) => {
      await deleteApp(parts, owned(request), actorOf(request))
      return { success: true as const }
    },
  )
}

function owned(request: Parameters<typeof sessionOf>[0] & { params: { id: string } }) {
  return { developer_id: sessionOf(request).account_id, id: request.params.id }
}

function readChange(body: Static<typeof AppChange>) {
  const { markup_percent, ...rest } = body
  return {
    ...rest,
    ...(markup_percent !== undefined && { markup_bps: toBasisPoints(markup_percent) }),
  }
}

/** Hundredths of a percent; 12.345 is refused, not rounded. */
function toBasisPoints(percent: number): number {
  const basis_points = Math.round(percent * 100)
  if (basis_points / 100 === percent) return basis_points
  throw new ApiError('bad_request', {
    message: 'body.markup_percent has more than two decimals.',
    param: 'markup_percent',
  })
}

function presentApp({ clock }: AppParts, row: AppRow) {
  return {
    id: row.id,
    name: row.name,
    client_id: row.client_id,
    redirect_uris: row.redirect_uris,
    allowed_scopes: row.allowed_scopes,
    markup_percent: row.markup_bps / 100,
    require_external_user_id: row.require_external_user_id,
    previous_secret_expires_at: previousSecretEnd(row, clock.now())?.toISOString() ?? null,
    suspended_at: row.suspended_at?.toISOString() ?? null,
    suspended_reason: row.suspended_reason,
    created_at: row.created_at.toISOString(),
  }
}
