// Credits that were paid for and whose money goes back: by a refund, or because the bank of the payer asks for it. A
// wallet gives what it has free and is never negative; what it has not is the platform's loss, and stands in the book.
// Money that returns to us after all undoes exactly that: the wallet gets what it gave, and the loss is none. Credits that
// were paid for go first. Promotional ones that had to go as well come back as promotional ones.

import type { Tx } from '../platform/db.ts'
import { bucketOf, mintWalletId } from './bucket.ts'
import { postOne, readBalance } from './postings.ts'
import { LOCK_WALLET, POST_BOOK_ENTRY } from './store.ts'

export type Reversal = {
  account_id: string
  /** The top-up: owner of what is kept in `disputed`. */
  topup_id: string
  amount: bigint
  at: Date
}

/** What the wallet gave, and how much of that nobody had paid for. */
export type Taken = { taken: bigint; promotional: bigint }

/** Takes a refund back from the wallet; answers what it had. */
export async function takeRefund(tx: Tx, refund: Reversal): Promise<Taken> {
  const { taken, promotional } = await takeFree(tx, refund, {
    kind: 'refund',
    counter: { account: 'external' },
    description: 'Refund of a top-up',
  })
  await writeOff(tx, refund, { kind: 'refund', amount: refund.amount - taken })
  return { taken, promotional }
}

/** The refund did not reach the payer: the money is ours again. */
export async function undoRefund(tx: Tx, refund: Reversal & Taken): Promise<void> {
  await undo(tx, refund, { kind: 'refund_failed', description: 'Refund failed, credits are back' })
}

/** The bank gave the money of a lost dispute back. */
export async function undoDisputeLost(tx: Tx, dispute: Reversal & Taken): Promise<void> {
  await undo(tx, dispute, {
    kind: 'dispute_reinstated',
    description: 'Lost dispute reversed, credits are back',
  })
}

/** Keeps what the wallet has of a payment that is disputed; answers how much that is. */
export async function freezeDisputed(
  tx: Tx,
  dispute: Reversal,
): Promise<{ frozen: bigint; promotional: bigint }> {
  const { taken, promotional } = await takeFree(tx, dispute, {
    kind: 'dispute',
    counter: { account: 'disputed', owner: dispute.topup_id },
    description: 'Disputed payment, frozen until the bank decides',
  })
  return { frozen: taken, promotional }
}

/** The bank decided for us: what was frozen is there again. */
export async function releaseDisputed(
  tx: Tx,
  dispute: Reversal & { promotional: bigint },
): Promise<void> {
  if (dispute.amount === 0n) return
  await postOne(tx, {
    id: mintWalletId(dispute.account_id, dispute.at),
    wallet_id: dispute.account_id,
    amount: dispute.amount,
    promotional: dispute.promotional,
    kind: 'dispute_won',
    counter: { account: 'disputed', owner: dispute.topup_id },
    description: 'Dispute won, credits are back',
    event: { reason: 'dispute_won' },
  })
}

/** The bank took the money: what was frozen goes, then what the wallet has, and the rest is lost. */
export async function takeDisputed(
  tx: Tx,
  dispute: Reversal & { frozen: bigint; promotional: bigint },
): Promise<Taken> {
  const rest = dispute.amount - dispute.frozen
  const more = await takeFree(
    tx,
    { ...dispute, amount: rest },
    { kind: 'dispute_lost', counter: { account: 'external' }, description: 'Dispute lost' },
  )
  if (dispute.frozen > 0n) {
    await tx.run(POST_BOOK_ENTRY, [
      mintWalletId(dispute.account_id, dispute.at),
      'dispute_lost',
      'disputed',
      dispute.topup_id,
      'external',
      null,
      dispute.frozen,
      null,
    ])
  }
  await writeOff(tx, dispute, { kind: 'dispute_lost', amount: rest - more.taken })
  return {
    taken: dispute.frozen + more.taken,
    promotional: dispute.promotional + more.promotional,
  }
}

type Taking = Pick<Parameters<typeof postOne>[1], 'counter' | 'description'> & {
  kind: 'refund' | 'dispute' | 'dispute_lost'
}

async function takeFree(tx: Tx, reversal: Reversal, taking: Taking): Promise<Taken> {
  const { account_id, at } = reversal
  // Locked before it is read: nothing can be held or spent between the look and the posting.
  await tx.run(LOCK_WALLET, [bucketOf(account_id), account_id])
  const wallet = await readBalance(tx, account_id)
  if (!wallet) return { taken: 0n, promotional: 0n }
  const amount = reversal.amount < wallet.available ? reversal.amount : wallet.available
  if (amount <= 0n) return { taken: 0n, promotional: 0n }
  await postOne(tx, {
    ...taking,
    id: mintWalletId(account_id, at),
    wallet_id: account_id,
    amount: -amount,
    event: { reason: taking.kind },
  })
  const paid = wallet.balance - wallet.promotional
  return { taken: amount, promotional: amount > paid ? amount - paid : 0n }
}

async function undo(
  tx: Tx,
  { account_id, topup_id, amount, taken, promotional, at }: Reversal & Taken,
  { kind, description }: { kind: 'refund_failed' | 'dispute_reinstated'; description: string },
): Promise<void> {
  if (taken > 0n) {
    await postOne(tx, {
      id: mintWalletId(account_id, at),
      wallet_id: account_id,
      amount: taken,
      promotional,
      kind,
      counter: { account: 'external' },
      description,
      event: { reason: kind },
    })
  }
  if (amount === taken) return
  await tx.run(POST_BOOK_ENTRY, [
    mintWalletId(account_id, at),
    kind,
    'external',
    null,
    'write_off',
    null,
    amount - taken,
    `Top-up ${topup_id}: no loss after all`,
  ])
}

async function writeOff(
  tx: Tx,
  { account_id, topup_id, at }: Reversal,
  loss: { kind: 'refund' | 'dispute_lost'; amount: bigint },
): Promise<void> {
  if (loss.amount === 0n) return
  await tx.run(POST_BOOK_ENTRY, [
    mintWalletId(account_id, at),
    loss.kind,
    'write_off',
    null,
    'external',
    null,
    loss.amount,
    `Top-up ${topup_id}: the wallet did not have it`,
  ])
}
