// One item of a response that is relayed, as far as it has come: what a response that breaks off says of it.

import { type JsonRecord, numberOf, textOf } from '../../upstreams/json-values.ts'

type Piece = { type: string; text: string }

export class RelayedItem {
  #item: JsonRecord = {}
  #is_done = false
  /** Texts that came in deltas, by the number of their part. */
  readonly #pieces = new Map<number, Piece>()

  /** The item as the provider opens or ends it. */
  tell(item: JsonRecord, is_done: boolean): void {
    this.#item = item
    this.#is_done = is_done
  }

  /** A record about something inside it. */
  hear(type: string, record: JsonRecord): void {
    if (!type.endsWith('.delta')) return
    const index = numberOf(record['content_index'] ?? record['summary_index']) ?? 0
    const piece = this.#pieces.get(index) ?? { type, text: '' }
    this.#pieces.set(index, piece)
    piece.text += textOf(record['delta'])
  }

  present(): JsonRecord {
    if (this.#is_done) return this.#item
    return { ...this.#item, ...this.#heard(), status: 'incomplete' }
  }

  #heard(): JsonRecord {
    const pieces = [...this.#pieces.values()]
    const text = pieces.map((piece) => piece.text).join('')
    switch (this.#item['type']) {
      case 'message':
        return { content: pieces.map(presentPart) }
      case 'reasoning':
        return { summary: pieces.map((piece) => ({ type: 'summary_text', text: piece.text })) }
      case 'function_call':
        return { arguments: text }
      case 'custom_tool_call':
        return { input: text }
      default:
        return {}
    }
  }
}

function presentPart({ type, text }: Piece): JsonRecord {
  if (type === 'response.refusal.delta') return { type: 'refusal', refusal: text }
  return { type: 'output_text', annotations: [], logprobs: [], text }
}
