// The body of a generateContent call. No client speaks this dialect, so it is always built anew.

import type { ChatModel } from '../../../catalog/models.ts'
import type { ChatRequest, Reasoning, ReasoningEffort } from '../../dialects/chat-types.ts'
import { formatField, refuse, thinks } from '../capabilities.ts'
import type { Asked, Draft } from '../contract.ts'
import { given, type JsonRecord, recordOf } from '../json-values.ts'
import { geminiVersion } from '../model-family.ts'
import type { ToolNames } from '../tool-names.ts'
import { googleContents } from './contents.ts'
import { createGoogleReader } from './frames.ts'
import { type GoogleLimits, ignoredByGoogle, MAX_STOPS, seedOf, stopsOf } from './ignored.ts'

const BUDGETS = { none: 0, minimal: 512, low: 1024, medium: 8192, high: 24_576 } as const
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
  const limits = limitsOf(model)
  const config = generationConfig(asked, limits)
  return {
    ignored: ignoredByGoogle(request, limits),
    relays: false,
    body: ({ max_output_tokens, sends_limit }) => ({
      ...body,
      generationConfig: {
        ...config,
        ...(sends_limit && { maxOutputTokens: max_output_tokens }),
      },
    }),
    createReader: () => createGoogleReader(names),
  }
}

/** Models from 2.5 on refuse penalties; only the smaller ones up to 2.5 can answer without a thought. */
function limitsOf({ upstream_id, capabilities }: ChatModel): GoogleLimits {
  const version = geminiVersion(upstream_id)
  return {
    takes_penalties: version < 2.5,
    must_think: capabilities.reasoning && (version >= 3 || isPro(upstream_id)),
  }
}

function isPro(upstream_id: string): boolean {
  return upstream_id.includes('pro')
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

function generationConfig(asked: Asked, { takes_penalties }: GoogleLimits): JsonRecord {
  const { request } = asked
  const stops = stopsOf(request).slice(0, MAX_STOPS)
  return given({
    temperature: request.temperature,
    topP: request.top_p,
    topK: request.top_k,
    seed: seedOf(request.seed),
    presencePenalty: takes_penalties ? request.presence_penalty : undefined,
    frequencyPenalty: takes_penalties ? request.frequency_penalty : undefined,
    stopSequences: stops.length > 0 ? stops : undefined,
    ...formatFields(asked),
    thinkingConfig: thinkingConfig(asked),
  })
}

function formatFields({ request, model }: Asked): JsonRecord {
  const format = request.response_format
  if (format === undefined || format.kind === 'text') return {}
  if (request.tools.length > 0 && geminiVersion(model.upstream_id) < 3) {
    const field = formatField(request)
    throw refuse(
      `This model does not take \`tools\` and a JSON \`${field}\` together.`,
      'Leave out one of them.',
      field,
    )
  }
  const responseMimeType = 'application/json'
  if (format.kind === 'json_object') return { responseMimeType }
  return { responseMimeType, responseJsonSchema: format.schema }
}

/** Models of the second generation take a budget, later ones a level; some cannot stop thinking. */
function thinkingConfig({ request, model }: Asked): JsonRecord | undefined {
  const { reasoning } = request
  const { upstream_id, capabilities } = model
  if (reasoning === undefined || !capabilities.reasoning) return undefined
  const shown = thinks(request) ? { includeThoughts: true } : {}
  if (geminiVersion(upstream_id) >= 3) {
    return { thinkingLevel: levelOf(effortOf(reasoning), upstream_id), ...shown }
  }
  const [least, most] = isPro(upstream_id) ? [128, 32_768] : [0, 24_576]
  const asked = reasoning.kind === 'budget' ? reasoning.tokens : BUDGETS[reasoning.effort]
  return { thinkingBudget: Math.min(Math.max(asked, least), most), ...shown }
}

function effortOf(reasoning: Reasoning): ReasoningEffort {
  if (reasoning.kind === 'effort') return reasoning.effort
  if (reasoning.tokens >= BUDGETS.high) return 'high'
  return reasoning.tokens >= BUDGETS.medium ? 'medium' : 'low'
}

/** Pro models have no `minimal`, and the first of them no `medium`. */
function levelOf(effort: ReasoningEffort, upstream_id: string): string {
  if (effort === 'none' || effort === 'minimal') return isPro(upstream_id) ? 'low' : 'minimal'
  const has_medium = !isPro(upstream_id) || geminiVersion(upstream_id) > 3
  return effort === 'medium' && !has_medium ? 'high' : effort
}
