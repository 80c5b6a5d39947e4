// Promotional credits once more, written from the rules and not from the SQL: a wallet is two pots. Calls are paid from the
// free pot first, everything else that goes out is taken from the paid pot first.

import type { PromotionalCredits } from '../../src/wallet/promotional.ts'

export type Pots = { free: bigint; paid: bigint; held: bigint }

export class PotsModel {
  readonly wallets: Pots[]
  readonly #mode: PromotionalCredits
  /** What calls took from the paid pots, and what was earned. */
  paid_spent = 0n
  payable = 0n
  not_payable = 0n

  constructor(mode: PromotionalCredits, wallets: number) {
    this.#mode = mode
    this.wallets = Array.from({ length: wallets }, () => ({ free: 0n, paid: 0n, held: 0n }))
  }

  wallet(index: number): Pots {
    const wallet = this.wallets[index]
    if (!wallet) throw new Error('no such wallet')
    return wallet
  }

  give(index: number, amount: bigint, pot: 'free' | 'paid'): void {
    this.wallet(index)[pot] += amount
  }

  available(index: number): bigint {
    const { free, paid, held } = this.wallet(index)
    return free + paid - held
  }

  transfer(from: number, to: number, amount: bigint): boolean {
    const payer = this.wallet(from)
    if (from === to || amount > this.available(from)) return false
    if (this.#mode === 'spend_only' && amount > payer.paid) return false
    this.take(from, amount)
    this.wallet(to).paid += amount
    return true
  }

  /** Paid credits first; answers how many free ones had to go too. */
  take(index: number, amount: bigint): bigint {
    const wallet = this.wallet(index)
    const paid = smaller(amount, wallet.paid)
    wallet.paid -= paid
    wallet.free -= amount - paid
    return amount - paid
  }

  /** A call that may take all that nobody else holds. */
  call(index: number, { cost, markup }: { cost: bigint; markup: bigint }): bigint {
    const wallet = this.wallet(index)
    const charged = smaller(cost + markup, this.available(index))
    const free = smaller(charged, wallet.free)
    wallet.free -= free
    wallet.paid -= charged - free
    this.paid_spent += charged - free
    // One credit after the other: free ones come first, and the cost is covered before the markup.
    const earned = charged > cost ? charged - cost : 0n
    const earned_free = free > cost ? free - cost : 0n
    if (this.#mode === 'as_money') this.payable += earned
    else {
      this.payable += earned - earned_free
      this.not_payable += earned_free
    }
    return charged
  }
}

function smaller(left: bigint, right: bigint): bigint {
  return left < right ? left : right
}
