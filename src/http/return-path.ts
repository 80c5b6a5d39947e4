// Where somebody goes after signing in: a page of the console, and nowhere else. The path comes from the address
// bar, so that anybody may have written it.

const LENGTH_MAX = 2_000
/** Only its own paths are read; the origin is dropped. */
const NOWHERE = 'http://console.invalid'

export const CONSOLE_HOME = '/console/'

/** The address of the sign-in page that leads to the console's page. */
export function loginAddressFor(path: string): string {
  return `/oauth/login?${new URLSearchParams({ return_to: path }).toString()}`
}

/** The path as a browser would read it, or undefined if it leads out of the console. */
export function readReturnPath(text: string | null): string | undefined {
  if (text === null || text.length > LENGTH_MAX || !text.startsWith(CONSOLE_HOME)) return undefined
  const url = URL.parse(text, NOWHERE)
  if (url?.origin !== NOWHERE || !url.pathname.startsWith(CONSOLE_HOME)) return undefined
  return url.pathname + url.search
}
