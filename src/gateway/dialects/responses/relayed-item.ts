// One item of a response that is relayed, as far as it has come: what a response that breaks off says of it.

import { type JsonRecord, numberOf, recordOf, textOf } from '../../upstreams/json-values.ts'

/** A part of a message or of a summary, or the arguments of a call. */
type Piece = { part: JsonRecord; text: string }

export class RelayedItem {
  #item: JsonRecord = {}
  #is_done = false
  readonly #pieces = new Map<number, Piece>()

  /** The item as the provider opens or ends it. */
  tell(item: JsonRecord, is_done: boolean): void {
    this.#item = item
    this.#is_done = is_done
  }

  /** A record about something inside it. */
  hear(type: string, record: JsonRecord): void {
    const index = numberOf(record['content_index'] ?? record['summary_index']) ?? 0
    if (type.endsWith('_part.added')) {
      this.#pieces.set(index, { part: recordOf(record['part']), text: '' })
    } else if (type.endsWith('.delta')) {
      const piece = this.#pieces.get(index) ?? { part: {}, text: '' }
      this.#pieces.set(index, piece)
      piece.text += textOf(record['delta'])
    }
  }

  present(): JsonRecord {
    if (this.#is_done) return this.#item
    const { status } = this.#item
    const ended = status === undefined ? {} : { status: 'incomplete' }
    return { ...this.#item, ...this.#heard(), ...ended }
  }

  #heard(): JsonRecord {
    const pieces = [...this.#pieces.values()]
    const text = pieces.map((piece) => piece.text).join('')
    switch (this.#item['type']) {
      case 'message':
        return { content: pieces.map(presentPart) }
      case 'reasoning':
        return { summary: pieces.map(presentPart) }
      case 'function_call':
        return { arguments: text }
      case 'custom_tool_call':
        return { input: text }
      default:
        return {}
    }
  }
}

function presentPart({ part, text }: Piece): JsonRecord {
  return part['type'] === 'refusal' ? { ...part, refusal: text } : { ...part, text }
}
