// Rows by id, and lists of them in Stripe's order, newest first. Creating never scans: each index is
// a list that only grows at its end, and a page is found in it by halving.

import { missingParam, sandboxFull } from './errors.ts'

export const MAX_ROWS = 100_000

export type Row = { id: string; created: number }
export type PageWish = { limit: number; starting_after?: string; ending_before?: string }
export type Page<Item> = { data: Item[]; has_more: boolean }

type Placed<Item> = { place: number; row: Item }
type KeyOf<Item> = (row: Item) => string | null
type Index<Item> = { keyOf: KeyOf<Item>; lists: Map<string, Placed<Item>[]> }

export class Table<Item extends Row> {
  readonly noun: string
  readonly #placed = new Map<string, Placed<Item>>()
  readonly #order: Placed<Item>[] = []
  readonly #indexes: ReadonlyMap<string, Index<Item>>
  #count = 0

  constructor(noun: string, indexes: Readonly<Record<string, KeyOf<Item>>> = {}) {
    this.noun = noun
    this.#indexes = new Map(
      Object.entries(indexes).map(([name, keyOf]) => [name, { keyOf, lists: new Map() }]),
    )
  }

  get size(): number {
    return this.#placed.size
  }

  get(id: string): Item | undefined {
    return this.#placed.get(id)?.row
  }

  /** Oldest first. */
  *values(): Generator<Item> {
    for (const { row } of this.#placed.values()) yield row
  }

  insert(row: Item): Item {
    if (this.#order.length >= MAX_ROWS) throw sandboxFull(`${this.noun}s`, MAX_ROWS)
    this.#count += 1
    const placed = { place: this.#count, row }
    this.#placed.set(row.id, placed)
    this.#order.push(placed)
    for (const name of this.#indexes.keys()) this.#addTo(name, placed)
    return row
  }

  /** For a row whose key has changed; lists leave out rows whose key is no longer theirs. */
  reindex(row: Item, name: string): void {
    const placed = this.#placed.get(row.id)
    if (placed !== undefined) this.#addTo(name, placed)
  }

  remove(id: string): void {
    this.#placed.delete(id)
  }

  /** The rows under one key of an index, newest first. */
  under(name: string, key: string): Item[] {
    return this.page({ limit: MAX_ROWS }, { under: { name, key } }).data
  }

  page(
    wish: PageWish,
    filter: { under?: { name: string; key: string }; keep?: (row: Item) => boolean } = {},
  ): Page<Item> {
    const { under, keep } = filter
    const index = under === undefined ? undefined : this.#indexes.get(under.name)
    const list = under === undefined ? this.#order : (index?.lists.get(under.key) ?? [])
    const isWanted = ({ row }: Placed<Item>) =>
      this.#placed.has(row.id) &&
      (under === undefined || index?.keyOf(row) === under.key) &&
      (keep === undefined || keep(row))
    const found = this.#walk(list, wish, isWanted)
    const has_more = found.length > wish.limit
    const data = found.slice(0, wish.limit).map(({ row }) => row)
    return { data: wish.ending_before === undefined ? data : data.toReversed(), has_more }
  }

  /** One row more than the limit, so that the page knows whether there are more. */
  #walk(
    list: readonly Placed<Item>[],
    wish: PageWish,
    isWanted: (placed: Placed<Item>) => boolean,
  ): Placed<Item>[] {
    const forward = wish.ending_before !== undefined
    let at = forward
      ? findAfter(list, this.#placeOf(wish.ending_before, 'ending_before'))
      : findAfter(list, this.#placeOf(wish.starting_after, 'starting_after') - 1) - 1
    const found: Placed<Item>[] = []
    while (found.length <= wish.limit) {
      const placed = list[at]
      if (placed === undefined) break
      if (isWanted(placed)) found.push(placed)
      at += forward ? 1 : -1
    }
    return found
  }

  #placeOf(id: string | undefined, param: string): number {
    if (id === undefined) return Infinity
    const placed = this.#placed.get(id)
    if (placed === undefined) throw missingParam(this.noun, id, param)
    return placed.place
  }

  #addTo(name: string, placed: Placed<Item>): void {
    const index = this.#indexes.get(name)
    const key = index?.keyOf(placed.row) ?? null
    if (index === undefined || key === null) return
    const list = index.lists.get(key)
    if (list === undefined) index.lists.set(key, [placed])
    else if (list.at(-1) !== placed) list.push(placed)
  }
}

/** The number of places up to and including the given one. */
function findAfter(list: readonly { place: number }[], place: number): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((list[middle]?.place ?? Infinity) <= place) low = middle + 1
    else high = middle
  }
  return low
}
