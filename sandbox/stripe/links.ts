// Links that lead to hosted pages: each opens once, and not after it has expired. Opening one begins
// a visit, whose address may be reloaded for an hour.

const MAX_LINKS = 20_000

export type LinkKind = 'onboarding' | 'dashboard'
export type Link = {
  kind: LinkKind
  account: string
  expires_at_ms: number
  refresh_url: string
  return_url: string
}
export type Visit = Link

export type Links = {
  put(token: string, link: Link): void
  /** The link; `fresh` only the first time and in time. Undefined when there never was one. */
  open(token: string, now_ms: number): { link: Link; fresh: boolean } | undefined
  putVisit(token: string, visit: Visit): void
  getVisit(token: string, now_ms: number): Visit | undefined
  endVisit(token: string): void
}

export function createLinks(): Links {
  const links = new Map<string, Link & { used: boolean }>()
  const visits = new Map<string, Visit>()
  return {
    put: (token, link) => putBounded(links, token, { ...link, used: false }),
    open(token, now_ms) {
      const link = links.get(token)
      if (link === undefined) return undefined
      const fresh = !link.used && now_ms < link.expires_at_ms
      link.used = true
      return { link, fresh }
    },
    putVisit: (token, visit) => putBounded(visits, token, visit),
    getVisit(token, now_ms) {
      const visit = visits.get(token)
      return visit !== undefined && now_ms < visit.expires_at_ms ? visit : undefined
    },
    endVisit: (token) => void visits.delete(token),
  }
}

function putBounded<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value)
  const oldest = map.size > MAX_LINKS ? map.keys().next().value : undefined
  if (oldest !== undefined) map.delete(oldest)
}
