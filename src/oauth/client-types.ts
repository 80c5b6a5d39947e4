// Where the code of an app runs, and what follows from it. An app without a server is public (RFC 6749, 2.1): a
// secret that is sent to every user is none.

export const CLIENT_TYPES = ['web_server', 'browser', 'native'] as const
export type ClientType = (typeof CLIENT_TYPES)[number]

export function isPublic({ client_type }: { client_type: ClientType }): boolean {
  return client_type !== 'web_server'
}
