// A user's connected apps: /account/connections for programs, /oauth/connections for people.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { requireAccount } from '../accounts/accounts.ts'
import { needsProof, requireRecentProof, type StepUpParts } from '../accounts/step-up.ts'
import { sessionOf } from '../http/access.ts'
import { sendFormPage } from '../http/page.ts'
import {
  Credits,
  Nullable,
  NullableCredits,
  nullableCredits,
  Page,
  PageQuery,
  Success,
  Timestamp,
} from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import { CREDITS_MAX } from '../platform/money.ts'
import { readBalance } from '../wallet/postings.ts'
import { actorOf } from './actor.ts'
import { capOfForm, readCap } from './cap-form.ts'
import { CLIENT_TYPES } from './client-types.ts'
import { type Connection, disconnect, listOwnConnections, setOwnCap } from './connections.ts'
import { type CapFault, renderConnections } from './connections-page.ts'
import { proveForm } from './consent.ts'
import type { GrantParts } from './grants.ts'
import { type PageParts, requireViewerForm, type Viewer, viewerOf } from './page-session.ts'
import { type Parameters, readParameters } from './parameters.ts'
import { SCOPES } from './scopes.ts'

export type ConnectionParts = GrantParts & PageParts & StepUpParts

const TAGS = ['Connected apps']
const CAP_PERIODS = ['day', 'month'] as const
const PAGE_SIZE = 50

const ConnectionDescription = Type.Object({
  client_id: Type.String({ examples: ['svc_client_2f6f0d1c5a10'] }),
  name: Type.String({ examples: ['Poem Machine'] }),
  client_type: Type.Enum([...CLIENT_TYPES], {
    description: 'Where the app runs. One without a server (`browser`, `native`) always has a cap.',
    examples: ['web_server'],
  }),
  scopes: Type.Array(Type.Enum([...SCOPES])),
  markup_percent: Type.Number({ examples: [20] }),
  cap_credits: NullableCredits,
  cap_period: Type.Enum([...CAP_PERIODS]),
  spent_credits: Credits,
  period_resets_at: Nullable(Timestamp),
  last_used_at: Nullable(Timestamp),
  external_user_ids: Type.Array(Type.String(), {
    description: 'What the app calls you, where this service keeps the grant.',
  }),
  connected_at: Timestamp,
})

const ClientParams = Type.Object({ client_id: Type.String({ maxLength: 200 }) })

export function connectionRoutes(app: App, parts: ConnectionParts): void {
  app.get(
    '/account/connections',
    {
      config: { access: 'session', errors: ['bad_request'] },
      schema: {
        tags: TAGS,
        operationId: 'list_connections',
        summary: 'List connected apps',
        description:
          'Apps that may use your credits, with what each spent in the period of its cap, or in this month (UTC).',
        querystring: PageQuery,
        response: { 200: Page(ConnectionDescription) },
      },
    },
    async (request) => {
      const { cursor, limit } = request.query
      const page = await listOwnConnections(parts, sessionOf(request).account_id, { cursor, limit })
      return { ...page, data: page.data.map(presentConnection) }
    },
  )
  app.patch(
    '/account/connections/:client_id',
    {
      config: { access: 'session', errors: ['not_found', 'bad_request', 'step_up_required'] },
      schema: {
        tags: TAGS,
        operationId: 'change_connection',
        summary: 'Set the spending cap of an app',
        description:
          'Holds from the next call on. `null` is no cap: it may need a step-up, and is refused for an app without a server.',
        params: ClientParams,
        body: Type.Object({
          cap_credits: Nullable(
            Type.Integer({ minimum: 1, maximum: Number(CREDITS_MAX), examples: [10_000_000] }),
          ),
          cap_period: Type.Enum([...CAP_PERIODS], {
            default: 'month',
            description: 'Days and months are those of UTC.',
          }),
        }),
        response: { 200: Success },
      },
    },
    async (request) => {
      const { cap_credits, cap_period } = request.body
      const credits = cap_credits === null ? null : BigInt(cap_credits)
      if (credits === null) requireRecentProof(parts, sessionOf(request))
      const cap = { cap_credits: credits, cap_period }
      await setOwnCap(parts, owner(request), { cap, actor: actorOf(request) })
      return { success: true as const }
    },
  )
  app.delete(
    '/account/connections/:client_id',
    {
      config: { access: 'session', errors: ['not_found'] },
      schema: {
        tags: TAGS,
        operationId: 'disconnect',
        summary: 'Disconnect an app',
        description: 'Its grants, tokens and links end at once.',
        params: ClientParams,
        response: { 200: Success },
      },
    },
    async (request) => {
      await disconnect(parts, owner(request), actorOf(request))
      return { success: true as const }
    },
  )
  connectionPages(app, parts)
}

function connectionPages(app: App, parts: ConnectionParts): void {
  const config = { access: 'public', page: true } as const
  const form = {
    config: { ...config, accepts_form: true },
    schema: { hide: true },
  }
  app.get('/oauth/connections', { config, schema: { hide: true } }, async (request, reply) => {
    const viewer = viewerOf(request)
    if (!viewer) return reply.redirect('/oauth/login', 302)
    const query = readParameters(request.query)
    return await showConnections(parts, reply, {
      viewer,
      cursor: query.read('cursor'),
      notice: DONE.get(query.read('done') ?? ''),
    })
  })
  app.post('/oauth/connections/cap', form, (request, reply) =>
    withViewer(parts, { request, reply }, async (viewer, fields) => {
      const usd = fields.read('cap_usd') ?? ''
      const kind = fields.read('cap_period') === 'day' ? 'daily' : 'monthly'
      const cap = readCap(usd.trim() === '' ? 'none' : kind, usd)
      const client_id = fields.require('client_id')
      if (cap.fault !== undefined) {
        const fault = { client_id, usd, text: cap.fault }
        return await showConnections(parts, reply, { viewer, fault })
      }
      if (cap.credits === null && needsProof(parts, sessionOf(request))) {
        return reply.redirect('/oauth/step-up?for=connections', 303)
      }
      const change = { cap: capOfForm(cap), actor: actorOf(request) }
      await setOwnCap(parts, { account_id: viewer.account_id, client_id }, change)
      return reply.redirect('/oauth/connections?done=cap', 303)
    }),
  )
  app.post('/oauth/connections/disconnect', form, (request, reply) =>
    withViewer(parts, { request, reply }, async ({ account_id }, fields) => {
      const client_id = fields.require('client_id')
      await disconnect(parts, { account_id, client_id }, actorOf(request))
      return reply.redirect('/oauth/connections?done=disconnected', 303)
    }),
  )
}

/** What is said after a form was done, by the word in the address. */
const DONE = new Map([
  ['cap', 'The cap is changed. It holds from the next call on.'],
  ['disconnected', 'The app is disconnected and can spend nothing more.'],
])

async function withViewer(
  parts: ConnectionParts,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  work: (viewer: Viewer, fields: Parameters) => Promise<FastifyReply>,
): Promise<FastifyReply> {
  const viewer = viewerOf(request)
  if (!viewer) return reply.redirect('/oauth/login', 303)
  const fields = readParameters(request.body)
  requireViewerForm(parts, request, { csrf: fields.read('csrf'), viewer, subject: 'connections' })
  return await work(viewer, fields)
}

async function showConnections(
  parts: ConnectionParts,
  reply: FastifyReply,
  shown: {
    viewer: Viewer
    cursor?: string | undefined
    notice?: string | undefined
    fault?: CapFault
  },
): Promise<FastifyReply> {
  const { viewer, cursor, notice, fault } = shown
  const { account_id, session_token } = viewer
  const [account, wallet, page] = await Promise.all([
    requireAccount(parts.db, account_id),
    readBalance(parts.db, account_id),
    listOwnConnections(parts, account_id, { cursor, limit: PAGE_SIZE }),
  ])
  const body = renderConnections({
    email: account.email,
    balance: wallet?.balance ?? 0n,
    csrf: proveForm(session_token, 'connections', parts.clock.now()),
    connections: page.data,
    next_cursor: page.next_cursor,
    notice,
    fault,
  })
  return sendFormPage(reply, body, { status: fault ? 400 : 200 })
}

function owner(request: FastifyRequest<{ Params: { client_id: string } }>) {
  return { account_id: sessionOf(request).account_id, client_id: request.params.client_id }
}

function presentConnection(connection: Connection) {
  return {
    client_id: connection.client_id,
    name: connection.name,
    client_type: connection.client_type,
    scopes: connection.scopes,
    markup_percent: connection.markup_bps / 100,
    cap_credits: nullableCredits(connection.cap_credits),
    cap_period: connection.cap_period,
    spent_credits: connection.spent_credits,
    period_resets_at: connection.period_resets_at?.toISOString() ?? null,
    last_used_at: connection.last_used_at?.toISOString() ?? null,
    external_user_ids: connection.external_user_ids,
    connected_at: connection.connected_at.toISOString(),
  }
}
