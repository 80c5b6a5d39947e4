import { generateCodeVerifier, OAuth2Client, type OAuth2Token } from '@badgateway/oauth2-client'
import { type App, type Kept, requireAnswer, SCOPE } from './app.ts'

export async function begin(app: App): Promise<{ url: string; kept: Kept }> {
  const kept = { state: crypto.randomUUID(), code_verifier: await generateCodeVerifier() }
  const url = await clientOf(app).authorizationCode.getAuthorizeUri({
    redirectUri: app.redirect_uri,
    scope: SCOPE.split(' '),
    state: kept.state,
    codeVerifier: kept.code_verifier,
  })
  return { url, kept }
}

export async function finish(app: App, callback: URL, kept: Kept) {
  requireAnswer(app, callback, kept)
  return await clientOf(app).authorizationCode.getTokenFromCodeRedirect(callback, {
    redirectUri: app.redirect_uri,
    state: kept.state,
    codeVerifier: kept.code_verifier,
  })
}

export async function refresh(app: App, token: OAuth2Token) {
  return await clientOf(app).refreshToken(token)
}

// The library asks the server's metadata for the endpoints.
function clientOf(app: App): OAuth2Client {
  return new OAuth2Client({
    server: app.issuer,
    clientId: app.client_id,
    clientSecret: app.client_secret,
    authenticationMethod: 'client_secret_basic',
  })
}
