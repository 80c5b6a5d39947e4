// A response as a stream: it is created, each item opens, grows and closes, and the last event has
// everything. Every event is numbered.

import type { JsonObject } from '../../json.ts'
import { makeLetters } from '../../random.ts'
import type { Frame } from '../../reply.ts'
import { splitChunks } from '../../tokens.ts'
import { SERVER_ERROR } from '../errors.ts'
import {
  type Generated,
  incompleteReason,
  itemBody,
  logprobsOf,
  messagePart,
  type OutputItem,
  outputBodies,
  responseBody,
  summaryPart,
} from './reply.ts'

type Event = { type: string } & JsonObject

export function responseFrames(generated: Generated, obfuscation: boolean): Frame[] {
  const begun = responseBody(generated, 'in_progress')
  const ended = incompleteReason(generated.answer) === undefined ? 'completed' : 'incomplete'
  const events: Event[] = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...generated.output.flatMap((item, index) => itemEvents(generated, item, index)),
    { type: `response.${ended}`, response: responseBody(generated, 'final') },
  ]
  const padding = makeLetters(`${generated.id}/padding`, 16)
  return events.map((event, at) => {
    const padded = obfuscation && event.type.endsWith('.delta')
    return frame(padded ? { ...event, obfuscation: padding.slice(0, 4 + (at % 12)) } : event, at)
  })
}

/**
 * A failure in the middle: first the error, which OpenAI sends inside `error` although its reference
 * shows it flat, then the failed response. With `only_failed` the first of them is missing.
 */
export function failureFrames(generated: Generated, sent: number, only_failed: boolean): Frame[] {
  const { message, type, param } = SERVER_ERROR
  const code = 'server_error'
  const failed = responseBody(generated, 'failed', { code, message })
  const events: Event[] = [
    ...(only_failed ? [] : [{ type: 'error', error: { type, code, message, param } }]),
    { type: 'response.failed', response: failed },
  ]
  return events.map((event, index) => frame(event, sent + index))
}

/** Kinds are the names of the events: `[[sandbox:cut_after=response.output_text.delta]]`. */
function frame({ type, ...fields }: Event, sequence_number: number): Frame {
  return { kind: type, event: type, data: JSON.stringify({ type, sequence_number, ...fields }) }
}

function itemEvents(generated: Generated, item: OutputItem, output_index: number): Event[] {
  return [
    { type: 'response.output_item.added', output_index, item: itemBody(item, 'in_progress') },
    ...growth(item).map((event) => ({ ...event, item_id: item.id, output_index })),
    {
      type: 'response.output_item.done',
      output_index,
      item: outputBodies(generated)[output_index],
    },
  ]
}

function growth(item: OutputItem): Event[] {
  switch (item.type) {
    case 'reasoning':
      return item.summary.flatMap(summaryEvents)
    case 'message':
      return messageEvents(item)
    case 'call':
      return callEvents(item)
  }
}

function summaryEvents(text: string, summary_index: number): Event[] {
  const name = 'response.reasoning_summary'
  return [
    { type: `${name}_part.added`, summary_index, part: summaryPart('') },
    ...splitChunks(text).map((delta) => ({ type: `${name}_text.delta`, summary_index, delta })),
    { type: `${name}_text.done`, summary_index, text },
    { type: `${name}_part.done`, summary_index, part: summaryPart(text) },
  ]
}

function messageEvents(item: Extract<OutputItem, { type: 'message' }>): Event[] {
  const { text, refused } = item
  const content_index = 0
  const name = refused ? 'response.refusal' : 'response.output_text'
  function logged(part: string): JsonObject {
    return refused ? {} : { logprobs: item.logprobs ? logprobsOf(part) : [] }
  }
  const whole = refused ? { refusal: text } : { text }
  return [
    { type: 'response.content_part.added', content_index, part: messagePart(item, '') },
    ...splitChunks(text).map((delta) => {
      return { type: `${name}.delta`, content_index, delta, ...logged(delta) }
    }),
    { type: `${name}.done`, content_index, ...whole, ...logged(text) },
    { type: 'response.content_part.done', content_index, part: messagePart(item, text) },
  ]
}

function callEvents({ call }: Extract<OutputItem, { type: 'call' }>): Event[] {
  const [name, field] = call.free_text
    ? ['response.custom_tool_call_input', 'input']
    : ['response.function_call_arguments', 'arguments']
  return [
    ...splitChunks(call.arguments).map((delta) => ({ type: `${name}.delta`, delta })),
    { type: `${name}.done`, [field]: call.arguments, ...(!call.free_text && { name: call.name }) },
  ]
}
