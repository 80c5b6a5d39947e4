// The data of this page: every movement of the wallet, and what each kind is called.

import { api, ask } from '../api.ts'
import type { paths } from '../api-types.ts'
import { useList } from '../queries.ts'

export type Movement =
  paths['/account/transactions']['get']['responses'][200]['content']['application/json']['data'][number]

/** The whole statement as a file, made by the service. */
export const CSV_ADDRESS = '/account/transactions?format=csv'

const KINDS = new Map([
  ['welcome', 'Welcome credits'],
  ['verified', 'Credits for a verified address'],
  ['grant', 'Credits given'],
  ['paid_grant', 'Credits paid for'],
  ['topup', 'Top-up'],
  ['transfer_in', 'Received'],
  ['transfer_out', 'Sent'],
  ['usage', 'Call'],
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

export function useStatement() {
  return useList<Movement>(['statement'], async (query) => {
    const page = await ask(() => api.GET('/account/transactions', { params: { query } }))
    // Only `format=csv` is answered with text.
    if (typeof page === 'string') throw new Error('a file came in place of a page')
    return page
  })
}
