// The forms of /oauth/security. Each changes how somebody signs in, so each needs a proof of the last 15 minutes; without
// one it leads to the step-up page and back.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { requireAccount } from '../accounts/accounts.ts'
import {
  type Added,
  addPasskey,
  beginPasskey,
  beginTotp,
  confirmTotp,
  type Doer,
  type FactorParts,
  listFactors,
  removeFactor,
  renewRecoveryCodes,
} from '../accounts/factors/factors.ts'
import { parseRegistration } from '../accounts/factors/passkey-schemas.ts'
import { isOld } from '../accounts/step-up.ts'
import { sessionOf } from '../http/access.ts'
import { sendFormPage } from '../http/page.ts'
import type { App } from '../http/server.ts'
import { ApiError } from '../platform/errors.ts'
import { proveForm } from './consent.ts'
import { type PageParts, requireViewerForm, viewerOf } from './page-session.ts'
import { readParameters } from './parameters.ts'
import { askerOf, readField } from './second-factor-routes.ts'
import { renderCodes, renderNewApp, renderNewPasskey, renderSecurity } from './security-page.ts'

export type SecurityParts = FactorParts & PageParts

const HOME = '/oauth/security'
const NAME_LENGTH_MAX = 100

/** What is said after a form was done, by the word in the address. */
const DONE = new Map([
  ['added', 'The second factor is added.'],
  ['removed', 'The second factor is removed.'],
])

/** Somebody whose form is theirs, and whose proof is fresh. */
type Visit = { request: FastifyRequest; reply: FastifyReply; doer: Doer; csrf: string }

export function securityPages(app: App, parts: SecurityParts): void {
  const config = { access: 'public', page: true } as const
  const form = { config: { ...config, accepts_form: true }, schema: { hide: true } }
  app.get('/oauth/security', { config, schema: { hide: true } }, (request, reply) =>
    showSecurity(parts, request, reply),
  )
  app.post('/oauth/security/totp', form, (request, reply) =>
    withProof(parts, { request, reply }, async ({ doer, csrf }) => {
      const begun = await beginTotp(parts, doer)
      return sendFormPage(reply, renderNewApp({ csrf, begun }))
    }),
  )
  app.post('/oauth/security/totp/confirm', form, (request, reply) =>
    withProof(parts, { request, reply }, (visit) => confirmApp(parts, visit)),
  )
  app.post('/oauth/security/passkey', form, (request, reply) =>
    withProof(parts, { request, reply }, (visit) => showNewPasskey(parts, visit)),
  )
  app.post('/oauth/security/passkey/add', form, (request, reply) =>
    withProof(parts, { request, reply }, (visit) => createPasskey(parts, visit)),
  )
  app.post('/oauth/security/codes', form, (request, reply) =>
    withProof(parts, { request, reply }, async ({ doer }) =>
      sendFormPage(reply, renderCodes({ codes: await renewRecoveryCodes(parts, doer) })),
    ),
  )
  app.post('/oauth/security/remove', form, (request, reply) =>
    withProof(parts, { request, reply }, async ({ doer }) => {
      await removeFactor(parts, doer, readField(request.body, 'id'))
      return reply.redirect(`${HOME}?done=removed`, 303)
    }),
  )
}

async function showSecurity(
  parts: SecurityParts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const viewer = viewerOf(request)
  if (!viewer) return reply.redirect('/oauth/login', 302)
  const [account, factors] = await Promise.all([
    requireAccount(parts.db, viewer.account_id),
    listFactors(parts.db, viewer.account_id),
  ])
  const page = renderSecurity({
    ...factors,
    email: account.email,
    csrf: proveForm(viewer.session_token, 'security', parts.clock.now()),
    notice: DONE.get(readParameters(request.query).read('done') ?? ''),
  })
  return sendFormPage(reply, page)
}

async function withProof(
  parts: SecurityParts,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  work: (visit: Visit) => Promise<FastifyReply>,
): Promise<FastifyReply> {
  const viewer = viewerOf(request)
  if (!viewer) return reply.redirect('/oauth/login', 303)
  const csrf = readField(request.body, 'csrf')
  requireViewerForm(parts, request, { csrf, viewer, subject: 'security' })
  if (isOld(parts, sessionOf(request))) return reply.redirect('/oauth/step-up?for=security', 303)
  const fresh = proveForm(viewer.session_token, 'security', parts.clock.now())
  return await work({ request, reply, doer: askerOf(request), csrf: fresh })
}

async function confirmApp(parts: SecurityParts, visit: Visit): Promise<FastifyReply> {
  const { request, reply, doer, csrf } = visit
  try {
    const added = await confirmTotp(parts, doer, readField(request.body, 'code'))
    return showAdded(reply, added)
  } catch (error) {
    if (!isWrong(error)) throw error
    return sendFormPage(reply, renderNewApp({ csrf, fault: error.message }), { status: 400 })
  }
}

async function showNewPasskey(
  parts: SecurityParts,
  { reply, doer, csrf }: Visit,
  fault?: string,
): Promise<FastifyReply> {
  const { options } = await beginPasskey(parts, doer)
  const page = renderNewPasskey({ csrf, options, ...(fault !== undefined && { fault }) })
  const status = fault === undefined ? 200 : 400
  return sendFormPage(reply, page, { status, asks_for_passkey: true })
}

async function createPasskey(parts: SecurityParts, visit: Visit): Promise<FastifyReply> {
  const { request, reply, doer } = visit
  const response = parseRegistration(readField(request.body, 'passkey'))
  const typed = readField(request.body, 'name').replaceAll('\u0000', '').trim()
  const name = typed.slice(0, NAME_LENGTH_MAX) || 'Passkey'
  if (!response) return await showNewPasskey(parts, visit, 'The browser sent no passkey.')
  try {
    return showAdded(reply, await addPasskey(parts, doer, { name, response }))
  } catch (error) {
    if (!isWrong(error)) throw error
    return await showNewPasskey(parts, visit, error.message)
  }
}

/** Codes are on this page and no other, so it is not led away from. */
function showAdded(reply: FastifyReply, { factor, recovery_codes }: Added): FastifyReply {
  if (!recovery_codes) return reply.redirect(`${HOME}?done=added`, 303)
  return sendFormPage(reply, renderCodes({ codes: recovery_codes, added: factor }))
}

function isWrong(error: unknown): error is ApiError {
  return error instanceof ApiError && error.param !== undefined
}
