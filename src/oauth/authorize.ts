// What an app asks for at /oauth/authorize: a list of named checks. Until the app and the address to return to
// are known to belong together nobody is sent anywhere; after that the app itself is told what is wrong.

import type { Queryable } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { AppRow } from './app-store.ts'
import { findAppOfClient } from './apps.ts'
import { isPublic } from './client-types.ts'
import { EXTERNAL_USER_ID_RULE, isExternalUserId } from './external-user-id.ts'
import { type Parameters, readParameters, refusal } from './parameters.ts'
import { requireChallenge } from './pkce.ts'
import { matchesRedirectUri } from './redirect-uri.ts'
import { parseScopes, type Scope } from './scopes.ts'
import { suspended } from './suspension.ts'

const PROMPTS = ['login', 'consent', 'none'] as const

export type AuthorizationRequest = {
  app: AppRow
  redirect_uri: string
  state: string | undefined
  scopes: Scope[]
  code_challenge: string
  /** With hosted storage: the developer's name for the user. */
  external_user_id: string | null
  prompt: (typeof PROMPTS)[number] | undefined
}

/** Where the app waits for an answer. */
export type ReturnAddress = Pick<AuthorizationRequest, 'redirect_uri' | 'state'>

/** A fault that the app is to be told about, at its own address. */
export class AuthorizationFault extends Error {
  /** One of ours, or one that only this answer knows (`login_required`, `consent_required`). */
  readonly code: string
  override readonly cause: ApiError | undefined
  readonly return_to: ReturnAddress

  constructor(
    return_to: ReturnAddress,
    fault: { code: string; description: string; cause?: ApiError },
  ) {
    super(fault.description)
    this.code = fault.code
    this.cause = fault.cause
    this.return_to = return_to
  }
}

export async function readAuthorizationRequest(
  db: Queryable,
  query: unknown,
): Promise<AuthorizationRequest> {
  const parameters = readParameters(query)
  const app = await requireApp(db, parameters)
  const redirect_uri = requireRedirectUri(app, parameters)
  const return_to: { redirect_uri: string; state: string | undefined } = {
    redirect_uri,
    state: undefined,
  }
  try {
    return_to.state = parameters.read('state')
    return { app, ...return_to, ...readWish(app, parameters) }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    throw new AuthorizationFault(return_to, {
      code: error.code,
      description: error.message,
      cause: error,
    })
  }
}

/** The query that says the same, to carry it from page to page. */
export function describeRequest(request: AuthorizationRequest): string {
  const query = new URLSearchParams({
    client_id: request.app.client_id,
    redirect_uri: request.redirect_uri,
    response_type: 'code',
    scope: request.scopes.join(' '),
    code_challenge: request.code_challenge,
    code_challenge_method: 'S256',
  })
  if (request.state !== undefined) query.set('state', request.state)
  if (request.external_user_id !== null) {
    query.set('storage_mode', 'hosted')
    query.set('external_user_id', request.external_user_id)
  }
  return query.toString()
}

/** The app's address with the answer appended to whatever query it has. */
export function returnAddress(
  { redirect_uri, state }: ReturnAddress,
  answer: Record<string, string>,
): string {
  const parameters = new URLSearchParams(answer)
  if (state !== undefined) parameters.set('state', state)
  const separator = !redirect_uri.includes('?') ? '?' : /[?&]$/.test(redirect_uri) ? '' : '&'
  return `${redirect_uri}${separator}${parameters.toString()}`
}

async function requireApp(db: Queryable, parameters: Parameters): Promise<AppRow> {
  const client_id = parameters.read('client_id')
  const app = client_id === undefined ? undefined : await findAppOfClient(db, client_id)
  if (!app) throw unknownApp()
  // Told to the user and not to the app: the app may be the reason.
  if (app.suspended_reason !== null) throw suspended(app.suspended_reason)
  return app
}

export function unknownApp(): ApiError {
  return new ApiError('invalid_client', {
    message: 'The app that sent you here is not known.',
    hint: 'Go back and tell its makers: their client_id is wrong, or the app was deleted.',
  })
}

function requireRedirectUri(app: AppRow, parameters: Parameters): string {
  const redirect_uri = parameters.read('redirect_uri')
  if (redirect_uri !== undefined && matchesRedirectUri(app.redirect_uris, redirect_uri)) {
    return redirect_uri
  }
  throw refusal(
    'The app that sent you here asks to return to an address that it has not registered.',
    'Go back and tell its makers: redirect_uri must equal one that is registered, character for character.',
  )
}

function readWish(app: AppRow, parameters: Parameters) {
  requireResponseType(parameters)
  const code_challenge = requireChallenge(parameters)
  const scope = parameters.read('scope')
  const scopes = scope === undefined ? app.allowed_scopes : parseScopes(scope, app.allowed_scopes)
  return {
    code_challenge,
    scopes,
    external_user_id: readExternalUserId(app, parameters),
    prompt: readPrompt(parameters),
  }
}

function requireResponseType(parameters: Parameters): void {
  const response_type = parameters.require('response_type')
  if (response_type !== 'code') {
    throw new ApiError('unauthorized_client', {
      message: 'The only response_type is code.',
    })
  }
  const response_mode = parameters.read('response_mode')
  if (response_mode !== undefined && response_mode !== 'query') {
    throw refusal('The only response_mode is query.')
  }
}

function readExternalUserId(app: AppRow, parameters: Parameters): string | null {
  const storage_mode = parameters.read('storage_mode')
  if (storage_mode === undefined) return null
  if (storage_mode !== 'hosted') throw refusal('The only storage_mode is hosted.')
  // Nothing would prove who makes the exchange that begins the link.
  if (isPublic(app)) {
    throw new ApiError('unauthorized_client', {
      message: 'Hosted storage is for apps with a server.',
    })
  }
  const external_user_id = parameters.require('external_user_id')
  if (isExternalUserId(external_user_id)) return external_user_id
  throw refusal(`external_user_id has ${EXTERNAL_USER_ID_RULE}.`)
}

function readPrompt(parameters: Parameters): AuthorizationRequest['prompt'] {
  const prompt = parameters.read('prompt')
  if (prompt === undefined) return undefined
  const known = PROMPTS.find((one) => one === prompt)
  if (!known) throw refusal('prompt is login, consent or none.')
  return known
}
