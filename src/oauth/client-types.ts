// Where the code of an app runs, and what follows from it. An app without a server is public (RFC 6749, 2.1): a
// secret that is sent to every user is none.

const MINUTE_S = 60
const HOUR_S = 60 * MINUTE_S
const DAY_S = 24 * HOUR_S

export const CLIENT_TYPES = ['web_server', 'browser', 'native'] as const
export type ClientType = (typeof CLIENT_TYPES)[number]

type Lifetimes = {
  access_token_s: number
  /** A refresh token that nobody uses. */
  refresh_idle_s: number
  /** From the consent on, however often it is refreshed. */
  grant_s: number
  /** The same where no key was shown: then whoever copies the refresh token has all of it. */
  grant_without_key_s: number
}

/** Whatever runs in a page may read its tokens (RFC 10017, 6.3), so a browser's are the shortest. */
export const LIFETIMES: Record<ClientType, Lifetimes> = {
  web_server: {
    access_token_s: HOUR_S,
    refresh_idle_s: 30 * DAY_S,
    grant_s: 180 * DAY_S,
    grant_without_key_s: 180 * DAY_S,
  },
  browser: {
    access_token_s: 10 * MINUTE_S,
    refresh_idle_s: 7 * DAY_S,
    grant_s: 30 * DAY_S,
    grant_without_key_s: DAY_S,
  },
  native: {
    access_token_s: HOUR_S,
    refresh_idle_s: 30 * DAY_S,
    grant_s: 180 * DAY_S,
    grant_without_key_s: 180 * DAY_S,
  },
}

export function isPublic({ client_type }: { client_type: ClientType }): boolean {
  return client_type !== 'web_server'
}
