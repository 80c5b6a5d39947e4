// Anthropic's betas, and what becomes of each that a client names in `anthropic-beta`. Those that leave the price as
// it is are relayed. Those that stand for another price, or for a reach into the operator's account, are refused. All
// others are kept from the provider, and named in the reply: what nobody knows might have a price.

import { refuse } from '../capabilities.ts'

export type BetaRule = { fate: 'relay' | 'refuse'; note: string }

const relay = (note: string): BetaRule => ({ fate: 'relay', note })
const refused = (note: string): BetaRule => ({ fate: 'refuse', note })

const COMPUTER = relay('`computer`, `bash` and `text_editor` tools that you run yourself')
const OWN_ACCOUNT = "reaches into the operator's account"
const SERVER_TOOL = 'a tool that runs at the provider, at a price of its own'
const COMPACTION = refused('more model calls inside one, at a price of their own')

export const CONTEXT_MANAGEMENT = 'context-management-2025-06-27'
export const TASK_BUDGETS = 'task-budgets-2026-03-13'
export const STRUCTURED_OUTPUTS = 'structured-outputs-2025-11-13'
const MCP = refused('the provider would call servers; call them yourself and offer their tools')

export const ANTHROPIC_BETAS: ReadonlyMap<string, BetaRule> = new Map([
  ['interleaved-thinking-2025-05-14', relay('thoughts between calls of tools')],
  ['fine-grained-tool-streaming-2025-05-14', relay('arguments of tools as they are written')],
  ['token-efficient-tools-2025-02-19', relay('shorter calls of tools')],
  ['computer-use-2024-10-22', COMPUTER],
  ['computer-use-2025-01-24', COMPUTER],
  ['computer-use-2025-11-24', COMPUTER],
  [CONTEXT_MANAGEMENT, relay('`context_management`, and the `memory` tool that you run yourself')],
  [STRUCTURED_OUTPUTS, relay('structured output, and strict tools')],
  ['advanced-tool-use-2025-11-20', relay('examples in tools')],
  ['tool-examples-2025-10-29', relay('examples in tools')],
  ['effort-2025-11-24', relay('`output_config.effort`')],
  ['adaptive-thinking-2026-01-28', relay('thinking as the model likes')],
  [TASK_BUDGETS, relay('`output_config.task_budget`')],
  ['prompt-caching-2024-07-31', relay('needed no longer')],
  ['extended-cache-ttl-2025-04-11', relay('a cache of one hour, at its price')],
  ['pdfs-2024-09-25', relay('needed no longer')],
  ['model-context-window-exceeded-2025-08-26', relay('a stop reason')],
  ['thinking-token-count-2026-05-13', relay('counts of thoughts while they come')],
  ['thinking-display-updates-2026-08-18', relay('how thoughts are shown')],
  ['thinking-binding-controls-2026-08-01', relay('what becomes of thoughts from elsewhere')],
  ['mid-conversation-system-2026-04-07', relay('instructions in the conversation')],
  ['mid-conversation-system-clear-at-2026-08-21', relay('instructions for one turn')],
  ['mid-conversation-output-config-2026-07-01', relay('effort of one turn')],
  ['context-1m-2025-08-07', refused('long prompts at a higher price')],
  ['fast-mode-2026-02-01', refused('a higher price')],
  ['compact-2026-01-12', COMPACTION],
  ['compact-2026-09-04', COMPACTION],
  ['code-execution-2025-05-22', refused(SERVER_TOOL)],
  ['code-execution-2025-08-25', refused(SERVER_TOOL)],
  ['mcp-client-2025-04-04', MCP],
  ['mcp-client-2025-11-20', MCP],
  ['mcp-client-2026-09-15', MCP],
  ['files-api-2025-04-14', refused(`${OWN_ACCOUNT}; send the content itself`)],
  ['skills-2025-10-02', refused(OWN_ACCOUNT)],
])

export type JudgedBetas = { relayed: string[]; ignored: string[] }

export function judgeBetas(betas: readonly string[]): JudgedBetas {
  const judged: JudgedBetas = { relayed: [], ignored: [] }
  for (const beta of betas) {
    const rule = ANTHROPIC_BETAS.get(beta)
    if (rule?.fate === 'refuse') {
      throw refuse(
        `anthropic-beta: ${beta} is not supported (${rule.note}).`,
        'Leave it out of the header `anthropic-beta`.',
      )
    }
    if (rule) judged.relayed.push(beta)
    else judged.ignored.push(`anthropic-beta: ${beta}`)
  }
  return judged
}
