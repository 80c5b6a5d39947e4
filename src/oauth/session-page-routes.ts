// /oauth/sessions and /oauth/events for people. Programs use /account/sessions and /account/events.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { requireAccount } from '../accounts/accounts.ts'
import type { LastSeen } from '../accounts/last-seen.ts'
import { listOwnEvents } from '../accounts/security-log/security-log.ts'
import {
  clientOf,
  endOwnSession,
  endOwnSessions,
  listOwnSessions,
  type OwnSessionParts,
} from '../accounts/sessions.ts'
import { sendFormPage } from '../http/page.ts'
import type { App } from '../http/server.ts'
import { ApiError } from '../platform/errors.ts'
import { proveForm } from './consent.ts'
import { type PageParts, requireViewerForm, viewerOf } from './page-session.ts'
import { type Parameters, readParameters } from './parameters.ts'
import { renderEvents, renderSessions } from './sessions-page.ts'

export type SessionPageParts = PageParts & OwnSessionParts & { last_seen: LastSeen }

const PAGE_SIZE = 50

/** What is said after a form was done, by the word in the address. */
const DONE = new Map([
  ['ended', 'That session has ended.'],
  ['others', 'You are signed out everywhere else.'],
])

export function sessionPageRoutes(app: App, parts: SessionPageParts): void {
  const config = { access: 'public', page: true } as const
  const shown = { config, schema: { hide: true } }
  const form = { config: { ...config, accepts_form: true }, schema: { hide: true } }
  app.get('/oauth/sessions', shown, (request, reply) => showSessions(parts, { request, reply }))
  app.get('/oauth/events', shown, (request, reply) => showEvents(parts, { request, reply }))
  app.post('/oauth/sessions/end', form, (request, reply) =>
    withOwner(parts, { request, reply }, async (owner, fields) => {
      await endOwnSession(parts, owner, fields.require('session_id')).catch(unlessGone)
      return 'ended'
    }),
  )
  app.post('/oauth/sessions/end-others', form, (request, reply) =>
    withOwner(parts, { request, reply }, async (owner) => {
      await endOwnSessions(parts, owner, { current: false })
      return 'others'
    }),
  )
}

type Exchange = { request: FastifyRequest; reply: FastifyReply }

async function showSessions(
  parts: SessionPageParts,
  { request, reply }: Exchange,
): Promise<FastifyReply> {
  const owner = ownerOf(request)
  if (!owner) return reply.redirect('/oauth/login', 302)
  const query = readParameters(request.query)
  const wanted = { cursor: query.read('cursor'), limit: PAGE_SIZE }
  const [account, page] = await Promise.all([
    requireAccount(parts.db, owner.account_id),
    listOwnSessions(parts, owner, wanted),
  ])
  const body = renderSessions({
    email: account.email,
    csrf: proveForm(owner.viewer.session_token, 'sessions', parts.clock.now()),
    sessions: page.data,
    next_cursor: page.next_cursor,
    notice: DONE.get(query.read('done') ?? ''),
  })
  return sendFormPage(reply, body)
}

async function showEvents(
  parts: SessionPageParts,
  { request, reply }: Exchange,
): Promise<FastifyReply> {
  const owner = ownerOf(request)
  if (!owner) return reply.redirect('/oauth/login', 302)
  const cursor = readParameters(request.query).read('cursor')
  const page = await listOwnEvents(parts, owner, { cursor, limit: PAGE_SIZE })
  return sendFormPage(reply, renderEvents({ events: page.data, next_cursor: page.next_cursor }))
}

type Owner = NonNullable<ReturnType<typeof ownerOf>>

function ownerOf(request: FastifyRequest) {
  const viewer = viewerOf(request)
  const { principal } = request
  if (!viewer || principal?.kind !== 'session') return undefined
  const { account_id, session_id } = principal
  return { account_id, session_id, client: clientOf(request), viewer }
}

/** `work` answers the word for what was done. */
async function withOwner(
  parts: SessionPageParts,
  { request, reply }: Exchange,
  work: (owner: Owner, fields: Parameters) => Promise<string>,
): Promise<FastifyReply> {
  const owner = ownerOf(request)
  if (!owner) return reply.redirect('/oauth/login', 303)
  const fields = readParameters(request.body)
  const { viewer } = owner
  requireViewerForm(parts, request, { csrf: fields.read('csrf'), viewer, subject: 'sessions' })
  return reply.redirect(`/oauth/sessions?done=${await work(owner, fields)}`, 303)
}

/** It ended meanwhile: what was wanted is so. */
function unlessGone(error: unknown): void {
  if (!(error instanceof ApiError && error.code === 'not_found')) throw error
}
