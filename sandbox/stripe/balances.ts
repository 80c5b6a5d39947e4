// Money per currency, in cents: of the platform, and of each connected account.

export type Balances = {
  of(currency: string): number
  set(currency: string, amount: number): void
  add(currency: string, amount: number): void
  entries(): [currency: string, amount: number][]
}

export function createBalances(start: Readonly<Record<string, number>> = {}): Balances {
  const amounts = new Map(Object.entries(start))
  const of = (currency: string) => amounts.get(currency) ?? 0
  return {
    of,
    set: (currency, amount) => void amounts.set(currency, amount),
    add: (currency, amount) => void amounts.set(currency, of(currency) + amount),
    entries: () => [...amounts],
  }
}
