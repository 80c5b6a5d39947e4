// Writes a message as Anthropic's full sequence of events. Blocks of that protocol never interleave, while
// other providers mix the arguments of parallel calls: so the blocks stand in a queue in the order in which
// they began. The first is written as it comes, the others wait. The first gives way as soon as another block
// waits and nothing more can come for it: text and thought at once, a tool call when its arguments are whole.

import { NO_USAGE } from '../answer.ts'
import type { ChatEvent, StopReason, Usage } from '../chat-types.ts'
import {
  type DialectStream,
  type ProviderFrame,
  presentNumbers,
  type StreamOptions,
  type SvcNumbers,
} from '../dialect.ts'
import { findMember, replaceValue } from '../json-scan.ts'
import { ObjectEnd } from '../object-end.ts'
import { fallbackId, toAnthropicUsage, toStopReason } from './reply.ts'
import { markSignature } from './signatures.ts'

type Block = {
  kind: 'text' | 'refusal' | 'thinking' | 'redacted_thinking' | 'tool_call'
  /** JSON of `content_block` in content_block_start. */
  start: string
  /** JSON of deltas that wait until the block is the first. */
  waiting: string[]
  /** Set for tool calls. */
  input?: ObjectEnd
  signed?: boolean
}

export class AnthropicStream implements DialectStream {
  readonly #options: StreamOptions
  readonly #queue: Block[] = []
  readonly #calls = new Map<number, Block>()
  /** Position in the message of the first block of the queue. */
  #index = 0
  #id: string
  #started = false
  #relayed = false
  /** Whether the provider's block at `#index` is open. */
  #relayed_block = false
  #refused = false
  #stop: { reason: StopReason; stop_sequence: string | null; details?: unknown } | undefined
  #usage: Usage = NO_USAGE

  constructor(options: StreamOptions) {
    this.#options = options
    this.#id = fallbackId(options.created)
  }

  write(event: ChatEvent): string {
    if (event.kind === 'start' && event.id !== '') this.#id = event.id
    // This format has one answer only.
    if ('choice' in event && event.choice !== 0) return ''
    return this.#writeStart() + this.#writeEvent(event)
  }

  relay(frame: ProviderFrame): string {
    this.#relayed = true
    const { name, data } = frame
    const type = name ?? /^\{"type":"([a-z_]+)"/.exec(data)?.[1] ?? 'message'
    // It ends the message for every client, so it waits for settlement.
    if (type === 'message_stop') return ''
    if (type === 'content_block_start') this.#relayed_block = true
    else if (type === 'content_block_stop') {
      this.#relayed_block = false
      this.#index += 1
    }
    return toEvent(type, type === 'message_start' ? this.#rename(data) : data)
  }

  reachLimit(usage: Usage): string {
    this.#usage = usage
    this.#stop = { reason: 'length', stop_sequence: null }
    if (!this.#relayed) return ''
    // The block that the provider has not closed, and then the end of a message of ours, which has no block open.
    this.#started = true
    return (this.#relayed_block ? this.#closeFirst() : '') + this.#writeEnd()
  }

  finish(svc: SvcNumbers): string {
    const { billing_mode: _mode, ...numbers } = presentNumbers(svc)
    const end = this.#relayed ? '' : this.#writeEnd()
    const stop = toEvent('message_stop', '{"type":"message_stop"}')
    return end + stop + toEvent('svc_usage', JSON.stringify({ type: 'ping', ...numbers }))
  }

  fail(body: string): string {
    return toEvent('error', body)
  }

  keepAlive(): string {
    return toEvent('ping', '{"type":"ping"}')
  }

  #writeEvent(event: ChatEvent): string {
    switch (event.kind) {
      case 'start':
        return ''
      case 'refusal':
        this.#refused = true
        return this.#writeText(event)
      case 'text':
      case 'thinking':
        return this.#writeText(event)
      case 'thinking_signature': {
        const [block, opened] = this.#blockFor('thinking')
        block.signed = true
        return (
          opened + this.#writeDelta(block, { type: 'signature_delta', signature: event.signature })
        )
      }
      case 'text_signature':
        return this.#writeProof(markSignature('text', event.signature))
      case 'redacted_thinking':
        return this.#push({
          kind: 'redacted_thinking',
          start: JSON.stringify({ type: 'redacted_thinking', data: event.data }),
          waiting: [],
        })
      case 'tool_call':
        return this.#openCall(event)
      case 'tool_arguments':
        return this.#writeArguments(event.index, event.fragment)
      case 'usage':
        this.#usage = event.usage
        return ''
      case 'stop':
        this.#stop = event
        return ''
    }
  }

  #writeStart(): string {
    if (this.#started) return ''
    this.#started = true
    const { output_tokens_details: _details, ...usage } = toAnthropicUsage(this.#startUsage())
    const message = {
      id: this.#id,
      type: 'message',
      role: 'assistant',
      model: this.#options.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage,
    }
    return toEvent('message_start', JSON.stringify({ type: 'message_start', message }))
  }

  /** Most providers count at the end: until then clients are shown our own count of the prompt. */
  #startUsage(): Usage {
    const { input_tokens, cache_read_tokens } = this.#usage
    if (input_tokens + cache_read_tokens > 0) return this.#usage
    return { ...this.#usage, input_tokens: this.#options.estimatePrompt?.() ?? 0 }
  }

  #writeText({
    kind,
    text,
  }: Extract<ChatEvent, { kind: 'text' | 'refusal' | 'thinking' }>): string {
    if (text === '') return ''
    const [block, opened] = this.#blockFor(kind)
    const delta =
      kind === 'thinking'
        ? { type: 'thinking_delta', thinking: text }
        : { type: 'text_delta', text }
    return opened + this.#writeDelta(block, delta)
  }

  /** The last block if it is of this kind and still open; otherwise a new one, and what opening it sends. */
  #blockFor(kind: 'text' | 'refusal' | 'thinking'): [Block, string] {
    const last = this.#queue.at(-1)
    if (last?.kind === kind && last.signed !== true) return [last, '']
    const start =
      kind === 'thinking'
        ? { type: 'thinking', thinking: '', signature: '' }
        : { type: 'text', text: '' }
    const block: Block = { kind, start: JSON.stringify(start), waiting: [] }
    return [block, this.#push(block)]
  }

  #writeProof(signature: string): string {
    const start = JSON.stringify({ type: 'thinking', thinking: '', signature: '' })
    const waiting = [JSON.stringify({ type: 'signature_delta', signature })]
    return this.#push({ kind: 'thinking', start, waiting, signed: true })
  }

  #openCall({ index, id, name, signature }: Extract<ChatEvent, { kind: 'tool_call' }>): string {
    const proof = signature === undefined ? '' : this.#writeProof(markSignature('call', signature))
    const start = JSON.stringify({ type: 'tool_use', id, name, input: {} })
    const block: Block = { kind: 'tool_call', start, waiting: [], input: new ObjectEnd() }
    this.#calls.set(index, block)
    return proof + this.#push(block)
  }

  #writeArguments(index: number, fragment: string): string {
    const block = this.#calls.get(index)
    // After the end of the object only white space could follow, and the block may be closed already.
    if (fragment === '' || block?.input === undefined || block.input.reached) return ''
    block.input.read(fragment)
    const delta = { type: 'input_json_delta', partial_json: fragment }
    return this.#writeDelta(block, delta) + this.#advance()
  }

  #writeDelta(block: Block, delta: Record<string, string>): string {
    const json = JSON.stringify(delta)
    if (block === this.#queue[0]) return this.#deltaEvent(json)
    block.waiting.push(json)
    return ''
  }

  #push(block: Block): string {
    this.#queue.push(block)
    return this.#queue.length === 1 ? this.#openFirst() : this.#advance()
  }

  #advance(): string {
    let written = ''
    while (this.#queue.length > 1 && this.#queue[0]?.input?.reached !== false) {
      written += this.#closeFirst()
    }
    return written
  }

  #openFirst(): string {
    const [block] = this.#queue
    if (block === undefined) return ''
    const start = `{"type":"content_block_start","index":${this.#index},"content_block":${block.start}}`
    const deltas = block.waiting.map((json) => this.#deltaEvent(json)).join('')
    block.waiting = []
    return toEvent('content_block_start', start) + deltas
  }

  #closeFirst(): string {
    const stop = `{"type":"content_block_stop","index":${this.#index}}`
    this.#queue.shift()
    this.#index += 1
    return toEvent('content_block_stop', stop) + this.#openFirst()
  }

  #deltaEvent(json: string): string {
    const data = `{"type":"content_block_delta","index":${this.#index},"delta":${json}}`
    return toEvent('content_block_delta', data)
  }

  #writeEnd(): string {
    let end = this.#writeStart()
    while (this.#queue.length > 0) end += this.#closeFirst()
    const reason = this.#stop?.reason ?? (this.#calls.size > 0 ? 'tool_calls' : 'end')
    const delta = {
      stop_reason: toStopReason(reason, this.#refused),
      stop_sequence: this.#stop?.stop_sequence ?? null,
      stop_details: this.#stop?.details,
    }
    const usage = toAnthropicUsage(this.#usage)
    return end + toEvent('message_delta', JSON.stringify({ type: 'message_delta', delta, usage }))
  }

  /** The name stands inside the message. */
  #rename(data: string): string {
    const message = findMember(data, 'message')
    const model = message && findMember(data, 'model', message.valueStart)
    return model ? replaceValue(data, model, JSON.stringify(this.#options.model)) : data
  }
}

/** A line break can only be white space between two members: each line needs its own field name. */
function toEvent(name: string, json: string): string {
  const data = json.includes('\n') ? json.replaceAll('\n', '\ndata: ') : json
  return `event: ${name}\ndata: ${data}\n\n`
}
