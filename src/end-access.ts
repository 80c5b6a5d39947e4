// The end of what an account made beside its sessions: keys, consents, apps, where money comes from and goes to. The
// domains stand to the right of accounts, so accounts get it as a function.

import type { EndAccess } from './accounts/mail-proofs.ts'
import type { EndBrowserGrants } from './accounts/sessions.ts'
import { endKeysOfAccount } from './keys/keys.ts'
import { endBrowserGrants, endOAuthOfAccount } from './oauth/ending.ts'
import type { GrantParts } from './oauth/grants.ts'
import { forgetPayoutAccount } from './payouts/accounts.ts'
import { forgetAutoTopup } from './topups/auto-store.ts'

export function accessEnder(parts: GrantParts): EndAccess {
  return async (tx, { account_id, also }) => {
    const keys = await endKeysOfAccount(parts.feed, tx, account_id)
    const apps = also.includes('apps') ? 'ended' : 'kept'
    await endOAuthOfAccount(parts, tx, { account_id, apps })
    if (also.includes('saved_card')) await forgetAutoTopup(tx, account_id)
    if (also.includes('payout_account')) await forgetPayoutAccount(tx, account_id)
    // What is in memory of the account is read again, whatever it is.
    await parts.feed.invalidate(tx, [`account:${account_id}`])
    return { keys }
  }
}

export function browserGrantEnder(parts: GrantParts): EndBrowserGrants {
  return (tx, account_id) => endBrowserGrants(parts, tx, account_id)
}
