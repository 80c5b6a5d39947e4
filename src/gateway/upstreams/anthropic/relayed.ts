// The client's own body on its way to Claude. What would change the price, or belongs to the operator's account, never
// gets through, and what the model behind the public name does not take is said in words that it does.

import { clearedTurns } from '../../dialects/anthropic/system-turns.ts'
import { CLIENT_TOOL } from '../../dialects/anthropic/tools.ts'
import { refuseField } from '../capabilities.ts'
import type { Asked } from '../contract.ts'
import { markInstruction } from '../instructions.ts'
import { given, type JsonRecord, listOf, recordOf, textOf } from '../json-values.ts'
import { claudeVersion } from '../model-family.ts'
import { CONTEXT_MANAGEMENT, STRUCTURED_OUTPUTS, TASK_BUDGETS } from './betas.ts'

const HISTORY_OF_SERVER_TOOLS = /^(server_tool_use|container_upload|.+_tool_result)$/
/** Clearing makes prompts shorter; other edits are model calls of their own. */
const CLEARING = /^clear_[a-z_]+_\d{8}$/
const FIRST_WITH_SYSTEM_TURNS = 4.8
/** By the date of the tool: those of one day came with one beta. */
const TOOL_BETAS: Readonly<Record<string, string>> = {
  bash_20241022: 'computer-use-2024-10-22',
  text_editor_20241022: 'computer-use-2024-10-22',
  computer_20241022: 'computer-use-2024-10-22',
  computer_20250124: 'computer-use-2025-01-24',
  computer_20251124: 'computer-use-2025-11-24',
  memory_20250818: CONTEXT_MANAGEMENT,
}

export function checkRelayed(body: JsonRecord): void {
  for (const tool of listOf(body['tools'])) checkTool(recordOf(tool))
  for (const message of listOf(body['messages'])) checkBlocks(recordOf(message)['content'])
  for (const edit of listOf(recordOf(body['context_management'])['edits'])) {
    const type = textOf(recordOf(edit)['type'])
    if (CLEARING.test(type)) continue
    throw refuseField(`context_management.edits[].type: ${type}`, 'Only clearing is offered.')
  }
}

function checkTool(tool: JsonRecord): void {
  const type = textOf(tool['type'] ?? 'custom')
  if (type === 'custom' || CLIENT_TOOL.test(type)) return
  throw refuseField(`tools[].type: ${type}`, 'Only tools that you run yourself are offered.')
}

/** Ids of stored files would reach into an account that all users share. */
function checkBlocks(content: unknown): void {
  for (const item of listOf(content)) {
    const block = recordOf(item)
    const type = textOf(block['type'])
    if (HISTORY_OF_SERVER_TOOLS.test(type)) throw refuseField(`content[].type: ${type}`)
    if (recordOf(block['source'])['type'] === 'file') {
      throw refuseField('source.file_id', 'Send the file itself in base64.')
    }
    if (type === 'tool_result') checkBlocks(block['content'])
  }
}

/** Those that the body needs beside what the client has named. */
export function neededBetas(body: JsonRecord): string[] {
  const tools = listOf(body['tools']).map((tool) => textOf(recordOf(tool)['type']))
  const needed = tools.map((type) => TOOL_BETAS[type])
  if (body['context_management'] !== undefined) needed.push(CONTEXT_MANAGEMENT)
  if (recordOf(body['output_config'])['task_budget'] !== undefined) needed.push(TASK_BUDGETS)
  return needed.filter((beta) => beta !== undefined)
}

/** Older models would refuse a beta that they have no use for. */
export function withoutFormatBeta(betas: readonly string[]): string[] {
  return betas.filter((beta) => beta !== STRUCTURED_OUTPUTS)
}

/** `output_format` is the old name of a part of `output_config`. */
export function outputConfig({ relayed, request }: Asked): JsonRecord {
  const config = recordOf(relayed['output_config'])
  const old = request.original.body['output_format']
  return old === undefined || (config['format'] ?? null) !== null
    ? config
    : { ...config, format: old }
}

export type Placed = { fields: JsonRecord; ignored: string[] }

/** Turns of the system before the conversation stand in front; later ones stay, in words that older models take. */
export function placeSystemTurns({ relayed, model }: Asked): Placed {
  const messages = listOf(relayed['messages']).map(recordOf)
  if (!messages.some(isSystem)) return { fields: {}, ignored: [] }
  const begin = messages.findIndex((message) => !isSystem(message))
  const front = messages.slice(0, begin).flatMap(({ content }) => textBlocks(content))
  const said = [...textBlocks(relayed['system']), ...front]
  const system = front.length > 0 ? { system: said } : {}
  const turns = messages.slice(begin)
  if (claudeVersion(model.upstream_id) >= FIRST_WITH_SYSTEM_TURNS) {
    return { fields: { ...system, messages: turns }, ignored: [] }
  }
  const isCleared = clearedTurns(turns)
  const left = turns.filter((turn, index) => !isSystem(turn) || !isCleared(index))
  const has_config = left.some(
    (turn) => isSystem(turn) && Object.keys(recordOf(turn['output_config'])).length > 0,
  )
  return {
    fields: { ...system, messages: left.flatMap(asUserTurn) },
    ignored: has_config ? ['messages[].output_config'] : [],
  }
}

function isSystem(message: JsonRecord): boolean {
  return message['role'] === 'system'
}

function asUserTurn(turn: JsonRecord): JsonRecord[] {
  if (!isSystem(turn)) return [turn]
  const content = textBlocks(turn['content']).flatMap((block) => {
    const text = markInstruction(textOf(block['text']))
    return text === '' ? [] : [given({ ...block, text })]
  })
  return content.length > 0 ? [{ role: 'user', content }] : []
}

function textBlocks(content: unknown): JsonRecord[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return listOf(content).map(recordOf)
}
