// Where somebody goes after signing in: a page of the console, or the one where the code of a device is typed, and nowhere
// else. The path comes from the address bar, so that anybody may have written it.

const LENGTH_MAX = 2_000
/** Only its own paths are read; the origin is dropped. */
const NOWHERE = 'http://console.invalid'

export const CONSOLE_HOME = '/console/'
export const DEVICE_PAGE = '/device'

/** The address of the sign-in page that leads to the page. */
export function loginAddressFor(path: string): string {
  return `/oauth/login?${new URLSearchParams({ return_to: path }).toString()}`
}

/** The path as a browser would read it, or undefined if it leads elsewhere. */
export function readReturnPath(text: string | null): string | undefined {
  if (text === null || text.length > LENGTH_MAX || !isReturnPath(text)) return undefined
  const url = URL.parse(text, NOWHERE)
  if (url?.origin !== NOWHERE) return undefined
  if (url.pathname !== DEVICE_PAGE && !url.pathname.startsWith(CONSOLE_HOME)) return undefined
  return url.pathname + url.search
}

/** As it was written; a browser may still read it otherwise. */
function isReturnPath(text: string): boolean {
  return [CONSOLE_HOME, DEVICE_PAGE].some((start) => text.startsWith(start))
}
