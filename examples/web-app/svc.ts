// Everything that this app asks of Svc: sign in, tokens, a question that the user pays for.

import * as oauth from 'oauth4webapi'
import OpenAI, { APIError } from 'openai'

const { SVC_URL = 'http://localhost:8080', CLIENT_ID = '', CLIENT_SECRET = '' } = process.env

export const CONNECTIONS_PAGE = `${SVC_URL}/oauth/connections`

/** Tokens are worth money: a real app keeps them encrypted. */
export type Tokens = { access_token: string; refresh_token: string; expires_at: number }

/** What is remembered between leaving and coming back. */
export type Leaving = { state: string; code_verifier: string }

const client = { client_id: CLIENT_ID }
const secret = oauth.ClientSecretPost(CLIENT_SECRET)
// Plain http is for your own machine.
const options = { [oauth.allowInsecureRequests]: SVC_URL.startsWith('http:') }
const issuer = new URL(SVC_URL)
const server = await oauth.processDiscoveryResponse(
  issuer,
  await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...options }),
)

/** Where to send the user. */
export async function begin(redirect_uri: string): Promise<{ url: string; leaving: Leaving }> {
  const state = oauth.generateRandomState()
  const code_verifier = oauth.generateRandomCodeVerifier()
  const url = new URL(server.authorization_endpoint ?? '')
  url.search = new URLSearchParams({
    ...client,
    redirect_uri,
    response_type: 'code',
    scope: 'credits.read credits.spend',
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(code_verifier),
    code_challenge_method: 'S256',
  }).toString()
  return { url: url.href, leaving: { state, code_verifier } }
}

/** Checks state and iss, and throws what came as ?error= */
export async function finish(callback: URL, leaving: Leaving): Promise<Tokens> {
  const answer = oauth.validateAuthResponse(server, client, callback, leaving.state)
  const redirect_uri = `${callback.origin}${callback.pathname}`
  const { code_verifier } = leaving
  const reply = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    secret,
    answer,
    redirect_uri,
    code_verifier,
    options,
  )
  return keep(await oauth.processAuthorizationCodeResponse(server, client, reply))
}

/** Ends the grant: the refresh token and every access token that came of it. */
export async function disconnect(tokens: Tokens): Promise<void> {
  const { refresh_token } = tokens
  const reply = await oauth.revocationRequest(server, client, secret, refresh_token, options)
  await oauth.processRevocationResponse(reply)
}

/** A user's tokens, and their renewal while it is under way. */
export type Held = { tokens: Tokens; renewal?: Promise<void> | undefined }

export async function ask(held: Held, content: string) {
  if (held.tokens.expires_at <= Date.now()) await refresh(held, held.tokens)
  const used = held.tokens
  try {
    return await complete(used.access_token, content)
  } catch (error) {
    if (!(error instanceof APIError) || error.code !== 'invalid_token') throw error
    await refresh(held, used)
    return await complete(held.tokens.access_token, content)
  }
}

async function complete(apiKey: string, content: string) {
  const openai = new OpenAI({ baseURL: `${SVC_URL}/v1`, apiKey })
  const completion = await openai.chat.completions.create({
    model: 'gpt-4o-mini',
    messages: [{ role: 'user', content }],
  })
  return completion as typeof completion & { svc: { credits_used: number; balance_after: number } }
}

// A refresh token is good once, and an old one that comes late ends the grant: so one renewal at a time, and its
// result is kept at once. Several processes need a lock in their database for this.
async function refresh(held: Held, used: Tokens): Promise<void> {
  if (held.tokens !== used) return
  held.renewal ??= renew(held).finally(() => {
    held.renewal = undefined
  })
  await held.renewal
}

async function renew(held: Held): Promise<void> {
  const { refresh_token } = held.tokens
  const reply = await oauth.refreshTokenGrantRequest(server, client, secret, refresh_token, options)
  held.tokens = keep(await oauth.processRefreshTokenResponse(server, client, reply))
}

function keep(reply: oauth.TokenEndpointResponse): Tokens {
  const { access_token, refresh_token = '', expires_in = 0 } = reply
  return { access_token, refresh_token, expires_at: Date.now() + (expires_in - 60) * 1000 }
}

type Hinted = { message?: string; hint?: string }

/** What a user should read about a failure; undefined for a defect of this app. */
export function explain(
  error: unknown,
): { status: number; text: string; ended?: boolean } | undefined {
  if (error instanceof oauth.AuthorizationResponseError && error.error === 'access_denied')
    return { status: 403, text: 'You said no. Nothing was spent.' }
  // The user disconnected the app, or did not come for a month: only signing in again helps.
  if (error instanceof oauth.ResponseBodyError && error.error === 'invalid_grant')
    return { status: 401, text: 'Your connection to Svc has ended.', ended: true }
  // Another state or iss: the answer belongs to another sign-in, or to another server.
  if (error instanceof oauth.OperationProcessingError)
    return { status: 400, text: 'Signing in did not work.' }
  if (!(error instanceof APIError)) return undefined
  if (error.status === 401 || error.code === 'insufficient_scope')
    return { status: 401, text: 'Your connection to Svc has ended.', ended: true }
  // 402: out of credits, or at the cap that the user has set for this app. The hint says what to do.
  const { message = 'Svc cannot be reached.', hint = '' } = (error.error ?? {}) as Hinted
  return { status: error.status === 402 ? 402 : 502, text: `${message} ${hint}` }
}
