// A message of the output while it is written: parts of text and of refusal, one open at a time.

import type { ItemStatus, OpenItem } from './open-item.ts'
import type { ItemPlace } from './records.ts'
import type { OutputItem } from './terms.ts'

type Part = { type: 'output_text' | 'refusal'; text: string }

export class MessageItem implements OpenItem {
  readonly #place: ItemPlace
  readonly #parts: Part[] = []
  #status: ItemStatus = 'in_progress'

  constructor(place: ItemPlace) {
    this.#place = place
  }

  open(): string {
    return this.#place.writeItem('added', this)
  }

  /** Empty text opens a part all the same. */
  add(type: Part['type'], text: string): string {
    const last = this.#parts.at(-1)
    if (last?.type === type) {
      last.text += text
      return this.#writeDelta(last, text)
    }
    const closed = this.#closePart()
    const part: Part = { type, text: '' }
    this.#parts.push(part)
    const opened = this.#writePart('added', part)
    part.text = text
    return closed + opened + this.#writeDelta(part, text)
  }

  close(status: ItemStatus): string {
    if (this.#status !== 'in_progress') return ''
    const closed = this.#closePart()
    this.#status = status
    return closed + this.#place.writeItem('done', this)
  }

  breakOff(): void {
    if (this.#status === 'in_progress') this.#status = 'incomplete'
  }

  present(): OutputItem {
    return {
      id: this.#place.id,
      type: 'message',
      status: this.#status,
      content: this.#parts.map(presentPart),
      role: 'assistant',
    }
  }

  #closePart(): string {
    const part = this.#parts.at(-1)
    if (part === undefined) return ''
    const done =
      part.type === 'refusal'
        ? this.#write('refusal.done', () => `"refusal":${JSON.stringify(part.text)}`)
        : this.#write('output_text.done', () => `"text":${JSON.stringify(part.text)},"logprobs":[]`)
    return done + this.#writePart('done', part)
  }

  #writeDelta(part: Part, text: string): string {
    if (text === '') return ''
    return part.type === 'refusal'
      ? this.#write('refusal.delta', () => `"delta":${JSON.stringify(text)}`)
      : this.#write('output_text.delta', () => `"delta":${JSON.stringify(text)},"logprobs":[]`)
  }

  #writePart(type: 'added' | 'done', part: Part): string {
    return this.#write(`content_part.${type}`, () => `"part":${JSON.stringify(presentPart(part))}`)
  }

  #write(type: string, membersOf: () => string): string {
    return this.#place.write(type, () => `"content_index":${this.#parts.length - 1},${membersOf()}`)
  }
}

function presentPart({ type, text }: Part) {
  if (type === 'refusal') return { type, refusal: text }
  return { type, annotations: [], logprobs: [], text }
}
