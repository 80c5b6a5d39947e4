// Writes a response as a stream of records: what it is, its items one by one, and after settlement the whole response
// with our numbers.

import type { KeyObject } from 'node:crypto'
import type { Clock } from '../../../platform/clock.ts'
import { NO_USAGE } from '../answer.ts'
import type { ChatEvent, StopReason, Usage } from '../chat-types.ts'
import type { DialectStream, ProviderFrame, StreamOptions, SvcNumbers } from '../dialect.ts'
import { readFault } from './faults.ts'
import { mintId } from './ids.ts'
import { Output } from './output.ts'
import { Records } from './records.ts'
import { type RelayTerms, ResponsesRelay } from './relay.ts'
import {
  incompleteReason,
  presentResponse,
  type ResponseHead,
  type ResponseState,
} from './response-object.ts'
import type { ReasoningSeal } from './sealed-reasoning.ts'
import type { OutputItem, ResponsesTerms } from './terms.ts'

/** What every reply is made with. */
export type ReplyParts = {
  /** The secret that ids come from. */
  id_secret: Buffer | KeyObject
  reasoning: Pick<ReasoningSeal, 'seal'>
  clock: Clock
}

/** For a call whose request set none. */
const PLAIN_TERMS: ResponsesTerms = {
  echo: {},
  tools: new Map(),
  shows_summary: false,
  includes_sealed_reasoning: false,
  sealed_for: '',
  stores_items: false,
}

export class ResponsesStream implements DialectStream {
  readonly #records: Records
  readonly #output: Output
  readonly #head: ResponseHead
  readonly #clock: Clock
  #started = false
  /** The records that end the output, until they are sent. */
  #closing = ''
  #stop: StopReason | undefined
  #out_of_credits: boolean
  #usage: Usage = NO_USAGE
  /** Set where the provider writes the response itself. */
  #relayed: ResponsesRelay | undefined
  readonly openRelay: () => ResponsesRelay

  constructor(
    options: StreamOptions,
    { id_secret, reasoning, clock }: ReplyParts,
    records = new Records(),
  ) {
    this.#records = records
    const { call_id, created, model, style } = options
    const terms = style?.responses ?? PLAIN_TERMS
    const ids = { secret: id_secret, call_id, created }
    this.#clock = clock
    this.#out_of_credits = options.credits_limit ?? false
    this.#head = { id: mintId(ids, 'resp', 0), model, created, echo: terms.echo }
    const seal: RelayTerms['seal'] = (proofs) =>
      reasoning.seal({ sealed_for: terms.sealed_for, ...proofs })
    const includes_sealed = terms.includes_sealed_reasoning
    this.#output = new Output(this.#records, { ...terms, ids, includes_sealed, seal })
    const credits_limit = this.#out_of_credits
    this.openRelay = () =>
      new ResponsesRelay(this.#records, { head: this.#head, terms, credits_limit, seal })
  }

  write(event: ChatEvent): string {
    const start = this.#start()
    if (event.kind === 'usage') this.#usage = event.usage
    else if (event.kind === 'stop') this.#stop = event.reason
    else if (event.kind !== 'start') return start + this.#output.write(event)
    return start
  }

  relay(frame: ProviderFrame): string {
    this.#relayed ??= this.openRelay()
    return this.#relayed.relay(frame)
  }

  /** Holds of calls that are relayed do not grow, so this is never said of one. */
  reachLimit(usage: Usage): string {
    this.#usage = usage
    this.#stop = 'length'
    this.#out_of_credits = true
    return ''
  }

  /**
   * What was said, whole, with what brings thoughts back. After the last event, and after `reachLimit` where that is
   * called; the records that this ends are sent by `finish`.
   */
  items(): OutputItem[] {
    if (this.#relayed) return this.#relayed.items()
    this.#endOutput()
    return this.#output.presentSealed()
  }

  finish(svc: SvcNumbers, ended?: Date): string {
    if (this.#relayed) return this.#relayed.finish(svc)
    const response = this.respond(svc, ended)
    return this.#closing + this.#writeResponse(response.status, () => JSON.stringify(response))
  }

  /** The whole response, as `finish` ends with it. */
  respond(svc: SvcNumbers, ended = this.#clock.now()) {
    this.#endOutput()
    return this.#present(this.#end(svc, ended))
  }

  fail(body: string): string {
    const { told, fields } = readFault(body)
    const begun = this.#relayed ? '' : this.#closing + this.#start()
    const response = this.#relayed?.breakOff(told) ?? this.#breakOff(told)
    const failed = this.#writeResponse('failed', () => JSON.stringify(response))
    // Some clients notice only the one, some only the other.
    return begun + failed + this.#records.write('error', () => JSON.stringify(fields).slice(1, -1))
  }

  keepAlive(): string {
    return (this.#relayed ? '' : this.#start()) + this.#records.write('keepalive')
  }

  #start(): string {
    if (this.#started) return ''
    this.#started = true
    let response: string | undefined
    const responseOf = () => (response ??= JSON.stringify(this.#present({ status: 'in_progress' })))
    return (
      this.#writeResponse('created', responseOf) + this.#writeResponse('in_progress', responseOf)
    )
  }

  #breakOff(error: { code: string; message: string }) {
    this.#output.breakOff()
    return this.#present({ status: 'failed', error })
  }

  #endOutput(): void {
    const status = incompleteReason(this.#stop) ? 'incomplete' : 'completed'
    this.#closing += this.#start() + this.#output.close(status)
  }

  #end(svc: SvcNumbers, completed: Date): ResponseState {
    const usage = this.#usage
    const reason = incompleteReason(this.#stop)
    if (!reason) return { status: 'completed', completed, usage, svc }
    const out_of_credits = this.#out_of_credits && this.#stop === 'length'
    return { status: 'incomplete', reason, usage, svc: { ...svc, out_of_credits } }
  }

  #present(state: ResponseState) {
    return presentResponse(this.#head, this.#output.present(), state)
  }

  #writeResponse(type: string, responseOf: () => string): string {
    return this.#records.write(`response.${type}`, () => `"response":${responseOf()}`)
  }
}
