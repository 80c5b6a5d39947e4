// The records of one stream of the Responses API. Each has a name, which stands in its data too, and the next number.

import { appendMember, findMember, replaceValue } from '../json-scan.ts'
import type { OpenItem } from './open-item.ts'

export class Records {
  readonly #is_silent: boolean
  #next = 0

  /** `is_silent`: the response is sent whole, and nobody reads a record. */
  constructor({ is_silent = false } = {}) {
    this.#is_silent = is_silent
  }

  /** `membersOf` gives JSON members without their braces. */
  write(type: string, membersOf?: () => string): string {
    if (this.#is_silent) return ''
    const rest = membersOf ? `,${membersOf()}` : ''
    const data = `{"type":"${type}","sequence_number":${this.#next}${rest}}`
    this.#next += 1
    return `event: ${type}\ndata: ${data}\n\n`
  }

  /** A record of the provider, which changes in nothing but its number. */
  relay(type: string, data: string): string {
    const number = String(this.#next)
    this.#next += 1
    const member = findMember(data, 'sequence_number')
    const numbered = member && replaceValue(data, member, number)
    const record = numbered ?? appendMember(data, 'sequence_number', number) ?? data
    return `event: ${type}\ndata: ${record.replaceAll('\n', '\ndata: ')}\n\n`
  }
}

/** Where one item stands: what is written about it names it. */
export class ItemPlace {
  readonly id: string
  readonly #records: Records
  readonly #output_index: number
  /** Made once, because most records are small. */
  readonly #members: string

  constructor(records: Records, { id, output_index }: { id: string; output_index: number }) {
    this.id = id
    this.#records = records
    this.#output_index = output_index
    this.#members = `"item_id":"${id}","output_index":${output_index}`
  }

  writeItem(type: 'added' | 'done', item: Pick<OpenItem, 'present'>): string {
    return this.#records.write(`response.output_item.${type}`, () => {
      return `"output_index":${this.#output_index},"item":${JSON.stringify(item.present())}`
    })
  }

  /** Of something inside the item; `type` without `response.` in front. */
  write(type: string, membersOf: () => string): string {
    return this.#records.write(`response.${type}`, () => `${this.#members},${membersOf()}`)
  }
}
