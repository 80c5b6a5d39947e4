// The ledger once more, in plain maps, written from the rules and not from the SQL: one item after another,
// no batches, no locks.

export type ModelHold = {
  wallet: number
  amount: bigint
  expires_ms: number
  dead_node: boolean
  key: number | undefined
}

export type ModelAnswer = {
  state: string
  charged?: bigint
  shortfall?: bigint
  before?: bigint
  after?: bigint
  granted?: bigint
}

type ModelWallet = { posted: bigint; held: bigint; postings: number }

export const KEY_LIMIT = 5_000n
export const MAX = 9_007_199_254_740_991n

export class Model {
  readonly wallets: ModelWallet[]
  readonly holds = new Map<string, ModelHold>()
  readonly settled = new Map<string, ModelAnswer>()
  readonly keys: { spent: bigint; held: bigint }[]

  constructor(wallets: number, keys: number, opening: bigint) {
    this.wallets = Array.from({ length: wallets }, () => ({
      posted: opening,
      held: 0n,
      postings: opening > 0n ? 1 : 0,
    }))
    this.keys = Array.from({ length: keys }, () => ({ spent: 0n, held: 0n }))
  }

  hold(id: string, ask: { min: bigint; max: bigint } & Omit<ModelHold, 'amount'>): ModelAnswer {
    const { min, max, ...rest } = ask
    const open = this.holds.get(id)
    if (open) return { state: 'granted', granted: open.amount }
    const wallet = this.#wallet(ask.wallet)
    const key = ask.key === undefined ? undefined : this.#key(ask.key)
    let free = wallet.posted - wallet.held
    if (key) free = smaller(free, KEY_LIMIT - key.spent - key.held)
    if (free >= min) {
      const amount = smaller(free, max)
      wallet.held += amount
      if (key) key.held += amount
      this.holds.set(id, { ...rest, amount })
      return { state: 'granted', granted: amount }
    }
    if (wallet.posted < min) return { state: 'insufficient' }
    if (key && KEY_LIMIT - key.spent < min) return { state: 'limit_reached' }
    return { state: 'blocked' }
  }

  settle(id: string, ask: { wallet: number; used: bigint; key: number | undefined }): ModelAnswer {
    const before = this.settled.get(id)
    if (before) return before
    const state = this.#letGo(id) ? 'settled' : 'late'
    const wallet = this.#wallet(ask.wallet)
    const key = ask.key === undefined ? undefined : this.#key(ask.key)
    let charged = smaller(ask.used, wallet.posted - wallet.held)
    if (key) charged = smaller(charged, larger(0n, KEY_LIMIT - key.spent - key.held))
    const answer = {
      state,
      charged,
      shortfall: ask.used - charged,
      before: wallet.posted,
      after: wallet.posted - charged,
    }
    wallet.posted -= charged
    if (charged > 0n) wallet.postings++
    if (key) key.spent += charged
    this.settled.set(id, answer)
    return answer
  }

  release(id: string): ModelAnswer {
    return { state: this.#letGo(id) ? 'voided' : 'gone' }
  }

  sweep(now_ms: number): number {
    let swept = 0
    for (const [id, hold] of this.holds) {
      if (hold.expires_ms > now_ms && !hold.dead_node) continue
      this.#letGo(id)
      swept++
    }
    return swept
  }

  /** Into the wallet, or out of it if negative. */
  move(wallet_index: number, amount: bigint): boolean {
    const wallet = this.#wallet(wallet_index)
    if (amount < 0n && wallet.posted - wallet.held + amount < 0n) return false
    if (wallet.posted + amount > MAX) return false
    wallet.posted += amount
    wallet.postings++
    return true
  }

  transfer(from: number, to: number, amount: bigint): boolean {
    if (from === to) return false
    const payer = this.#wallet(from)
    if (payer.posted - payer.held < amount) return false
    if (this.#wallet(to).posted + amount > MAX) return false
    return this.move(from, -amount) && this.move(to, amount)
  }

  #letGo(id: string): boolean {
    const hold = this.holds.get(id)
    if (!hold) return false
    this.holds.delete(id)
    this.#wallet(hold.wallet).held -= hold.amount
    if (hold.key !== undefined) this.#key(hold.key).held -= hold.amount
    return true
  }

  #wallet(index: number): ModelWallet {
    const wallet = this.wallets[index]
    if (!wallet) throw new Error('no such wallet')
    return wallet
  }

  #key(index: number): { spent: bigint; held: bigint } {
    const key = this.keys[index]
    if (!key) throw new Error('no such key')
    return key
  }
}

function smaller(left: bigint, right: bigint): bigint {
  return left < right ? left : right
}

function larger(left: bigint, right: bigint): bigint {
  return left > right ? left : right
}
