// Which price list a call is charged at: asked of the database once for each model.

import { setTimeout as wait } from 'node:timers/promises'
import type { EmbeddingModel, Model, TokenPrices } from '../catalog/models.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import { storePriceList } from '../wallet/price-lists.ts'

/** A settlement does not wait for a number: the prices then stand in its row. */
const ANSWER_WITHIN_MS = 500

/** What a usage row says about its prices: where they stand or, if the database did not answer, what they are. */
export type Priced = { price_list_id: number } | { details: { prices: object } }

export class PriceLists {
  readonly #db: Db
  readonly #clock: Clock
  readonly #known = new WeakMap<Model, Priced>()

  constructor(db: Db, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  async find(model: Model): Promise<Priced> {
    const known = this.#known.get(model)
    if (known) return known
    const list = describePrices(model)
    const stored = storePriceList(this.#db, this.#clock, list).catch(() => undefined)
    const id = await Promise.race([stored, wait(ANSWER_WITHIN_MS, undefined, { ref: false })])
    if (id === undefined) return { details: { prices: list } }
    const found = { price_list_id: id }
    this.#known.set(model, found)
    return found
  }
}

function describePrices(model: Model): object {
  const { name, upstream_id } = model
  if (model.kind === 'embedding') return { model: name, upstream_id, prices: tokenPrices(model) }
  if (model.kind !== 'chat') return { model: name, upstream_id, price: model.price }
  const { prices, long_prompt } = model
  return { model: name, upstream_id, prices, long_prompt }
}

/** What is charged by the token has its prices where chat has them, for receipts and lists of calls. */
function tokenPrices({ price: input }: EmbeddingModel): TokenPrices {
  return { input, cache_read: input, cache_write_5m: input, cache_write_1h: input, output: 0n }
}
