// A question in Anthropic's format, and its answers, whole and streamed, read by its documentation.

import assert from 'node:assert/strict'
import type { ReceivedEvent } from './event-stream.ts'
import type { Question, Reply, Svc, Tokens, Turn } from './gateway-formats.ts'

const ENOUGH_TOKENS = 4_000
const THINKING_BUDGETS = { low: 1_024, high: 4_096 }

export function anthropicQuestion(question: Question, stream: boolean): object {
  const { model, before = [], text, system, tools, schema, stop, thinking } = question
  const last =
    text === undefined ? [] : [{ role: 'user', content: anthropicContent(question, text) }]
  const max_tokens = question.max_tokens ?? ENOUGH_TOKENS
  const tool_choice = anthropicChoice(question)
  return {
    model,
    max_tokens: max_tokens + (thinking ? THINKING_BUDGETS[thinking] : 0),
    ...(system !== undefined && { system }),
    messages: [...before.map(anthropicTurn), ...last],
    ...(tools && {
      tools: tools.map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters })),
    }),
    ...(tool_choice && { tool_choice }),
    ...(schema && { output_config: { format: { type: 'json_schema', schema } } }),
    ...(stop && { stop_sequences: stop }),
    ...(thinking && { thinking: { type: 'enabled', budget_tokens: THINKING_BUDGETS[thinking] } }),
    ...(stream && { stream }),
  }
}

function anthropicChoice({ tool_choice, parallel_tools }: Question): object | undefined {
  const single = parallel_tools === false && { disable_parallel_tool_use: true }
  if (tool_choice === undefined) return single ? { type: 'auto', ...single } : undefined
  if (typeof tool_choice === 'object') return { type: 'tool', ...tool_choice, ...single }
  return { type: tool_choice === 'required' ? 'any' : tool_choice, ...single }
}

function anthropicContent({ image }: Question, text: string): unknown {
  if (!image) return text
  return [
    { type: 'text', text },
    { type: 'image', source: { type: 'base64', ...image } },
  ]
}

function anthropicTurn(turn: Turn): object {
  switch (turn.role) {
    case 'user':
      return { role: 'user', content: turn.text }
    case 'assistant':
      return {
        role: 'assistant',
        content: [
          ...(turn.text === undefined ? [] : [{ type: 'text', text: turn.text }]),
          ...(turn.calls ?? []).map((call) => ({ type: 'tool_use', ...call })),
        ],
      }
    case 'results':
      return {
        role: 'user',
        content: turn.results.map(({ id, output }) => ({
          type: 'tool_result',
          tool_use_id: id,
          content: output,
        })),
      }
  }
}

type AnthropicUsage = {
  input_tokens: number | null
  cache_creation_input_tokens: number | null
  cache_read_input_tokens: number | null
  cache_creation?: { ephemeral_5m_input_tokens: number; ephemeral_1h_input_tokens: number } | null
  output_tokens: number
  output_tokens_details?: { thinking_tokens?: number } | null
}
type AnthropicBlock = {
  type: string
  text?: string
  thinking?: string
  id?: string
  name?: string
  input?: unknown
}
type AnthropicMessage = {
  id: string
  type: string
  role: string
  model: string
  content: AnthropicBlock[]
  stop_reason: string | null
  stop_sequence: string | null
  usage: AnthropicUsage
  svc: Reply['svc']
}
export type AnthropicEvent = {
  type: string
  message?: AnthropicMessage
  index?: number
  content_block?: AnthropicBlock
  delta?: AnthropicBlock & {
    partial_json?: string
    stop_reason?: string
    stop_sequence?: string | null
  }
  usage?: AnthropicUsage
}

export function anthropicReply(body: AnthropicMessage): Reply {
  assert.deepEqual([body.type, body.role], ['message', 'assistant'])
  assert.ok(body.stop_reason)
  const join = (read: (block: AnthropicBlock) => string | undefined) =>
    body.content.map((block) => read(block) ?? '').join('')
  const text = join((block) => (block.type === 'text' ? block.text : ''))
  return {
    id: body.id,
    model: body.model,
    text,
    refusal: body.stop_reason === 'refusal' ? text : null,
    thinking: join((block) => block.thinking),
    calls: body.content
      .filter(({ type }) => type === 'tool_use')
      .map(({ id = '', name = '', input }) => ({ id, name, input })),
    stop: body.stop_reason,
    stop_sequence: body.stop_sequence,
    tokens: anthropicTokens(body.usage),
    svc: body.svc,
  }
}

function anthropicTokens(usage: AnthropicUsage): Tokens {
  const written = usage.cache_creation_input_tokens ?? 0
  const cache_write_1h = usage.cache_creation?.ephemeral_1h_input_tokens ?? 0
  return {
    input: usage.input_tokens ?? 0,
    cache_read: usage.cache_read_input_tokens ?? 0,
    cache_write_5m: written - cache_write_1h,
    cache_write_1h,
    output: usage.output_tokens,
    reasoning: usage.output_tokens_details?.thinking_tokens ?? 0,
  }
}

/** message_start, whole blocks one after another, message_delta, message_stop, and then our numbers. */
export function anthropicStream(all: readonly ReceivedEvent[]): Reply {
  const trailer = all.at(-1)
  assert.equal(trailer?.name, 'svc_usage')
  const { type, ...svc } = JSON.parse(trailer.data) as Svc & { type: string }
  assert.equal(type, 'ping', 'the only type that every client lets pass')
  const events = all.slice(0, -1).map(({ name, data }) => {
    const event = JSON.parse(data) as AnthropicEvent
    assert.equal(event.type, name)
    return event
  })
  const steps = events.filter((event) => event.type !== 'ping')
  const [start, delta, stop] = [steps.shift(), steps.splice(-2, 1)[0], steps.pop()]
  assert.equal(start?.type, 'message_start')
  assert.equal(delta?.type, 'message_delta')
  assert.equal(stop?.type, 'message_stop')
  assert.ok(start.message && delta.delta && delta.usage)
  const { message } = start
  assert.deepEqual([message.content, message.stop_reason, message.stop_sequence], [[], null, null])
  const usage = { ...message.usage, ...withoutNulls(delta.usage) }
  return anthropicReply({
    ...message,
    content: readBlocks(steps),
    stop_reason: delta.delta.stop_reason ?? null,
    stop_sequence: delta.delta.stop_sequence ?? null,
    usage,
    svc,
  })
}

function withoutNulls(usage: AnthropicUsage): Partial<AnthropicUsage> {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null))
}

function readBlocks(steps: readonly AnthropicEvent[]): AnthropicBlock[] {
  const blocks: AnthropicBlock[] = []
  let open: (AnthropicBlock & { json: string }) | undefined
  for (const { type, index, content_block, delta } of steps) {
    assert.equal(index, blocks.length, 'blocks follow each other and are counted from 0')
    if (type === 'content_block_start') {
      assert.ok(content_block && !open)
      open = { ...content_block, json: '' }
    } else if (type === 'content_block_delta') {
      assert.ok(open && delta)
      if (delta.type === 'text_delta') open.text = (open.text ?? '') + delta.text
      if (delta.type === 'thinking_delta') open.thinking = (open.thinking ?? '') + delta.thinking
      if (delta.type === 'input_json_delta') open.json += delta.partial_json
    } else {
      assert.equal(type, 'content_block_stop')
      assert.ok(open)
      const { json, ...block } = open
      blocks.push(block.type === 'tool_use' ? { ...block, input: JSON.parse(json || '{}') } : block)
      open = undefined
    }
  }
  assert.equal(open, undefined, 'every block is closed')
  return blocks
}
