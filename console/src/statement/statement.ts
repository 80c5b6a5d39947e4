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

export function nameMovement({ kind }: Movement): string {
  return KINDS.get(kind) ?? kind.replaceAll('_', ' ')
}

export function useStatement() {
  return useList<Movement>(['statement'], async (query) => {
    const page = await ask(() => api.GET('/account/transactions', { params: { query } }))
    // Only `format=csv` is answered with text.
    if (typeof page === 'string') throw new Error('a file came in place of a page')
    return page
  })
}
