// Two libraries that come without types: what is used of them here.

declare module 'simple-oauth2' {
  type Token = { access_token: string; refresh_token: string; expires_in: number; expires_at: Date }
  export class AccessToken {
    token: Token
    expired(window_s?: number): boolean
    refresh(): Promise<AccessToken>
  }
  export class AuthorizationCode {
    constructor(options: {
      client: { id: string; secret: string }
      auth: { tokenHost: string }
      options?: { authorizationMethod?: 'header' | 'body' }
    })
    authorizeURL(parameters: Record<string, string>): string
    getToken(parameters: Record<string, string>): Promise<AccessToken>
    createToken(token: Partial<Token>): AccessToken
  }
}

declare module 'passport-oauth2' {
  type Done<User> = (error: unknown, user?: User) => void
  export default class OAuth2Strategy<User> {
    constructor(
      options: {
        authorizationURL: string
        tokenURL: string
        clientID: string
        clientSecret: string
        callbackURL: string
        scope: string
        pkce: boolean
        state: boolean
      },
      verify: (
        access_token: string,
        refresh_token: string,
        profile: unknown,
        done: Done<User>,
      ) => void,
    )
    authenticate(request: { query: Record<string, string>; session: object }): void
    // Passport sets these before it calls authenticate.
    redirect: (url: string) => void
    success: (user: User) => void
    fail: (challenge: { message?: string }, status?: number) => void
    error: (error: unknown) => void
  }
}
