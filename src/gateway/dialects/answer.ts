// Puts the events of one answer together, for a reply that is sent whole.

import type { ChatEvent, StopReason, Usage } from './chat-types.ts'

export type AnswerBlock =
  | { kind: 'text' | 'refusal'; text: string }
  | { kind: 'text_signature'; signature: string }
  | { kind: 'thinking'; text: string; signature: string | undefined }
  | { kind: 'redacted_thinking'; data: string }
  | ToolCall

export type ToolCall = {
  kind: 'tool_call'
  index: number
  id: string
  name: string
  signature: string | undefined
  /** JSON text, as the model wrote it. */
  arguments: string
}

type Stop = Extract<ChatEvent, { kind: 'stop' }>

export type Choice = {
  index: number
  blocks: AnswerBlock[]
  stop: Pick<Stop, 'reason' | 'stop_sequence' | 'details'> | undefined
}

export type Answer = { id: string; choices: Choice[]; usage: Usage }

export const NO_USAGE: Usage = {
  input_tokens: 0,
  cache_read_tokens: 0,
  cache_write_5m_tokens: 0,
  cache_write_1h_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
}

export function collectAnswer(events: readonly ChatEvent[]): Answer {
  const choices = new Map<number, Choice>()
  const answer = { id: '', usage: NO_USAGE }
  const choiceOf = (index: number): Choice => {
    const choice = choices.get(index) ?? { index, blocks: [], stop: undefined }
    choices.set(index, choice)
    return choice
  }
  for (const event of events) {
    if (event.kind === 'start') answer.id = event.id
    else if (event.kind === 'usage') answer.usage = event.usage
    else addToChoice(choiceOf('choice' in event ? event.choice : 0), event)
  }
  if (choices.size === 0) choiceOf(0)
  const sorted = [...choices.values()].sort((first, second) => first.index - second.index)
  return { ...answer, choices: sorted }
}

/** A model that calls tools has not ended its turn, whatever the provider forgot to say. */
export function stopReasonOf(choice: Choice): StopReason {
  if (choice.stop !== undefined) return choice.stop.reason
  return choice.blocks.some((block) => block.kind === 'tool_call') ? 'tool_calls' : 'end'
}

function addToChoice(choice: Choice, event: Exclude<ChatEvent, { kind: 'start' | 'usage' }>): void {
  const { blocks } = choice
  switch (event.kind) {
    case 'text':
    case 'refusal':
      return addText(blocks, event.kind, event.text)
    case 'thinking':
      return addThinking(blocks, event.text, undefined)
    case 'thinking_signature':
      return addThinking(blocks, '', event.signature)
    case 'text_signature':
      blocks.push({ kind: 'text_signature', signature: event.signature })
      return
    case 'redacted_thinking':
      blocks.push({ kind: 'redacted_thinking', data: event.data })
      return
    case 'tool_call': {
      const { kind, index, id, name, signature } = event
      blocks.push({ kind, index, id, name, signature, arguments: '' })
      return
    }
    case 'tool_arguments': {
      const call = blocks.find((block) => block.kind === 'tool_call' && block.index === event.index)
      if (call?.kind === 'tool_call') call.arguments += event.fragment
      return
    }
    case 'stop':
      choice.stop = event
  }
}

function addText(blocks: AnswerBlock[], kind: 'text' | 'refusal', text: string): void {
  const last = blocks.at(-1)
  if (text === '') return
  if (last?.kind === kind) last.text += text
  else blocks.push({ kind, text })
}

function addThinking(blocks: AnswerBlock[], text: string, signature: string | undefined): void {
  const last = blocks.at(-1)
  if (last?.kind === 'thinking' && last.signature === undefined) {
    last.text += text
    last.signature = signature
  } else if (text !== '' || signature !== undefined) {
    blocks.push({ kind: 'thinking', text, signature })
  }
}
