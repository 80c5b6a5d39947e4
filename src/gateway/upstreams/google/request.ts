// The body of a generateContent call. No client speaks this dialect, so it is always built anew.

import type { ChatRequest, Reasoning } from '../../dialects/chat-types.ts'
import { refuse, thinks } from '../capabilities.ts'
import type { Asked, Draft } from '../contract.ts'
import { given, type JsonRecord, recordOf } from '../json-values.ts'
import { geminiVersion } from '../model-family.ts'
import type { ToolNames } from '../tool-names.ts'
import { googleContents } from './contents.ts'
import { createGoogleReader } from './frames.ts'

const MAX_STOPS = 5
const BUDGETS = { none: 0, minimal: 512, low: 1024, medium: 8192, high: 24_576 } as const
const LEVELS = {
  none: 'low',
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
} as const

export function draftGoogle(asked: Asked, names: ToolNames): Draft {
  const { request, model } = asked
  const signs_calls = geminiVersion(model.upstream_id) >= 3
  const system = request.system.filter((part) => part.text !== '')
  const parts = system.map(({ text }) => ({ text }))
  const body = given({
    contents: googleContents(request.messages, { names, signs_calls }),
    systemInstruction: parts.length > 0 ? { parts } : undefined,
    ...toolFields(request, names),
  })
  const config = generationConfig(asked)
  return {
    ignored: [],
    relays: false,
    body: ({ max_output_tokens }) => ({
      ...body,
      generationConfig: { ...config, maxOutputTokens: max_output_tokens },
    }),
    createReader: () => createGoogleReader(names),
  }
}

function toolFields(request: ChatRequest, names: ToolNames): JsonRecord {
  if (request.tools.length === 0) return {}
  const functionDeclarations = request.tools.map(({ name, description, parameters }) => {
    const takes_any = Object.keys(recordOf(parameters['properties'])).length > 0
    return given({
      name: names.toProvider(name),
      description,
      parametersJsonSchema: takes_any ? parameters : undefined,
    })
  })
  const functionCallingConfig = callingConfig(request, names)
  return given({
    tools: [{ functionDeclarations }],
    toolConfig: functionCallingConfig && { functionCallingConfig },
  })
}

function callingConfig({ tool_choice }: ChatRequest, names: ToolNames): JsonRecord | undefined {
  switch (tool_choice?.kind) {
    case undefined:
      return undefined
    case 'auto':
      return { mode: 'AUTO' }
    case 'none':
      return { mode: 'NONE' }
    case 'required':
      return { mode: 'ANY' }
    case 'tool':
      return { mode: 'ANY', allowedFunctionNames: [names.toProvider(tool_choice.name)] }
  }
}

function generationConfig(asked: Asked): JsonRecord {
  const { request } = asked
  const stops = request.stop.filter((stop) => stop !== '').slice(0, MAX_STOPS)
  return given({
    temperature: request.temperature,
    topP: request.top_p,
    topK: request.top_k,
    seed: request.seed,
    presencePenalty: request.presence_penalty,
    frequencyPenalty: request.frequency_penalty,
    stopSequences: stops.length > 0 ? stops : undefined,
    ...formatFields(request),
    thinkingConfig: thinkingConfig(asked),
  })
}

function formatFields(request: ChatRequest): JsonRecord {
  const format = request.response_format
  if (format === undefined || format.kind === 'text') return {}
  if (request.tools.length > 0) {
    throw refuse(
      'This model does not take `tools` and a JSON `response_format` together.',
      'Leave out one of them.',
    )
  }
  const responseMimeType = 'application/json'
  if (format.kind === 'json_object') return { responseMimeType }
  return { responseMimeType, responseJsonSchema: format.schema }
}

/** Models of the second generation take a budget, later ones a level; some cannot stop thinking. */
function thinkingConfig({ request, model }: Asked): JsonRecord | undefined {
  const { reasoning } = request
  if (reasoning === undefined || !model.capabilities.reasoning) return undefined
  const shown = thinks(request) ? { includeThoughts: true } : {}
  if (geminiVersion(model.upstream_id) >= 3) return { thinkingLevel: levelOf(reasoning), ...shown }
  const [least, most] = model.upstream_id.includes('pro') ? [128, 32_768] : [0, 24_576]
  const asked = reasoning.kind === 'budget' ? reasoning.tokens : BUDGETS[reasoning.effort]
  return { thinkingBudget: Math.min(Math.max(asked, least), most), ...shown }
}

function levelOf(reasoning: Reasoning): string {
  if (reasoning.kind === 'effort') return LEVELS[reasoning.effort]
  if (reasoning.tokens >= BUDGETS.high) return LEVELS.high
  return reasoning.tokens >= BUDGETS.medium ? LEVELS.medium : LEVELS.low
}
