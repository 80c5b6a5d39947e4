import type { OAuth2Config } from '@auth/core/providers'
import { type App, SCOPE } from './app.ts'

/** For `providers: [svcProvider(app)]` of Auth.js and NextAuth 5. Callback: /api/auth/callback/svc */
export function svcProvider(app: App): OAuth2Config<{ sub: string; email: string }> {
  return {
    id: 'svc',
    name: 'Svc',
    type: 'oauth',
    issuer: app.issuer,
    clientId: app.client_id,
    clientSecret: app.client_secret,
    client: { token_endpoint_auth_method: 'client_secret_post' },
    authorization: { url: `${app.issuer}/oauth/authorize`, params: { scope: SCOPE } },
    token: `${app.issuer}/oauth/token`,
    userinfo: `${app.issuer}/oauth/userinfo`,
    checks: ['pkce', 'state'],
    profile: ({ sub, email }) => ({ id: sub, email }),
  }
}
