// The turns of a messages request: their order, the pairing of tool calls and results, and what the
// user asked last.

import type { Conversation } from '../directives.ts'
import { isAbsent, isObject, type JsonObject, listOf, objectOf, textOf } from '../json.ts'
import { checkBlock } from './blocks.ts'
import { type AnthropicError, extra, invalid, missing } from './errors.ts'
import type { AnthropicModel } from './models.ts'

/** One or more messages of one role: Anthropic reads neighbours of a role as one turn. */
type Turn = { role: string; blocks: readonly JsonObject[]; at: number }

export function checkMessages(body: JsonObject, model: AnthropicModel): AnthropicError | undefined {
  const messages = body['messages']
  if (!Array.isArray(messages)) return invalid('messages: Input should be a valid list')
  if (messages.length === 0) return invalid('messages: at least one message is required')
  const errors = messages.map((message: unknown, index) => {
    return checkMessage(message, { index, last: index === messages.length - 1, model })
  })
  const turns = readTurns(body)
  return (
    errors.find((error) => error !== undefined) ??
    checkFirstTurn(turns) ??
    checkSystemTurns(listOf(messages).map(objectOf)) ??
    checkPairs(turns) ??
    checkPrefill(turns, model) ??
    checkThinkingTurn(body, turns)
  )
}

export function readConversation(body: JsonObject): Conversation {
  const turns = readTurns(body).filter((turn) => turn.role !== 'system')
  const asked_at = turns.findLastIndex((turn) => turn.role === 'user' && turnText(turn) !== '')
  const asked = turns[asked_at]
  const last = turns.at(-1)
  const blocks = last?.role === 'user' ? last.blocks : []
  const results = blocks.filter((block) => block['type'] === 'tool_result')
  return {
    asked: asked === undefined ? '' : turnText(asked),
    results: results.map((block) => blocksOf(block['content']).map(blockText).join('\n')),
    results_follow: asked_at !== turns.length - 1,
  }
}

/** A text stands for one text block wherever content is expected. */
export function blocksOf(content: unknown): readonly JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return listOf(content).map(objectOf)
}

function readTurns(body: JsonObject): readonly Turn[] {
  const turns: Turn[] = []
  for (const [at, value] of listOf(body['messages']).entries()) {
    const message = objectOf(value)
    const role = textOf(message['role'])
    const blocks = blocksOf(message['content'])
    const before = turns.at(-1)
    if (before?.role === role)
      turns.splice(-1, 1, { ...before, blocks: [...before.blocks, ...blocks] })
    else turns.push({ role, blocks, at })
  }
  return turns
}

type Place = { index: number; last: boolean; model: AnthropicModel }

function checkMessage(message: unknown, { index, last, model }: Place): AnthropicError | undefined {
  const path = `messages.${index}`
  if (!isObject(message)) return invalid(`${path}: Input should be an object`)
  const unknown = Object.keys(message).find((name) => name !== 'role' && name !== 'content')
  if (unknown !== undefined) return extra(`${path}.${unknown}`)
  const role = message['role']
  if (isAbsent(role)) return missing(`${path}.role`)
  const system = role === 'system'
  if (system && model.system_turns && index === 0) {
    return invalid(
      `${path}: use the top-level 'system' parameter for the initial system prompt; the directive-only form (content: [] with output_config) is accepted at any position`,
    )
  }
  if (system && !model.system_turns) {
    return invalid(
      'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
    )
  }
  if (!system && role !== 'user' && role !== 'assistant') {
    return invalid(`${path}.role: Input should be 'user' or 'assistant'`)
  }
  const content = message['content']
  if (isAbsent(content)) return missing(`${path}.content`)
  if (typeof content !== 'string' && !Array.isArray(content)) {
    return invalid(`${path}.content: Input should be a valid string or list`)
  }
  if (content.length === 0) {
    if (last && role === 'assistant') return undefined
    return invalid(
      `${path}: all messages must have non-empty content except for the optional final assistant message`,
    )
  }
  const errors = blocksOf(content).map((block, at) =>
    checkBlock(block, `${path}.content.${at}`, textOf(role)),
  )
  return errors.find((error) => error !== undefined)
}

function checkFirstTurn(turns: readonly Turn[]): AnthropicError | undefined {
  if (turns[0]?.role === 'user') return undefined
  return invalid('messages: first message must use the "user" role')
}

/** One at a time, after a user's message, at the end or before the answer. The wording is not documented. */
function checkSystemTurns(messages: readonly JsonObject[]): AnthropicError | undefined {
  const roles = messages.map((message) => message['role'])
  const wrong = roles.findIndex((role, at) => {
    const next = roles[at + 1] ?? 'assistant'
    return role === 'system' && (roles[at - 1] !== 'user' || next !== 'assistant')
  })
  if (wrong === -1) return undefined
  return invalid(
    `messages.${wrong}: a 'system' message must follow a 'user' message, and be last or followed by an 'assistant' message`,
  )
}

/** Results come first in the turn right after their calls, all of them, and no others. */
function checkPairs(turns: readonly Turn[]): AnthropicError | undefined {
  let open: readonly string[] = []
  for (const turn of turns) {
    const after = turn.blocks.findIndex((block) => block['type'] !== 'tool_result')
    const leading = after === -1 ? turn.blocks : turn.blocks.slice(0, after)
    const answered = leading.map((block) => textOf(block['tool_use_id']))
    const unanswered = open.filter((id) => !answered.includes(id))
    if (unanswered.length > 0) return lacksResults(turn.at - 1, unanswered)
    const results = turn.blocks.filter((block) => block['type'] === 'tool_result')
    const ids = results.map((block) => textOf(block['tool_use_id']))
    const stray = ids.find((id) => !open.includes(id))
    if (stray !== undefined) {
      return invalid(
        `messages.${turn.at}.content.0: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      )
    }
    open = turn.blocks
      .filter((block) => block['type'] === 'tool_use')
      .map((block) => textOf(block['id']))
  }
  return open.length > 0 ? lacksResults(turns.at(-1)?.at ?? 0, open) : undefined
}

function lacksResults(at: number, ids: readonly string[]): AnthropicError {
  return invalid(
    `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
  )
}

function checkPrefill(turns: readonly Turn[], model: AnthropicModel): AnthropicError | undefined {
  const last = turns.at(-1)
  if (last?.role !== 'assistant') return undefined
  if (!model.prefill) {
    return invalid(
      'This model does not support assistant message prefill. The conversation must end with a user message.',
    )
  }
  if (!/\s$/.test(textOf(last.blocks.at(-1)?.['text']))) return undefined
  return invalid('messages: final assistant content cannot end with trailing whitespace')
}

/** While a tool loop runs with thinking on, the thinking that led to the call has to come back. */
function checkThinkingTurn(body: JsonObject, turns: readonly Turn[]): AnthropicError | undefined {
  const type = objectOf(body['thinking'])['type']
  const last = turns.at(-1)
  const prefilled = last?.role === 'assistant'
  if (type !== 'enabled' && type !== 'adaptive') return undefined
  const in_loop = last?.blocks.some((block) => block['type'] === 'tool_result') === true
  if (!in_loop && !prefilled) return undefined
  const turn = prefilled ? last : turns.at(-2)
  const first = textOf(turn?.blocks[0]?.['type'])
  // Adaptive thinking may have chosen not to think, so nothing is missing there.
  if (first === 'thinking' || first === 'redacted_thinking' || type === 'adaptive') return undefined
  return invalid(
    `messages.${turn?.at ?? 0}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block.`,
  )
}

function turnText(turn: Turn): string {
  const texts = turn.blocks.filter((block) => block['type'] === 'text')
  return texts.map(blockText).join('\n')
}

function blockText(block: JsonObject): string {
  return textOf(block['text'])
}
