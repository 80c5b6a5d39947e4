import * as oauth from 'oauth4webapi'
import { type App, type Kept, SCOPE } from './app.ts'

export async function begin(app: App): Promise<{ url: string; kept: Kept }> {
  const server = await discover(app)
  const kept = {
    state: oauth.generateRandomState(),
    code_verifier: oauth.generateRandomCodeVerifier(),
  }
  const url = new URL(server.authorization_endpoint ?? '')
  url.search = new URLSearchParams({
    client_id: app.client_id,
    redirect_uri: app.redirect_uri,
    response_type: 'code',
    scope: SCOPE,
    state: kept.state,
    code_challenge: await oauth.calculatePKCECodeChallenge(kept.code_verifier),
    code_challenge_method: 'S256',
  }).toString()
  return { url: url.href, kept }
}

export async function finish(app: App, callback: URL, kept: Kept) {
  const server = await discover(app)
  const answer = oauth.validateAuthResponse(server, app, callback, kept.state)
  const secret = oauth.ClientSecretPost(app.client_secret)
  const reply = await oauth.authorizationCodeGrantRequest(
    server,
    app,
    secret,
    answer,
    app.redirect_uri,
    kept.code_verifier,
    options(app),
  )
  return await oauth.processAuthorizationCodeResponse(server, app, reply)
}

export async function refresh(app: App, refresh_token: string) {
  const server = await discover(app)
  const secret = oauth.ClientSecretPost(app.client_secret)
  const reply = await oauth.refreshTokenGrantRequest(
    server,
    app,
    secret,
    refresh_token,
    options(app),
  )
  return await oauth.processRefreshTokenResponse(server, app, reply)
}

export async function readUser(app: App, access_token: string) {
  const server = await discover(app)
  const reply = await oauth.userInfoRequest(server, app, access_token, options(app))
  return await oauth.processUserInfoResponse(server, app, oauth.skipSubjectCheck, reply)
}

// Svc is OAuth, not OpenID: without the algorithm the library looks for a document that is not there.
async function discover(app: App): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(app.issuer)
  const reply = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...options(app) })
  return await oauth.processDiscoveryResponse(issuer, reply)
}

// Plain http is for your own machine.
function options(app: App) {
  return { [oauth.allowInsecureRequests]: app.issuer.startsWith('http:') }
}
