import * as arctic from 'arctic'
import { type App, type Kept, requireAnswer, SCOPE } from './app.ts'

export function begin(app: App): { url: string; kept: Kept } {
  const kept = { state: arctic.generateState(), code_verifier: arctic.generateCodeVerifier() }
  const url = clientOf(app).createAuthorizationURLWithPKCE(
    `${app.issuer}/oauth/authorize`,
    kept.state,
    arctic.CodeChallengeMethod.S256,
    kept.code_verifier,
    SCOPE.split(' '),
  )
  return { url: url.href, kept }
}

export async function finish(app: App, callback: URL, kept: Kept) {
  const code = requireAnswer(app, callback, kept)
  return read(
    await clientOf(app).validateAuthorizationCode(
      `${app.issuer}/oauth/token`,
      code,
      kept.code_verifier,
    ),
  )
}

export async function refresh(app: App, refresh_token: string) {
  return read(
    await clientOf(app).refreshAccessToken(`${app.issuer}/oauth/token`, refresh_token, []),
  )
}

function clientOf(app: App): arctic.OAuth2Client {
  return new arctic.OAuth2Client(app.client_id, app.client_secret, app.redirect_uri)
}

function read(tokens: arctic.OAuth2Tokens) {
  return {
    access_token: tokens.accessToken(),
    refresh_token: tokens.refreshToken(),
    expires_at: tokens.accessTokenExpiresAt(),
  }
}
