// Items of answers, kept for some days: a client may send `{type: 'item_reference', id}` in place of what a model said, and
// a thought without its content.
// What somebody sent is never kept. Whether an id is another's, expired or invented makes no difference to who asks.

import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/db.ts'
import type { Log } from '../../platform/log.ts'
import type { Metrics } from '../../platform/metrics.ts'
import { digestSecret } from '../../platform/tokens.ts'
import { isObject, refuse } from '../dialects/body-fields.ts'
import { dayOfItem } from '../dialects/responses/ids.ts'
import { refuseReference } from '../dialects/responses/items.ts'
import type { OutputItem } from '../dialects/responses/terms.ts'
import { findReferences, type Reference, replaceReferences } from './references.ts'
import { type ItemOwner, openItem, sealItem } from './sealed-item.ts'
import { INSERT_ITEMS, KEEP_PARTITIONS, SELECT_ITEMS } from './store.ts'

const DAY_MS = 86_400_000
/** Calls of functions are sent whole by every client. */
const KEPT_TYPES = ['message', 'reasoning', 'custom_tool_call']
/** Of one response. Who gets more sends it again. */
export const RESPONSE_MAX_BYTES = 256 * 1024
export const REFERENCES_MAX = 1_000
/** What the references of one request may bring: as much as a body may hold. */
const REFERRED_MAX_BYTES = 10 * 1024 * 1024

export type ResponseItemsOptions = {
  db: Db
  clock: Clock
  log: Log
  metrics: Pick<Metrics, 'response_items'>
  /** How long items are kept; 0: they are not. */
  kept_days: number
}

export class ResponseItems {
  readonly #options: ResponseItemsOptions
  /** Until which day this process knows that there are partitions. */
  #prepared_for = ''

  constructor(options: ResponseItemsOptions) {
    this.#options = options
  }

  /** Before the last words of the answer: whoever has seen an id can refer to it. Never throws. */
  async keep(owner: ItemOwner, present: () => readonly OutputItem[] | undefined): Promise<void> {
    const { db, log, metrics } = this.#options
    try {
      const kept = (present() ?? []).filter(({ type }) => KEPT_TYPES.includes(type))
      if (kept.length === 0) return
      const sealed = kept.map((item) => sealItem(item, owner))
      const bytes = sealed.reduce((sum, one) => sum + one.length, 0)
      if (bytes > RESPONSE_MAX_BYTES) return metrics.response_items.inc({ outcome: 'too_large' })
      await this.#prepare()
      const days = kept.map(({ id }) => this.#dayOf(id) ?? this.#dayBefore(0))
      const digests = kept.map(({ id }) => digestSecret(id))
      await db.run(INSERT_ITEMS, [owner.account_id, days, digests, sealed])
      metrics.response_items.inc({ outcome: 'kept' })
    } catch (error) {
      metrics.response_items.inc({ outcome: 'failed' })
      log.warn({ err: error }, 'the items of a response were not kept')
    }
  }

  /** The body with the items that it refers to in their places. Throws 400 for what is not there. */
  async resolve(owner: ItemOwner, body: unknown): Promise<unknown> {
    const references = withinBound(findReferences(body))
    if (references.length === 0) return body
    const found = await this.#find(owner, new Set(references.map(({ id }) => id)))
    let bytes = 0
    const items = references.flatMap(({ id, index, is_thought }) => {
      const item = found.get(id)
      if (is_thought && !isThought(item)) return []
      if (item === undefined) return refuseReference(id, `input[${index}]`)
      bytes += item.bytes
      return [{ index, value: item.value }]
    })
    if (bytes > REFERRED_MAX_BYTES) refuseLength()
    return replaceReferences(body, items)
  }

  /** One day's partitions are made and dropped by whoever comes first. */
  async keepPartitions(): Promise<{ partition_name: string; dropped: boolean }[]> {
    const { db, kept_days } = this.#options
    const today = this.#dayBefore(0)
    const changed = await db.run(KEEP_PARTITIONS, [today, this.#dayBefore(kept_days)])
    this.#prepared_for = today
    return changed
  }

  async #prepare(): Promise<void> {
    if (this.#prepared_for !== this.#dayBefore(0)) await this.keepPartitions()
  }

  async #find(owner: ItemOwner, ids: ReadonlySet<string>): Promise<Map<string, FoundItem>> {
    const found = new Map<string, FoundItem>()
    const days = this.#daysOf(ids)
    if (days.length === 0) return found
    const by_digest = new Map([...ids].map((id) => [digestSecret(id).toString('hex'), id]))
    const digests = [...ids].map(digestSecret)
    const values = [days, digests, owner.account_id, REFERRED_MAX_BYTES]
    for (const { id_digest, sealed } of await this.#options.db.run(SELECT_ITEMS, values)) {
      const id = by_digest.get(id_digest.toString('hex'))
      if (sealed === null) refuseLength()
      const value = id === undefined ? undefined : openItem(sealed, id, owner)
      if (id !== undefined && value !== undefined) found.set(id, { value, bytes: sealed.length })
    }
    return found
  }

  /** Of those that are kept. An id that says none of them, such as a provider's, may be of any. */
  #daysOf(ids: ReadonlySet<string>): string[] {
    const { kept_days } = this.#options
    if (kept_days === 0) return []
    const said = new Set([...ids].map((id) => this.#dayOf(id)))
    const kept = Array.from({ length: kept_days + 1 }, (_, index) => this.#dayBefore(index))
    return said.has(undefined) ? kept : kept.filter((day) => said.has(day))
  }

  /** A provider's id may look like ours. Then it says a day of any century, and hardly one that is kept. */
  #dayOf(id: string): string | undefined {
    const day = dayOfItem(id)
    if (day === undefined || day > this.#dayBefore(0)) return undefined
    return day < this.#dayBefore(this.#options.kept_days) ? undefined : day
  }

  #dayBefore(days: number): string {
    const at = new Date(this.#options.clock.now().getTime() - days * DAY_MS)
    return at.toISOString().slice(0, 'YYYY-MM-DD'.length)
  }
}

type FoundItem = { value: unknown; bytes: number }

/** A long conversation is no fault: of its thoughts the latest are looked for. */
function withinBound(all: readonly Reference[]): readonly Reference[] {
  if (all.length <= REFERENCES_MAX) return all
  const references = all.filter(({ is_thought }) => !is_thought)
  const room = REFERENCES_MAX - references.length
  if (room < 0) {
    refuse('input', `refers to more than ${REFERENCES_MAX} items`, 'Send the items themselves.')
  }
  const thoughts = all.filter(({ is_thought }) => is_thought)
  return [...references, ...thoughts.slice(thoughts.length - room)]
}

function isThought(item: FoundItem | undefined): boolean {
  return isObject(item?.value) && item.value['type'] === 'reasoning'
}

function refuseLength(): never {
  refuse('input', 'is too long with the items that it refers to', 'Send less.')
}
