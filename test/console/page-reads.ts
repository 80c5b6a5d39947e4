// What the pages of the console ask the API for as they open. The smoke test holds the list against the pages, and
// scale.test.ts asks for all of it without a browser.

/** What ids and times stand for: those of whoever asks. */
export type Places = {
  app_id: string
  webhook_id: string
  user_id: string
  /** The beginning of a period. */
  from: string
  to: string
}

export const PAGE_READS = [
  '/account',
  '/account/attention',
  '/account/auto-topup',
  '/account/connections?limit=50',
  '/account/events?limit=50',
  '/account/factors',
  '/account/sessions?limit=50',
  '/account/topups?limit=50',
  '/account/transactions?limit=50',
  '/account/usage/summary?from=:from&group_by=model&interval=day',
  '/account/usage?from=:from&limit=50',
  '/account/usage?limit=7',
  '/developers/apps/:app_id',
  '/developers/apps?limit=50',
  '/developers/connect/status',
  '/developers/earnings',
  '/developers/earnings?from=:from&group_by=day_and_app&to=:to',
  '/developers/keys?limit=50',
  '/developers/payouts?limit=50',
  '/operator/audit?limit=50',
  '/operator/ledger',
  '/operator/models',
  '/operator/overview',
  '/operator/payout-runs?limit=50',
  '/operator/payouts?limit=50',
  '/operator/payouts?limit=50&status=pending',
  '/operator/users/:user_id',
  '/operator/users?limit=50',
  '/operator/webhooks/health',
  '/v1/models',
  '/v1/webhooks/:webhook_id',
  '/v1/webhooks/:webhook_id/deliveries?limit=50',
  '/v1/webhooks/:webhook_id/stats',
  '/v1/webhooks/stats?limit=50',
  '/v1/webhooks?limit=50',
] as const

/** The address with ids and times in it. */
export function fillIn(read: string, places: Places): string {
  return Object.entries(places).reduce(
    (url, [name, value]) => url.replaceAll(`:${name}`, encodeURIComponent(value)),
    read,
  )
}

/** What a page asked for, as it stands in the list. */
export function asListed(url: string, places: Omit<Places, 'from' | 'to'>): string {
  const { pathname, searchParams } = new URL(url)
  for (const name of ['from', 'to']) if (searchParams.has(name)) searchParams.set(name, `:${name}`)
  searchParams.sort()
  const query = decodeURIComponent(searchParams.toString())
  return Object.entries(places).reduce(
    (read, [name, value]) => read.replaceAll(value, `:${name}`),
    query === '' ? pathname : `${pathname}?${query}`,
  )
}
