// Writes a chat completion as a stream of chunks. Translated: a role chunk for each choice, its text, thought
// and tool calls, and at the end, after settlement, finish chunks, usage if asked for, [DONE] and our numbers.
// Relayed: the provider's chunks under the public model name, without the usage the client did not ask for.

import { NO_USAGE } from '../answer.ts'
import type { ChatEvent, ReplyStyle, StopReason, Usage } from '../chat-types.ts'
import {
  type DialectStream,
  type ProviderFrame,
  presentNumbers,
  type StreamOptions,
  type SvcNumbers,
} from '../dialect.ts'
import { findMember, removeMember, replaceValue } from '../json-scan.ts'
import {
  extraContent,
  fallbackId,
  finishReason,
  freeTextOf,
  PLAIN_STYLE,
  toOpenAiUsage,
  toSeconds,
} from './reply.ts'
import { presentThought, type Thought } from './thoughts.ts'

const NULL_USAGE = ',"usage":null}'

/** `text`: all the arguments of a tool that takes free text, which is whole only at the end. */
type OpenCall = { has_arguments: boolean; text: string | undefined }
/** One answer of the stream. */
type OpenChoice = { calls: Map<number, OpenCall>; reason: StopReason | undefined }

export class OpenAiStream implements DialectStream {
  readonly #options: StreamOptions
  readonly #style: ReplyStyle
  readonly #modelJson: string
  readonly #choices = new Map<number, OpenChoice>()
  #id: string
  #head = ''
  #created: number
  #usage: Usage = NO_USAGE
  /** The thought that has no proof yet, and how many have one. */
  #thought = ''
  #thoughts = 0
  #relayed = false
  #first_chunk: string | undefined
  /** How the provider's chunks begin, up to the model name, and how ours begin instead. */
  #prefix = { theirs: '', ours: '' }

  constructor(options: StreamOptions) {
    this.#options = options
    this.#style = options.style ?? PLAIN_STYLE
    this.#modelJson = JSON.stringify(options.model)
    this.#id = fallbackId(options.created)
    this.#created = toSeconds(options.created)
  }

  write(event: ChatEvent): string {
    switch (event.kind) {
      case 'start':
        if (event.id !== '') this.#id = event.id
        return this.#openChoice(0)
      case 'usage':
        this.#usage = event.usage
        return ''
      case 'thinking':
        this.#thought += event.text
        return this.#writeText(0, 'reasoning_content', this.#style.hides_thinking ? '' : event.text)
      case 'text':
        return this.#writeText(event.choice, 'content', event.text)
      case 'text_signature': {
        const delta = { content: '', ...extraContent(event.signature) }
        return this.#openChoice(event.choice) + this.#delta(event.choice, JSON.stringify(delta))
      }
      case 'refusal':
        return this.#writeText(event.choice, 'refusal', event.text)
      case 'tool_call':
        return this.#openCall(event)
      case 'tool_arguments':
        return this.#writeArguments(event.choice, event.index, event.fragment)
      case 'stop': {
        const role = this.#openChoice(event.choice)
        this.#choice(event.choice).reason = event.reason
        return role
      }
      case 'thinking_signature':
        return this.#writeThought({ ...event, kind: 'thinking', text: this.#thought })
      case 'redacted_thinking':
        return this.#writeThought(event)
    }
  }

  relay({ data }: ProviderFrame): string {
    this.#relayed = true
    if (data === '[DONE]') return ''
    this.#first_chunk ??= data
    const { theirs, ours } = this.#prefix
    // Comparing a slice is three times as fast as `startsWith`.
    if (theirs !== '' && data.slice(0, theirs.length) === theirs && !data.includes('\n')) {
      if (this.#options.include_usage) return `data: ${ours}${data.slice(theirs.length)}\n\n`
      // The text ends here, so this can be nothing but the last member of the chunk itself.
      if (data.endsWith(NULL_USAGE)) {
        return `data: ${ours}${data.slice(theirs.length, -NULL_USAGE.length)}}\n\n`
      }
    }
    const chunk = this.#options.include_usage ? data : withoutUsage(data)
    return chunk === undefined ? '' : toData(this.#rename(chunk))
  }

  reachLimit(usage: Usage): string {
    this.write({ kind: 'usage', usage, raw: null })
    if (this.#first_chunk !== undefined) this.#continueFrom(this.#first_chunk)
    this.#choice(0).reason = 'length'
    return this.#relayed ? this.#writeEnd() : ''
  }

  finish(svc: SvcNumbers): string {
    const { billing_mode: _mode, ...numbers } = presentNumbers(svc)
    const trailer = JSON.stringify({ choices: [], svc: numbers })
    const end = this.#relayed ? '' : this.#writeEnd()
    return `${end}${toData('[DONE]')}${toData(trailer)}`
  }

  fail(body: string): string {
    return toData(body)
  }

  keepAlive(): string {
    return ': keep-alive\n\n'
  }

  #choice(index: number): OpenChoice {
    const choice = this.#choices.get(index) ?? { calls: new Map(), reason: undefined }
    this.#choices.set(index, choice)
    return choice
  }

  /** The role chunk, before anything else of a choice. */
  #openChoice(index: number): string {
    if (this.#choices.has(index)) return ''
    this.#choice(index)
    return this.#chunk(index, '{"role":"assistant","content":"","refusal":null}', 'null')
  }

  #writeText(choice: number, field: string, text: string): string {
    const role = this.#openChoice(choice)
    return text === '' ? role : role + this.#delta(choice, `{"${field}":${JSON.stringify(text)}}`)
  }

  /** Once more, whole and with its proof: only so can it be sent back. */
  #writeThought(thought: Thought): string {
    const detail = JSON.stringify(presentThought(thought, this.#thoughts))
    this.#thought = ''
    this.#thoughts += 1
    const role = this.#openChoice(0)
    if (this.#style.hides_thinking) return role
    return role + this.#delta(0, `{"reasoning_details":[${detail}]}`)
  }

  #openCall(call: Extract<ChatEvent, { kind: 'tool_call' }>): string {
    const { choice, index, id, name } = call
    const role = this.#openChoice(choice)
    const { calls } = this.#choice(choice)
    const is_text = this.#style.free_text_tools.includes(name)
    // The old form has room for one call.
    if (this.#style.function_call && calls.size > 0) return role
    calls.set(index, { has_arguments: false, text: is_text ? '' : undefined })
    if (this.#style.function_call) {
      const opened = JSON.stringify({ name, arguments: '' })
      return role + this.#delta(choice, `{"function_call":${opened}}`)
    }
    const opened = JSON.stringify({
      index,
      id,
      ...(is_text
        ? { type: 'custom', custom: { name, input: '' } }
        : { type: 'function', function: { name, arguments: '' } }),
      ...extraContent(call.signature),
    })
    return role + this.#delta(choice, `{"tool_calls":[${opened}]}`)
  }

  #writeArguments(choice: number, index: number, fragment: string): string {
    const call = this.#choices.get(choice)?.calls.get(index)
    if (fragment === '' || call === undefined) return ''
    call.has_arguments = true
    if (call.text !== undefined) {
      call.text += fragment
      return ''
    }
    const target = `{"arguments":${JSON.stringify(fragment)}}`
    if (this.#style.function_call) return this.#delta(choice, `{"function_call":${target}}`)
    return this.#delta(choice, `{"tool_calls":[{"index":${index},"function":${target}}]}`)
  }

  /** A call without input has arguments all the same: clients parse them. Only the end shows who has none. */
  #completeCalls(choice: number): string {
    let completed = ''
    for (const [index, { has_arguments, text }] of this.#choice(choice).calls) {
      if (text !== undefined) {
        const custom = JSON.stringify({ input: freeTextOf(text) })
        completed += this.#delta(choice, `{"tool_calls":[{"index":${index},"custom":${custom}}]}`)
      } else if (!has_arguments) completed += this.#writeArguments(choice, index, '{}')
    }
    return completed
  }

  #writeEnd(): string {
    let end = this.#openChoice(0)
    for (const index of this.#choices.keys()) end += this.#completeCalls(index)
    for (const [index, { reason, calls }] of this.#choices) {
      const stop = reason ?? (calls.size > 0 ? 'tool_calls' : 'end')
      end += this.#chunk(index, '{}', `"${finishReason(stop, this.#style)}"`)
    }
    if (!this.#options.include_usage) return end
    const usage = JSON.stringify(toOpenAiUsage(this.#usage))
    return `${end}data: ${this.#openChunk()}"choices":[],"usage":${usage}}\n\n`
  }

  #delta(choice: number, delta: string): string {
    return this.#chunk(choice, delta, 'null')
  }

  #chunk(choice: number, delta: string, finish_reason: string): string {
    const rest = `"delta":${delta},"logprobs":null,"finish_reason":${finish_reason}}]`
    const usage = this.#options.include_usage ? ',"usage":null' : ''
    return `data: ${this.#openChunk()}"choices":[{"index":${choice},${rest}${usage}}\n\n`
  }

  /** What we add to a relayed stream has the id and the time of the provider's chunks. */
  #continueFrom(chunk: string): void {
    const [id, created] = ['id', 'created'].map((name) => readMember(chunk, name))
    if (typeof id === 'string') this.#id = id
    if (typeof created === 'number') this.#created = created
  }

  #openChunk(): string {
    if (this.#head === '') {
      const created = this.#created
      const id = JSON.stringify(this.#id)
      this.#head = `{"id":${id},"object":"chat.completion.chunk","created":${created},"model":${this.#modelJson},`
    }
    return this.#head
  }

  #rename(chunk: string): string {
    const model = findMember(chunk, 'model')
    if (model === undefined) return chunk
    const theirs = chunk.slice(0, model.valueEnd)
    this.#prefix = { theirs, ours: replaceValue(theirs, model, this.#modelJson) }
    return this.#prefix.ours + chunk.slice(model.valueEnd)
  }
}

function readMember(chunk: string, name: string): unknown {
  const member = findMember(chunk, name)
  return member && JSON.parse(chunk.slice(member.valueStart, member.valueEnd))
}

/** Undefined: the chunk carried nothing but usage. */
function withoutUsage(chunk: string): string | undefined {
  const usage = findMember(chunk, 'usage')
  if (usage === undefined) return chunk
  const choices = findMember(chunk, 'choices')
  const listed = choices && chunk.slice(choices.valueStart, choices.valueEnd)
  const empty = listed === undefined || /^\[\s*\]$/.test(listed)
  const counted = chunk.slice(usage.valueStart, usage.valueEnd) !== 'null'
  return empty && counted ? undefined : removeMember(chunk, usage)
}

/** A line break can only be white space between two members: each line needs its own field name. */
function toData(json: string): string {
  return `data: ${json.includes('\n') ? json.replaceAll('\n', '\ndata: ') : json}\n\n`
}
