import { createHash, randomBytes } from 'node:crypto'
import { AuthorizationCode } from 'simple-oauth2'
import { type App, type Kept, requireAnswer, SCOPE } from './app.ts'

export function begin(app: App): { url: string; kept: Kept } {
  const kept = {
    state: randomBytes(32).toString('base64url'),
    code_verifier: randomBytes(32).toString('base64url'),
  }
  const url = clientOf(app).authorizeURL({
    redirect_uri: app.redirect_uri,
    scope: SCOPE,
    state: kept.state,
    code_challenge: createHash('sha256').update(kept.code_verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  return { url, kept }
}

export async function finish(app: App, callback: URL, kept: Kept) {
  const { redirect_uri } = app
  const { code_verifier } = kept
  const code = requireAnswer(app, callback, kept)
  return (await clientOf(app).getToken({ code, redirect_uri, code_verifier })).token
}

export async function refresh(app: App, refresh_token: string) {
  return (await clientOf(app).createToken({ refresh_token }).refresh()).token
}

// The paths of Svc are the library's defaults.
function clientOf(app: App): AuthorizationCode {
  return new AuthorizationCode({
    client: { id: app.client_id, secret: app.client_secret },
    auth: { tokenHost: app.issuer },
  })
}
