// What events of connected accounts and of transfers do.

import { findOwnerOf, noteAccountEvent } from './account-store.ts'
import { cutOffAccount, type RefreshParts, refreshPayoutAccount } from './accounts.ts'
import type { EventHandlers, EventWork } from './stripe-events.ts'
import { onTransferReversed } from './transfer-reversal.ts'

export type PayoutEventParts = RefreshParts

export function payoutEventHandlers(parts: PayoutEventParts): EventHandlers {
  return {
    'account.updated': {
      from: 'connected',
      prepare: (event) => mirrorAgain(parts, event.data.object.id, event.created),
    },
    'capability.updated': {
      from: 'connected',
      prepare: (event) => mirrorAgain(parts, event.account ?? '', event.created),
    },
    'account.application.deauthorized': {
      from: 'connected',
      prepare: (event) => cutOff(parts, event.account ?? ''),
    },
    'transfer.reversed': {
      from: 'platform',
      prepare: async ({ data: { object: transfer } }) => {
        const { id, transfer_group, amount_reversed } = transfer
        const amount_reversed_cents = BigInt(amount_reversed)
        await onTransferReversed(parts, { id, transfer_group, amount_reversed_cents })
        return undefined
      },
    },
  }
}

/** The account is read again, so an event that comes late cannot bring back what was. */
async function mirrorAgain(
  parts: PayoutEventParts,
  stripe_account_id: string,
  created_s: number,
): Promise<EventWork | undefined> {
  const event_at = new Date(created_s * 1000)
  const owner = await findOwnerOf(parts.db, stripe_account_id)
  // Of an account that is not stored yet: it is mirrored when it is.
  if (!owner) return undefined
  if (owner.event_at !== null && event_at < owner.event_at) return undefined
  await refreshPayoutAccount(parts, owner.developer_id)
  return (tx) => noteAccountEvent(tx, stripe_account_id, event_at)
}

async function cutOff(
  parts: PayoutEventParts,
  stripe_account_id: string,
): Promise<EventWork | undefined> {
  const owner = await findOwnerOf(parts.db, stripe_account_id)
  if (!owner) return undefined
  const { developer_id } = owner
  return (tx) => cutOffAccount(parts, tx, { developer_id, stripe_account_id })
}
