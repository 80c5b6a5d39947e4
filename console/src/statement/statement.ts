// The data of this page: every movement of the wallet, and what each kind is called.

import { api, ask } from '../api.ts'
import type { paths } from '../api-types.ts'
import { useList } from '../queries.ts'

type Query = NonNullable<paths['/account/transactions']['get']['parameters']['query']>
export type Filter = Pick<Query, 'kind' | 'from' | 'to'>
export type Movement =
  paths['/account/transactions']['get']['responses'][200]['content']['application/json']['data'][number]

/** In the order in which they are offered. */
const KINDS = new Map<string, string>([
  ['usage', 'Call'],
  ['topup', 'Top-up'],
  ['transfer_in', 'Received'],
  ['transfer_out', 'Sent'],
  ['welcome', 'Welcome credits'],
  ['verified', 'Credits for a verified address'],
  ['grant', 'Credits given'],
  ['paid_grant', 'Credits paid for'],
  ['refund', 'Refund of a top-up'],
  ['refund_failed', 'A refund that failed'],
  ['dispute', 'Frozen by a dispute'],
  ['dispute_won', 'Back from a dispute'],
  ['dispute_lost', 'Lost in a dispute'],
  ['dispute_reinstated', 'Back from a lost dispute'],
  ['closure', 'Forfeited'],
])

/** The service's own words for it, where they only say the kind again; else they stand below. */
export function describeMovement({ kind, description }: Movement): { title: string; note: string } {
  const title = KINDS.get(kind) ?? kind.replaceAll('_', ' ')
  const note = description ?? ''
  return note.startsWith(title) ? { title: note, note: '' } : { title, note }
}

export const KIND_CHOICES: readonly (readonly [value: string, label: string])[] = [
  ['', 'All movements'],
  ...KINDS,
]

/** What the API does not know is no filter. */
export function readKind(kind: string): Filter['kind'] {
  return KINDS.has(kind) ? (kind as NonNullable<Filter['kind']>) : undefined
}

/** All that is asked for as a file, made by the service. */
export function csvAddress(filter: Filter): string {
  return `/account/transactions?${new URLSearchParams({ ...filter, format: 'csv' })}`
}

export function useStatement(filter: Filter) {
  return useList<Movement>(['statement', filter], async (page_asked) => {
    const query = { ...filter, ...page_asked }
    const page = await ask(() => api.GET('/account/transactions', { params: { query } }))
    // Only `format=csv` is answered with text.
    if (typeof page === 'string') throw new Error('a file came in place of a page')
    return page
  })
}
