// The ledger once more, in plain maps, written from the rules and not from the SQL: one item after another,
// no batches, no locks.

export type ModelHold = {
  wallet: number
  amount: bigint
  expires_ms: number
  dead_node: boolean
  /** The counters it is part of. */
  limits: readonly number[]
}

export type ModelAnswer = {
  state: string
  charged?: bigint
  shortfall?: bigint
  before?: bigint
  after?: bigint
  granted?: bigint
  /** The counter whose limit refused. */
  refused_by?: number
}

type ModelWallet = { posted: bigint; held: bigint; postings: number }

/** What each counter may reach. */
export const LIMITS = [5_000n, 5_000n, 1_500n, 9_000n] as const
export const MAX = 9_007_199_254_740_991n

export class Model {
  readonly wallets: ModelWallet[]
  readonly holds = new Map<string, ModelHold>()
  readonly settled = new Map<string, ModelAnswer>()
  readonly counters = LIMITS.map((limit) => ({ limit, spent: 0n, held: 0n }))

  constructor(wallets: number, opening: bigint) {
    this.wallets = Array.from({ length: wallets }, () => ({
      posted: opening,
      held: 0n,
      postings: opening > 0n ? 1 : 0,
    }))
  }

  /** An open hold that asks for a larger minimum grows. */
  hold(
    id: string,
    ask: { min: bigint; max: bigint; grows: boolean } & Omit<ModelHold, 'amount'>,
  ): ModelAnswer {
    const { min, max, grows, ...rest } = ask
    const open = this.holds.get(id)
    const own = open?.amount ?? 0n
    if (open && (own >= min || !grows)) return { state: 'granted', granted: own }
    const wallet = this.#wallet(ask.wallet)
    let free = wallet.posted - wallet.held
    for (const { limit, spent, held } of this.#counters(ask.limits)) {
      free = smaller(free, limit - spent - held)
    }
    if (own + free >= min) {
      let more = smaller(free, max - own)
      if (grows && more > free / 4n) more = smaller(more, larger(min - own, free / 8n))
      wallet.held += more
      for (const counter of this.#counters(ask.limits)) counter.held += more
      this.holds.set(id, { ...(open ?? rest), amount: own + more })
      return { state: 'granted', granted: own + more }
    }
    if (wallet.posted < min) return { state: 'insufficient' }
    const refused_by = ask.limits.find((index) => {
      const [counter] = this.#counters([index])
      return counter !== undefined && counter.limit - counter.spent < min
    })
    if (refused_by !== undefined) return { state: 'limit_reached', refused_by }
    return { state: 'blocked' }
  }

  settle(
    id: string,
    ask: { wallet: number; used: bigint; limits: readonly number[] },
  ): ModelAnswer {
    const before = this.settled.get(id)
    if (before) return before
    const state = this.#letGo(id) ? 'settled' : 'late'
    const wallet = this.#wallet(ask.wallet)
    let charged = smaller(ask.used, wallet.posted - wallet.held)
    for (const { limit, spent, held } of this.#counters(ask.limits)) {
      charged = smaller(charged, larger(0n, limit - spent - held))
    }
    const answer = {
      state,
      charged,
      shortfall: ask.used - charged,
      before: wallet.posted,
      after: wallet.posted - charged,
    }
    wallet.posted -= charged
    if (charged > 0n) wallet.postings++
    for (const counter of this.#counters(ask.limits)) counter.spent += charged
    this.settled.set(id, answer)
    return answer
  }

  release(id: string): ModelAnswer {
    return { state: this.#letGo(id) ? 'voided' : 'gone' }
  }

  expired(now_ms: number): string[] {
    return [...this.holds].flatMap(([id, hold]) => (hold.expires_ms <= now_ms ? [id] : []))
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
    for (const counter of this.#counters(hold.limits)) counter.held -= hold.amount
    return true
  }

  #wallet(index: number): ModelWallet {
    const wallet = this.wallets[index]
    if (!wallet) throw new Error('no such wallet')
    return wallet
  }

  #counters(indexes: readonly number[]) {
    return indexes.map((index) => {
      const counter = this.counters[index]
      if (!counter) throw new Error('no such counter')
      return counter
    })
  }
}

function smaller(left: bigint, right: bigint): bigint {
  return left < right ? left : right
}

function larger(left: bigint, right: bigint): bigint {
  return left > right ? left : right
}
