// The prices that calls are charged at, stored once for each list: a usage row has only the number of its list.

import { hash } from 'node:crypto'
import type { ChatModel } from '../catalog/models.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import { toJson } from '../platform/money.ts'
import { INSERT_PRICE_LIST, SELECT_PRICE_LIST } from '../wallet/price-list-store.ts'

/** What a usage row says about its prices: where they stand or, if nobody could be asked, what they are. */
export type Priced = { price_list_id: number } | { details: { prices: object } }

export class PriceLists {
  readonly #db: Db
  readonly #clock: Clock
  readonly #known = new WeakMap<ChatModel, Priced>()

  constructor(db: Db, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** Asks the database once for each model; a call never fails for want of a number. */
  async find(model: ChatModel): Promise<Priced> {
    const known = this.#known.get(model)
    if (known) return known
    const { name, upstream_id, prices, long_prompt } = model
    const list = { model: name, upstream_id, prices, long_prompt }
    const id = await this.#store(toJson(list)).catch(() => undefined)
    if (id === undefined) return { details: { prices: list } }
    const found = { price_list_id: id }
    this.#known.set(model, found)
    return found
  }

  /** Two processes may store the same list at once: the second reads what the first wrote. */
  async #store(prices: string): Promise<number | undefined> {
    const digest = Buffer.from(hash('sha256', prices), 'hex')
    const found = await this.#db.run(SELECT_PRICE_LIST, [digest])
    if (found[0]) return found[0].id
    const made = await this.#db.run(INSERT_PRICE_LIST, [digest, prices, this.#clock.now()])
    return made[0]?.id ?? (await this.#db.run(SELECT_PRICE_LIST, [digest]))[0]?.id
  }
}
