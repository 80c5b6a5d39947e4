// /account/sessions: where an account is signed in, and ending that.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { sessionOf } from '../http/access.ts'
import { Id, Page, PageQuery, Success, Timestamp } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import { setSessionCookie } from '../http/session-cookie.ts'
import { clientOf } from './client.ts'
import type { LastSeen } from './last-seen.ts'
import {
  endOwnSession,
  endOwnSessions,
  listOwnSessions,
  type OwnSession,
  type OwnSessionParts,
} from './sessions.ts'

export type SessionRouteParts = OwnSessionParts & { last_seen: LastSeen; secure_cookies: boolean }

const TAGS = ['Accounts']

const SessionDescription = Type.Object({
  id: Id,
  created_at: Timestamp,
  last_seen_at: Timestamp,
  expires_at: Timestamp,
  place: Type.String({
    description: 'The range of the address it was opened from.',
    examples: ['203.0.113.0/24'],
  }),
  device: Type.String({ examples: ['Chrome on Windows'] }),
  current: Type.Boolean({ description: 'The session that asks.' }),
})

export function sessionListRoutes(app: App, parts: SessionRouteParts): void {
  app.get(
    '/account/sessions',
    {
      config: { access: 'session', errors: ['bad_request'] },
      schema: {
        tags: TAGS,
        operationId: 'list_sessions',
        summary: 'List sessions',
        description:
          'Where you are signed in, newest first. `last_seen_at` is right to the minute.',
        querystring: PageQuery,
        response: { 200: Page(SessionDescription) },
      },
    },
    async (request) => {
      const { cursor, limit } = request.query
      const page = await listOwnSessions(parts, sessionOf(request), { cursor, limit })
      return { ...page, data: page.data.map(presentSession) }
    },
  )
  app.delete(
    '/account/sessions/:id',
    {
      config: { access: 'session', errors: ['not_found'] },
      schema: {
        tags: TAGS,
        operationId: 'end_session',
        summary: 'End a session',
        description: 'Takes effect at once, on every machine within a second.',
        params: Type.Object({ id: Type.String({ maxLength: 200 }) }),
        response: { 200: Success },
      },
    },
    async (request, reply) => {
      const owner = ownerOf(request)
      await endOwnSession(parts, owner, request.params.id)
      if (request.params.id === owner.session_id) forgetCookie(parts, reply)
      return { success: true as const }
    },
  )
  app.delete(
    '/account/sessions',
    {
      config: { access: 'session', errors: ['bad_request'] },
      schema: {
        tags: TAGS,
        operationId: 'end_sessions',
        summary: 'Sign out everywhere',
        description: 'Ends every session but the one that asks; with `current=true` that one too.',
        querystring: Type.Object({ current: Type.Boolean({ default: false }) }),
        response: {
          200: Type.Object({
            success: Type.Literal(true),
            ended: Type.Integer({ description: 'How many sessions ended.', examples: [2] }),
          }),
        },
      },
    },
    async (request, reply) => {
      const { current } = request.query
      const ended = await endOwnSessions(parts, ownerOf(request), { current })
      if (current) forgetCookie(parts, reply)
      return { success: true as const, ended }
    },
  )
}

function ownerOf(request: FastifyRequest) {
  const { account_id, session_id } = sessionOf(request)
  return { account_id, session_id, client: clientOf(request) }
}

function forgetCookie({ secure_cookies }: SessionRouteParts, reply: FastifyReply): void {
  setSessionCookie(reply, { token: '', max_age_s: 0, secure: secure_cookies })
}

function presentSession(session: OwnSession) {
  return {
    ...session,
    created_at: session.created_at.toISOString(),
    last_seen_at: session.last_seen_at.toISOString(),
    expires_at: session.expires_at.toISOString(),
  }
}
