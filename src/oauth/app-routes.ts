// /developers/apps

import type { Static } from 'typebox'
import { requireRecentProof } from '../accounts/step-up.ts'
import { sessionOf } from '../http/access.ts'
import { Page, PageQuery, Success } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import { ApiError } from '../platform/errors.ts'
import { actorOf } from './actor.ts'
import {
  AppChange,
  AppDescription,
  AppParams,
  AppWithSecret,
  AppWithUsers,
  NewApp,
  RegisteredApp,
  Rotation,
} from './app-schemas.ts'
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

const TAGS = ['Apps']

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
          'An OAuth client: with it, users sign in and pay for calls with their own credits. A `browser` or `native` app gets no secret.',
        body: NewApp,
        response: { 201: RegisteredApp },
      },
    },
    async (request, reply) => {
      const { name, redirect_uris, allowed_scopes, markup_percent = 0 } = request.body
      const { require_external_user_id = false, client_type = 'web_server' } = request.body
      const { origins = [], device_grant = false } = request.body
      const wanted = {
        name,
        client_type,
        origins,
        device_grant,
        redirect_uris,
        allowed_scopes,
        markup_bps: toBasisPoints(markup_percent),
        require_external_user_id,
      }
      const owner = { developer_id: sessionOf(request).account_id, actor: actorOf(request) }
      const { app: row, client_secret } = await createApp(parts, wanted, owner)
      reply.code(201)
      return { ...presentApp(parts, row), ...(client_secret !== undefined && { client_secret }) }
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
      config: { access: 'session', errors: ['not_found', 'invalid_request', 'bad_request'] },
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
    client_type: row.client_type,
    redirect_uris: row.redirect_uris,
    origins: row.origins,
    device_grant: row.device_grant,
    allowed_scopes: row.allowed_scopes,
    markup_percent: row.markup_bps / 100,
    require_external_user_id: row.require_external_user_id,
    previous_secret_expires_at: previousSecretEnd(row, clock.now())?.toISOString() ?? null,
    suspended_at: row.suspended_at?.toISOString() ?? null,
    suspended_reason: row.suspended_reason,
    created_at: row.created_at.toISOString(),
  }
}
