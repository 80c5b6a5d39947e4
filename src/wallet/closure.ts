// The end of a wallet: what its owner leaves behind goes to the book's account `forfeited`. The wallet's row and its
// lines stay, they carry ids only; its balance is then nothing.

import type { Tx } from '../platform/db.ts'
import { bucketOf, mintWalletId } from './bucket.ts'
import { postOne, readBalance } from './postings.ts'
import { LOCK_WALLET } from './store.ts'

/** Undefined, and nothing is posted, while a running call holds credits of the wallet. */
export async function forfeitCredits(
  tx: Tx,
  { account_id, at }: { account_id: string; at: Date },
): Promise<bigint | undefined> {
  await tx.run(LOCK_WALLET, [bucketOf(account_id), account_id])
  const wallet = await readBalance(tx, account_id)
  if (!wallet || wallet.balance === 0n) return 0n
  if (wallet.held > 0n) return undefined
  await postOne(tx, {
    id: mintWalletId(account_id, at),
    wallet_id: account_id,
    amount: -wallet.balance,
    kind: 'closure',
    counter: { account: 'forfeited', owner: account_id },
    description: 'Account deleted',
  })
  return wallet.balance
}
