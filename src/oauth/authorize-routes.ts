// /oauth/authorize: an app asks, the user decides, the app gets an answer at its own address.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { requireAccount } from '../accounts/accounts.ts'
import { needsProof, type StepUpParts } from '../accounts/step-up.ts'
import { sessionOf } from '../http/access.ts'
import { sendFormPage, wantsPage } from '../http/page.ts'
import { acceptAll } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import { readBalance } from '../wallet/postings.ts'
import { actorOf } from './actor.ts'
import {
  AuthorizationFault,
  type AuthorizationRequest,
  describeRequest,
  type ReturnAddress,
  readAuthorizationRequest,
  returnAddress,
} from './authorize.ts'
import { capOfForm, proposeCap, readConsentCap, type TypedCap } from './cap-form.ts'
import { isPublic } from './client-types.ts'
import { approve, proveForm } from './consent.ts'
import type { GrantParts } from './grants.ts'
import { type PageParts, requireViewerForm, type Viewer, viewerOf } from './page-session.ts'
import { type ConsentForm, renderConsent } from './pages.ts'
import { readParameters, refusal } from './parameters.ts'
import { loginAddress, stepUpAddress } from './sign-in-routes.ts'
import { findConnection } from './store.ts'

export type AuthorizeParts = GrantParts & PageParts & StepUpParts

// For the documentation; the checks are in authorize.ts.
const AuthorizeQuery = Type.Object({
  client_id: Type.String({ examples: ['svc_client_2f6f0d1c5a10'] }),
  redirect_uri: Type.String({
    description: 'One that the app has registered, exactly.',
    examples: ['https://app.example.com/callback'],
  }),
  response_type: Type.String({ description: 'Only `code`.', examples: ['code'] }),
  code_challenge: Type.String({
    description: 'PKCE: the SHA-256 of your verifier, in base64url.',
    examples: ['E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'],
  }),
  code_challenge_method: Type.Optional(
    Type.String({ description: 'Only `S256`, also if absent.' }),
  ),
  state: Type.Optional(Type.String({ description: 'Comes back as it was.' })),
  scope: Type.Optional(
    Type.String({
      description: 'Some of the app’s `allowed_scopes`; all of them if absent.',
      examples: ['credits.read credits.spend'],
    }),
  ),
  storage_mode: Type.Optional(
    Type.String({ description: '`hosted`: this service keeps the grant under your own user id.' }),
  ),
  external_user_id: Type.Optional(Type.String({ description: 'Your user id; with `hosted`.' })),
  prompt: Type.Optional(Type.String({ description: '`login`, `consent` or `none`.' })),
})

export function authorizeRoutes(app: App, parts: AuthorizeParts): void {
  const config = { access: 'public', page: true } as const
  app.get(
    '/oauth/authorize',
    {
      config: {
        ...config,
        errors: [
          'invalid_request',
          'invalid_client',
          'invalid_scope',
          'unauthorized_client',
          'forbidden',
        ],
        documents: { reply: { 'text/html': { schema: { type: 'string' } } } },
      },
      validatorCompiler: acceptAll,
      schema: {
        tags: ['OAuth'],
        operationId: 'authorize',
        summary: 'Ask a user for consent',
        description:
          'Where an app sends the user’s browser. The user signs in, sees what is asked and what it costs, may set a spending cap, and returns to `redirect_uri` with `code`, `state` and `iss`, or with `error`.',
        querystring: AuthorizeQuery,
      },
    },
    (request, reply) =>
      withFaultsReturned(parts, { request, reply }, () => showConsent(parts, request, reply)),
  )
  app.post(
    '/oauth/authorize',
    {
      config: { ...config, accepts_form: true },
      schema: { hide: true },
    },
    (request, reply) =>
      withFaultsReturned(parts, { request, reply }, () => decide(parts, request, reply)),
  )
}

/** A browser carries the fault to the app; a program that looks at this address gets it as JSON. */
async function withFaultsReturned(
  parts: AuthorizeParts,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  work: () => Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof AuthorizationFault)) throw error
    if (error.cause && !wantsPage(request)) throw error.cause
    const answer = { error: error.code, error_description: error.message }
    return returnToApp(parts, { request, reply }, { to: error.return_to, answer })
  }
}

async function showConsent(
  parts: AuthorizeParts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const asked = await readAuthorizationRequest(parts.db, request.query)
  const viewer = viewerOf(request)
  if (asked.prompt === 'none') throw silentFault(asked, viewer)
  if (!viewer || asked.prompt === 'login') return reply.redirect(loginAddress(request), 302)
  const known = await findConnection(parts.db, {
    account_id: viewer.account_id,
    app_id: asked.app.id,
  })
  return await sendConsent(parts, reply, { asked, viewer, cap: proposeCap(asked.app, known) })
}

async function sendConsent(
  parts: AuthorizeParts,
  reply: FastifyReply,
  shown: { asked: AuthorizationRequest; viewer: Viewer; cap: ConsentForm['cap'] },
): Promise<FastifyReply> {
  const { asked, viewer, cap } = shown
  const [account, wallet, developer] = await Promise.all([
    requireAccount(parts.db, viewer.account_id),
    readBalance(parts.db, viewer.account_id),
    isPublic(asked.app) ? requireAccount(parts.db, asked.app.developer_id) : undefined,
  ])
  const page = renderConsent({
    request: asked,
    query: describeRequest(asked),
    csrf: proveForm(viewer.session_token, asked, parts.clock.now()),
    email: account.email,
    developer_email: developer?.email,
    balance: wallet?.balance ?? 0n,
    cap,
  })
  const status = cap.fault === undefined ? 200 : 400
  return sendFormPage(reply, page, { status, returns_elsewhere: true })
}

async function decide(
  parts: AuthorizeParts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const asked = await readAuthorizationRequest(parts.db, request.query)
  const viewer = viewerOf(request)
  if (!viewer) return reply.redirect(loginAddress(request), 303)
  const form = readParameters(request.body)
  requireViewerForm(parts, request, { csrf: form.read('csrf'), viewer, subject: asked })
  switch (form.read('decision')) {
    case 'deny':
      throw new AuthorizationFault(asked, {
        code: 'access_denied',
        description: 'The user denied the request.',
      })
    case 'allow': {
      const cap = readConsentCap(asked, form)
      if (cap?.fault !== undefined) return await sendConsent(parts, reply, { asked, viewer, cap })
      // Whatever a stolen session may do, it does not get an app to spend everything.
      const is_proved = !needsProof(parts, sessionOf(request))
      if (!is_proved && (await leavesUncapped(parts, { asked, viewer, cap }))) {
        return reply.redirect(stepUpAddress(request), 303)
      }
      const code = await approve(parts, asked, {
        account_id: viewer.account_id,
        cap: cap && capOfForm(cap),
        actor: actorOf(request),
      })
      return returnToApp(parts, { request, reply }, { to: asked, answer: { code } })
    }
    case undefined:
    default:
      throw refusal('decision is allow or deny.')
  }
}

/** Also a form that says nothing of a cap, where there is none yet: no page of ours sends it so. */
async function leavesUncapped(
  parts: AuthorizeParts,
  form: { asked: AuthorizationRequest; viewer: Viewer; cap: TypedCap | undefined },
): Promise<boolean> {
  const { asked, viewer, cap } = form
  if (cap) return cap.credits === null
  if (!asked.scopes.includes('credits.spend')) return false
  const { account_id } = viewer
  const known = await findConnection(parts.db, { account_id, app_id: asked.app.id })
  return (known?.cap_credits ?? null) === null
}

function returnToApp(
  parts: AuthorizeParts,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  given: { to: ReturnAddress; answer: Record<string, string> },
): FastifyReply {
  const address = returnAddress(given.to, { ...given.answer, iss: parts.public_url })
  return reply
    .header('referrer-policy', 'no-referrer')
    .redirect(address, request.method === 'POST' ? 303 : 302)
}

/** `prompt=none` asks for an answer without a page, which consent never gives. */
function silentFault(asked: AuthorizationRequest, viewer: Viewer | undefined): AuthorizationFault {
  return viewer
    ? new AuthorizationFault(asked, {
        code: 'consent_required',
        description: 'The user must be asked each time.',
      })
    : new AuthorizationFault(asked, {
        code: 'login_required',
        description: 'The user is not signed in.',
      })
}
