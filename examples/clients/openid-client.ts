import * as client from 'openid-client'
import { type App, type Kept, SCOPE } from './app.ts'

export async function begin(app: App): Promise<{ url: string; kept: Kept }> {
  const kept = { state: client.randomState(), code_verifier: client.randomPKCECodeVerifier() }
  const url = client.buildAuthorizationUrl(await configure(app), {
    redirect_uri: app.redirect_uri,
    scope: SCOPE,
    state: kept.state,
    code_challenge: await client.calculatePKCECodeChallenge(kept.code_verifier),
    code_challenge_method: 'S256',
  })
  return { url: url.href, kept }
}

export async function finish(app: App, callback: URL, kept: Kept) {
  return await client.authorizationCodeGrant(await configure(app), callback, {
    expectedState: kept.state,
    pkceCodeVerifier: kept.code_verifier,
  })
}

export async function refresh(app: App, refresh_token: string) {
  return await client.refreshTokenGrant(await configure(app), refresh_token)
}

export async function readUser(app: App, access_token: string) {
  return await client.fetchUserInfo(await configure(app), access_token, client.skipSubjectCheck)
}

// Once for the life of your program is enough. Svc is OAuth, not OpenID: hence the algorithm.
async function configure(app: App): Promise<client.Configuration> {
  return await client.discovery(
    new URL(app.issuer),
    app.client_id,
    app.client_secret,
    client.ClientSecretPost(app.client_secret),
    {
      algorithm: 'oauth2',
      // Plain http is for your own machine.
      execute: app.issuer.startsWith('http:') ? [client.allowInsecureRequests] : [],
    },
  )
}
