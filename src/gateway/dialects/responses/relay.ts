// Passes on a response that OpenAI wrote itself: its records as they came, its ids and its items. Ours are the numbers of
// the records, the name of the model, the names of tools, the seal on reasoning, what repeats the request, and the end,
// which waits for settlement. What the response says beyond the fields that clients are promised stays here: it is about
// the operator's account.

import {
  type JsonRecord,
  listOf,
  parseJson,
  recordOf,
  textOf,
} from '../../upstreams/json-values.ts'
import type { ChatEvent } from '../chat-types.ts'
import type { ProviderFrame, SvcNumbers } from '../dialect.ts'
import { readReasoning } from '../openai-reasoning.ts'
import type { Records } from './records.ts'
import { RelayedItem } from './relayed-item.ts'
import { pickFields, presentSvc, type ResponseHead } from './response-object.ts'
import type { SealedReasoning } from './sealed-reasoning.ts'
import type { OutputItem, ResponsesTerms } from './terms.ts'

export type RelayTerms = {
  /** Its id and its time are the provider's, once they are known. */
  head: ResponseHead
  terms: ResponsesTerms
  /** Whether what the payer has set the limit of the answer. */
  credits_limit: boolean
  seal: (reasoning: Omit<SealedReasoning, 'sealed_for'>) => string
}

export class ResponsesRelay {
  readonly #records: Records
  readonly #options: RelayTerms
  /** By their place in the output. */
  readonly #items = new Map<number, RelayedItem>()
  /** What brings reasoning back, by the ids of its items. */
  readonly #sealed = new Map<string, string>()
  /** The summary of the reasoning that has no proof yet. */
  #thought = ''
  /** As the provider began and ended it. */
  #begun: JsonRecord = {}
  #ended: JsonRecord | undefined

  constructor(records: Records, options: RelayTerms) {
    this.#records = records
    this.#options = options
  }

  relay({ data, events = [] }: ProviderFrame): string {
    const record = recordOf(parseJson(data))
    const type = textOf(record['type'])
    this.#hearThoughts(events)
    switch (type) {
      case 'response.created':
        return this.#begin(recordOf(record['response']))
      case 'response.output_item.added':
      case 'response.output_item.done':
        return this.#writeItem(type, record)
      case 'response.completed':
      case 'response.incomplete':
        this.#ended = recordOf(record['response'])
        return ''
      // Those that the client sees are ours.
      case 'response.queued':
      case 'response.in_progress':
      case 'keepalive':
      case '':
        return ''
      default:
        this.#items.get(placeOf(record))?.hear(type, record)
        return this.#records.relay(type, this.#rename(data, record))
    }
  }

  /** In place of all records: the response of a call that was not streamed. */
  hearWhole(body: string, events: readonly ChatEvent[]): void {
    this.#ended = recordOf(parseJson(body))
    this.#hearThoughts(events)
  }

  /** Of a response that came to its end. */
  items(): OutputItem[] {
    return this.#output((item) => this.#presentItem(item, true))
  }

  finish(svc: SvcNumbers): string {
    const response = this.end(svc)
    return this.#write(
      `response.${textOf(response['status'])}`,
      `"response":${JSON.stringify(response)}`,
    )
  }

  /** The response as it stands where something went wrong. */
  breakOff(error: { code: string; message: string }): JsonRecord {
    const output = [...this.#items.values()].map((item) => this.#presentItem(item.present(), false))
    return this.#present({ ...this.#begun, status: 'failed', error }, output)
  }

  /** The whole response. */
  end(svc: SvcNumbers): JsonRecord {
    const response = this.#ended ?? {}
    const output = this.#output((item) => this.#presentItem(item, false))
    const { reason } = recordOf(response['incomplete_details'])
    const out_of_credits = this.#options.credits_limit && reason === 'max_output_tokens'
    return { ...this.#present(response, output), svc: presentSvc({ ...svc, out_of_credits }) }
  }

  #output(present: (item: JsonRecord) => OutputItem): OutputItem[] {
    return listOf(this.#ended?.['output']).map((item) => present(recordOf(item)))
  }

  #present(response: JsonRecord, output: readonly OutputItem[]): JsonRecord {
    const { model, echo, id } = this.#options.head
    const fields = { ...pickFields(response), ...echo, model, output, service_tier: 'default' }
    return { ...fields, id: textOf(response['id']) || id, user: null }
  }

  /** With both records at once, so that a response that breaks off has them too. */
  #begin(response: JsonRecord): string {
    this.#begun = { ...response, status: 'in_progress' }
    const begun = `"response":${JSON.stringify(this.#present(this.#begun, []))}`
    return this.#write('response.created', begun) + this.#write('response.in_progress', begun)
  }

  #writeItem(type: string, record: JsonRecord): string {
    const place = placeOf(record)
    const source = recordOf(record['item'])
    const item = this.#items.get(place) ?? new RelayedItem()
    this.#items.set(place, item)
    item.tell(source, type.endsWith('.done'))
    const told = JSON.stringify(this.#presentItem(source, false))
    return this.#write(type, `"output_index":${place},"item":${told}`)
  }

  /** `brings_back`: also for a client that did not ask to see what brings reasoning back. */
  #presentItem(item: JsonRecord, brings_back: boolean): OutputItem {
    const { encrypted_content: _sealed_by_provider, ...rest } = item
    const told = {
      ...rest,
      ...this.#nameOf(item),
      id: textOf(item['id']),
      type: textOf(item['type']),
    }
    const sealed = this.#sealed.get(told.id)
    const includes = brings_back || this.#options.terms.includes_sealed_reasoning
    return sealed === undefined || !includes ? told : { ...told, encrypted_content: sealed }
  }

  /** Of a call: what the client calls the tool. */
  #nameOf({ name }: JsonRecord): { name?: string; namespace?: string } {
    const tool = typeof name === 'string' ? this.#options.terms.tools.get(name) : undefined
    if (tool === undefined) return {}
    return { name: tool.name, ...(tool.namespace !== undefined && { namespace: tool.namespace }) }
  }

  /** Some records about a call name it. */
  #rename(data: string, record: JsonRecord): string {
    const { name } = this.#nameOf(record)
    return name === undefined ? data : JSON.stringify({ ...record, ...this.#nameOf(record) })
  }

  #hearThoughts(events: readonly ChatEvent[]): void {
    const { includes_sealed_reasoning, stores_items } = this.#options.terms
    if (!includes_sealed_reasoning && !stores_items) return
    for (const event of events) {
      if (event.kind === 'thinking') this.#thought += event.text
      else if (event.kind === 'thinking_signature') this.#sealThought(event.signature)
    }
  }

  /** What only OpenAI reads is sealed with what it is for, so that no other model is sent it. */
  #sealThought(signature: string): void {
    const { id } = readReasoning(signature) ?? {}
    const thought = { kind: 'thinking', text: this.#thought, signature } as const
    this.#thought = ''
    if (id === undefined) return
    const proofs = { call_signatures: {}, text_signature: undefined }
    this.#sealed.set(id, this.#options.seal({ thoughts: [thought], ...proofs }))
  }

  #write(type: string, members: string): string {
    return this.#records.write(type, () => members)
  }
}

function placeOf(record: JsonRecord): number {
  const place = record['output_index']
  return typeof place === 'number' ? place : 0
}
