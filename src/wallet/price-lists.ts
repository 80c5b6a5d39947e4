// Price lists: the prices that calls were charged at, stored once for each list. A usage row has only the number.

import { hash } from 'node:crypto'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import { toJson } from '../platform/money.ts'
import { INSERT_PRICE_LIST, SELECT_PRICE_LIST } from './price-list-store.ts'

/** The number of the list; undefined if the database could not say it. Two processes may store the same list at once. */
export async function storePriceList(
  db: Db,
  clock: Clock,
  list: object,
): Promise<number | undefined> {
  const prices = toJson(list)
  const digest = Buffer.from(hash('sha256', prices), 'hex')
  const found = await db.run(SELECT_PRICE_LIST, [digest])
  if (found[0]) return found[0].id
  const made = await db.run(INSERT_PRICE_LIST, [digest, prices, clock.now()])
  return made[0]?.id ?? (await db.run(SELECT_PRICE_LIST, [digest]))[0]?.id
}
