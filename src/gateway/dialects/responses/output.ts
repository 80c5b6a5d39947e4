// The output of one answer: neutral events become items. A message and a thought end where anything else begins; tool
// calls stay open until their arguments are whole, so several may be open at once.

import type { ChatEvent } from '../chat-types.ts'
import { CallItem } from './call-item.ts'
import { type IdPrefix, type IdSource, mintId } from './ids.ts'
import { MessageItem } from './message-item.ts'
import type { ItemStatus, OpenItem } from './open-item.ts'
import { ReasoningItem, type ReasoningTerms } from './reasoning-item.ts'
import { ItemPlace, type Records } from './records.ts'
import type { OutputItem, ResponsesTerms } from './terms.ts'

export type OutputTerms = ReasoningTerms &
  Pick<ResponsesTerms, 'tools' | 'stores_items'> & { ids: IdSource }

/** What an answer says, without its frame. */
export type OutputEvent = Exclude<ChatEvent, { kind: 'start' | 'usage' | 'stop' }>

type CallEvent = Extract<ChatEvent, { kind: 'tool_call' }>

/** Each method returns the records to send. */
export class Output {
  readonly #records: Records
  readonly #terms: OutputTerms
  readonly #items: OpenItem[] = []
  readonly #calls = new Map<number, CallItem>()
  /** The last item, if it can go on. */
  #current: MessageItem | ReasoningItem | undefined
  /** Of the message that is open: it may come with the first of its words, and must not tear it apart. */
  readonly #text_signatures: string[] = []

  constructor(records: Records, terms: OutputTerms) {
    this.#records = records
    this.#terms = terms
  }

  write(event: OutputEvent): string {
    switch (event.kind) {
      case 'text':
      case 'refusal':
        return event.text === '' ? '' : this.#say(event.kind, event.text)
      case 'thinking':
        return event.text === '' ? '' : this.#think(event.text)
      case 'thinking_signature':
        return this.#prove((item) => item.sign(event.signature))
      case 'redacted_thinking':
        return this.#endThought() + this.#prove((item) => item.redact(event.data))
      case 'text_signature':
        return this.#proveText(event.signature)
      case 'tool_call':
        return this.#call(event)
      case 'tool_arguments':
        return this.#calls.get(event.index)?.add(event.fragment) ?? ''
    }
  }

  /**
   * Ends all that is open. A complete answer has a message or a call: some clients ask again, and pay again, where
   * there is none.
   */
  close(status: ItemStatus): string {
    const speaks = this.#items.some((item) => !(item instanceof ReasoningItem))
    let closed = speaks || status !== 'completed' ? '' : this.#say('text', '')
    for (const item of this.#items) closed += item.close(status)
    return closed + this.#endCurrent()
  }

  /** As `close`, without records: a client must not run a call that was cut off. */
  breakOff(): void {
    for (const item of this.#items) item.breakOff()
  }

  present(): OutputItem[] {
    return this.#items.map((item) => item.present())
  }

  /** With what brings thoughts back. */
  presentSealed(): OutputItem[] {
    return this.#items.map((item) =>
      item instanceof ReasoningItem ? item.presentSealed() : item.present(),
    )
  }

  #say(kind: 'text' | 'refusal', text: string): string {
    const type = kind === 'text' ? 'output_text' : kind
    const current = this.#current
    if (current instanceof MessageItem) return current.add(type, text)
    const ended = this.#endCurrent()
    const message = new MessageItem(this.#place('msg'))
    this.#current = message
    return ended + this.#open(message) + message.add(type, text)
  }

  #think(text: string): string {
    const [thought, opened] = this.#thought()
    return opened + thought.think(text)
  }

  /** A proof ends the thought that it stands in, which may be one of its own, without any text. */
  #prove(add: (item: ReasoningItem) => void): string {
    // Such an item says nothing to a client that cannot send it back.
    if (!(this.#current instanceof ReasoningItem) && !this.#brings_back) return ''
    const [thought, opened] = this.#thought()
    add(thought)
    return opened + this.#endCurrent()
  }

  #proveText(signature: string): string {
    if (!(this.#current instanceof MessageItem)) {
      return this.#prove((item) => item.signText(signature))
    }
    this.#text_signatures.push(signature)
    return ''
  }

  /** The open thought, or a new one and what opening it sends. */
  #thought(): [ReasoningItem, string] {
    if (this.#current instanceof ReasoningItem) return [this.#current, '']
    const ended = this.#endCurrent()
    const thought = new ReasoningItem(this.#place('rs'), this.#terms)
    this.#current = thought
    return [thought, ended + this.#open(thought)]
  }

  /** A call stands after its proof. */
  #call({ index, id, name, signature }: CallEvent): string {
    const proof = signature === undefined ? '' : this.#prove((item) => item.signCall(id, signature))
    const ended = proof + this.#endCurrent()
    const tool = this.#terms.tools.get(name) ?? { kind: 'function', name }
    const place = this.#place(tool.kind === 'custom' ? 'ctc' : 'fc')
    const call = new CallItem(place, { call_id: id, tool })
    this.#calls.set(index, call)
    return ended + this.#open(call)
  }

  #open(item: OpenItem): string {
    this.#items.push(item)
    return item.open()
  }

  #endThought(): string {
    return this.#current instanceof ReasoningItem ? this.#endCurrent() : ''
  }

  #endCurrent(): string {
    const ended = this.#current?.close('completed') ?? ''
    this.#current = undefined
    const proofs = this.#text_signatures.splice(0).map((signature) => this.#proveText(signature))
    return ended + proofs.join('')
  }

  /** Of the item that is opened next. */
  #place(prefix: IdPrefix): ItemPlace {
    const output_index = this.#items.length
    return new ItemPlace(this.#records, {
      id: mintId(this.#terms.ids, prefix, output_index),
      output_index,
    })
  }

  get #brings_back(): boolean {
    return this.#terms.includes_sealed || this.#terms.stores_items
  }
}
