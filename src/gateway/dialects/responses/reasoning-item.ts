// A reasoning item of the output while it is written: a summary, if asked for, and sealed what the provider needs to see
// again: its thought with the signature, or its proofs of a call or of a text.

import type { ItemStatus, OpenItem } from './open-item.ts'
import type { ItemPlace } from './records.ts'
import type { SealedReasoning, Thought } from './sealed-reasoning.ts'
import type { OutputItem } from './terms.ts'

/** Of the whole reply. */
export type ReasoningTerms = {
  shows_summary: boolean
  includes_sealed: boolean
  seal: (reasoning: Omit<SealedReasoning, 'sealed_for'>) => string
}

export class ReasoningItem implements OpenItem {
  readonly #place: ItemPlace
  readonly #terms: ReasoningTerms
  #text = ''
  #thought: Thought | undefined
  #call_signatures: Record<string, string> = {}
  #text_signature: string | undefined
  #sealed: string | undefined
  #is_open = true

  constructor(place: ItemPlace, terms: ReasoningTerms) {
    this.#place = place
    this.#terms = terms
  }

  open(): string {
    return this.#place.writeItem('added', this)
  }

  think(text: string): string {
    if (text === '') return ''
    const is_first = this.#text === ''
    this.#text += text
    if (!this.#terms.shows_summary) return ''
    const opened = is_first ? this.#writePart('added', '') : ''
    const type = 'reasoning_summary_text.delta'
    return opened + this.#write(type, () => `"delta":${JSON.stringify(text)}`)
  }

  /** The provider's proof of the thought. */
  sign(signature: string): void {
    this.#thought = { kind: 'thinking', text: this.#text, signature }
  }

  /** The provider shows the thought to nobody. */
  redact(data: string): void {
    this.#thought = { kind: 'redacted_thinking', data }
  }

  signCall(call_id: string, signature: string): void {
    this.#call_signatures[call_id] = signature
  }

  signText(signature: string): void {
    this.#text_signature = signature
  }

  close(_status: ItemStatus): string {
    if (!this.#is_open) return ''
    this.#is_open = false
    const done = this.#has_summary
      ? this.#write('reasoning_summary_text.done', () => `"text":${JSON.stringify(this.#text)}`) +
        this.#writePart('done', this.#text)
      : ''
    return done + this.#place.writeItem('done', this)
  }

  breakOff(): void {
    this.#is_open = false
  }

  present(): OutputItem {
    return this.#terms.includes_sealed && !this.#is_open ? this.presentSealed() : this.#plain()
  }

  /** With what brings it back, also for a client that did not ask to see that. */
  presentSealed(): OutputItem {
    const thoughts = this.#thought ? [this.#thought] : []
    const call_signatures = this.#call_signatures
    const text_signature = this.#text_signature
    const has_proof =
      thoughts.length + Object.keys(call_signatures).length > 0 || text_signature !== undefined
    if (!has_proof) return this.#plain()
    this.#sealed ??= this.#terms.seal({ thoughts, call_signatures, text_signature })
    return { ...this.#plain(), encrypted_content: this.#sealed }
  }

  get #has_summary(): boolean {
    return this.#terms.shows_summary && this.#text !== ''
  }

  #plain(): OutputItem {
    const summary = this.#has_summary ? [{ type: 'summary_text', text: this.#text }] : []
    return { id: this.#place.id, type: 'reasoning', summary }
  }

  #writePart(type: 'added' | 'done', text: string): string {
    const part = { type: 'summary_text', text }
    return this.#write(`reasoning_summary_part.${type}`, () => `"part":${JSON.stringify(part)}`)
  }

  /** A summary has one part: each thought is an item of its own. */
  #write(type: string, membersOf: () => string): string {
    return this.#place.write(type, () => `"summary_index":0,${membersOf()}`)
  }
}
