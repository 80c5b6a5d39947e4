import OAuth2Strategy from 'passport-oauth2'
import { type App, SCOPE } from './app.ts'

export type User = { sub: string; email: string; access_token: string; refresh_token: string }

/** For `passport.use()`. Needs a session, as express-session makes it. */
export function svcStrategy(app: App): OAuth2Strategy<User> {
  return new OAuth2Strategy<User>(
    {
      authorizationURL: `${app.issuer}/oauth/authorize`,
      tokenURL: `${app.issuer}/oauth/token`,
      clientID: app.client_id,
      clientSecret: app.client_secret,
      callbackURL: app.redirect_uri,
      scope: SCOPE,
      pkce: true,
      state: true,
    },
    (access_token, refresh_token, _profile, done) => {
      readUser(app, access_token).then(
        ({ sub, email }) => done(null, { sub, email, access_token, refresh_token }),
        (error: unknown) => done(error),
      )
    },
  )
}

async function readUser(app: App, access_token: string): Promise<{ sub: string; email: string }> {
  const reply = await fetch(`${app.issuer}/oauth/userinfo`, {
    headers: { authorization: `Bearer ${access_token}` },
  })
  if (!reply.ok) throw new Error(`userinfo answered ${reply.status}`)
  return (await reply.json()) as { sub: string; email: string }
}
