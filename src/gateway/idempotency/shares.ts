// How much each developer has kept. Read from the database now and then, and counted here in between: what other
// processes add meanwhile may go over the bound, by as much as they add in that time.

import type { Db } from '../../platform/db.ts'
import { createLruCache } from '../../platform/lru-cache.ts'
import { SELECT_SHARE } from './store.ts'

/** Of one developer, for all of their keys and users together. */
export const SHARE_MAX = { keys: 100_000, bytes: 50 * 1024 * 1024 }
const READ_EVERY_MS = 60_000
const DEVELOPERS_MAX = 10_000

export type Share = { keys: number; bytes: number }

export class Shares {
  readonly #db: Db
  readonly #shares = createLruCache<string, Share>(DEVELOPERS_MAX, { ttl: READ_EVERY_MS })
  readonly max: Share

  constructor(db: Db, max: Share = SHARE_MAX) {
    this.#db = db
    this.max = max
  }

  async hasRoom(developer_id: string, { keys, bytes }: Share): Promise<boolean> {
    const share = await this.#read(developer_id)
    return share.keys + keys <= this.max.keys && share.bytes + bytes <= this.max.bytes
  }

  add(developer_id: string, { keys, bytes }: Share): void {
    const share = this.#shares.get(developer_id)
    if (!share) return
    share.keys += keys
    share.bytes += bytes
  }

  async #read(developer_id: string): Promise<Share> {
    const known = this.#shares.get(developer_id)
    if (known) return known
    const [row] = await this.#db.run(SELECT_SHARE, [developer_id])
    const share = { keys: Number(row?.keys ?? 0n), bytes: Number(row?.bytes ?? 0n) }
    this.#shares.set(developer_id, share)
    return share
  }
}
