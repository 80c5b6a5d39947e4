// /oauth/second-factor, the second step of a sign-in, and /oauth/step-up, where somebody who is signed in shows again who
// they are. Like the sign-in page they carry the authorize query along and lead to fixed addresses only.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { finishLogin } from '../accounts/accounts.ts'
import { parseAssertion } from '../accounts/factors/passkey-schemas.ts'
import type { GivenProof } from '../accounts/factors/proofs.ts'
import { readSecondStep } from '../accounts/factors/second-step.ts'
import { clientOf } from '../accounts/sessions.ts'
import { askStepUp, type StepUpProof, stepUp } from '../accounts/step-up.ts'
import { sessionOf } from '../http/access.ts'
import { sendFormPage } from '../http/page.ts'
import { readReturnPath } from '../http/return-path.ts'
import type { App } from '../http/server.ts'
import { ApiError } from '../platform/errors.ts'
import { proveForm } from './consent.ts'
import {
  proveVisit,
  readChallengeCookie,
  requireViewerForm,
  requireVisit,
  setChallengeCookie,
  type Viewer,
  viewerOf,
} from './page-session.ts'
import { type ProofPage, renderSecondFactor, renderStepUp } from './second-factor-page.ts'
import {
  carriedQuery,
  loginAddress,
  openSessionOnPage,
  type SignInParts,
} from './sign-in-routes.ts'

/** Where step-up leads back to, by the word in its address. */
const WAYS_BACK = new Map([
  ['security', '/oauth/security'],
  ['sessions', '/oauth/sessions'],
  ['connections', '/oauth/connections'],
  ['payouts', '/developers/connect/refresh'],
])

type Exchange = { request: FastifyRequest; reply: FastifyReply }
type Fault = NonNullable<ProofPage['fault']>

export function secondFactorPages(app: App, parts: SignInParts): void {
  const shown = { config: { access: 'public', page: true }, schema: { hide: true } } as const
  const form = { config: { ...shown.config, accepts_form: true }, schema: { hide: true } } as const
  app.get('/oauth/second-factor', shown, (request, reply) =>
    showSecondStep(parts, { request, reply }),
  )
  app.post('/oauth/second-factor', form, (request, reply) => finish(parts, { request, reply }))
  app.get('/oauth/step-up', shown, (request, reply) => showStepUp(parts, { request, reply }))
  app.post('/oauth/step-up', form, (request, reply) => prove(parts, { request, reply }))
}

async function showSecondStep(
  parts: SignInParts,
  { request, reply }: Exchange,
  fault?: Fault,
): Promise<FastifyReply> {
  const challenge_id = readChallengeCookie(request)
  const step = challenge_id === undefined ? undefined : await readSecondStep(parts, challenge_id)
  // Answered, dead or too old: there is nothing left to ask but the password.
  if (!step) return reply.redirect(loginAddress(request), 303)
  const page = renderSecondFactor({
    action: withQuery('/oauth/second-factor', request),
    csrf: proveVisit(parts, request, reply),
    kinds: step.factors,
    passkey_options: step.passkey_options,
    login: loginAddress(request),
    ...(fault && { fault }),
  })
  return sendFormPage(reply, page, { status: fault ? 401 : 200, asks_for_passkey: true })
}

async function finish(parts: SignInParts, exchange: Exchange): Promise<FastifyReply> {
  const { request, reply } = exchange
  requireVisit(parts, request, readField(request.body, 'csrf'))
  const { field, proof } = readProof(request.body)
  const challenge_id = readChallengeCookie(request) ?? ''
  try {
    const opened = await finishLogin(parts, { challenge_id, proof, client: clientOf(request) })
    setChallengeCookie(parts, reply, '')
    return await openSessionOnPage(parts, exchange, opened)
  } catch (error) {
    if (!isWrong(error)) throw error
    return await showSecondStep(parts, exchange, { field, text: error.message })
  }
}

async function showStepUp(
  parts: SignInParts,
  exchange: Exchange,
  fault?: Fault,
): Promise<FastifyReply> {
  const { request, reply } = exchange
  const viewer = viewerOf(request)
  if (!viewer) return reply.redirect(loginAddress(request), 302)
  const { proofs, passkey_options } = await askStepUp(parts, askerOf(request))
  const page = renderStepUp({
    action: withQuery('/oauth/step-up', request),
    csrf: proveForm(viewer.session_token, 'step_up', parts.clock.now()),
    kinds: proofs,
    passkey_options,
    ...(fault && { fault }),
  })
  return sendFormPage(reply, page, { status: fault ? 401 : 200, asks_for_passkey: true })
}

async function prove(parts: SignInParts, exchange: Exchange): Promise<FastifyReply> {
  const { request, reply } = exchange
  const viewer: Viewer | undefined = viewerOf(request)
  if (!viewer) return reply.redirect(loginAddress(request), 303)
  const csrf = readField(request.body, 'csrf')
  requireViewerForm(parts, request, { csrf, viewer, subject: 'step_up' })
  const { field, proof } = readStepUpProof(request.body)
  try {
    await stepUp(parts, askerOf(request), proof)
    return reply.redirect(wayBack(request), 303)
  } catch (error) {
    if (!isWrong(error)) throw error
    return await showStepUp(parts, exchange, { field, text: error.message })
  }
}

/** What came twice, or as something else than text, is as good as not filled in. */
export function readField(body: unknown, name: string): string {
  const value: unknown = new Map(Object.entries(body ?? {})).get(name)
  return typeof value === 'string' ? value : ''
}

export function askerOf(request: FastifyRequest) {
  const { account_id, session_id } = sessionOf(request)
  return { account_id, session_id, client: clientOf(request) }
}

/** The first that is filled in. Nothing at all is a wrong code. */
function readProof(body: unknown): { field: string; proof: GivenProof } {
  const passkey = parseAssertion(readField(body, 'passkey'))
  if (passkey) return { field: 'passkey', proof: { passkey } }
  const recovery_code = readField(body, 'recovery_code')
  if (recovery_code !== '') return { field: 'recovery_code', proof: { recovery_code } }
  return { field: 'totp', proof: { totp: readField(body, 'totp') } }
}

function readStepUpProof(body: unknown): { field: string; proof: StepUpProof } {
  const passkey = parseAssertion(readField(body, 'passkey'))
  if (passkey) return { field: 'passkey', proof: { passkey } }
  const totp = readField(body, 'totp')
  if (totp !== '') return { field: 'totp', proof: { totp } }
  return { field: 'password', proof: { password: readField(body, 'password') } }
}

function wayBack(request: FastifyRequest): string {
  const query = carriedQuery(request)
  const parameters = new URLSearchParams(query)
  const return_path = readReturnPath(parameters.get('return_to'))
  if (return_path !== undefined) return return_path
  if (parameters.has('client_id')) return `/oauth/authorize?${query}`
  return WAYS_BACK.get(parameters.get('for') ?? '') ?? '/oauth/connections'
}

function withQuery(address: string, request: FastifyRequest): string {
  const query = carriedQuery(request)
  return query === '' ? address : `${address}?${query}`
}

function isWrong(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === 'invalid_credentials'
}
