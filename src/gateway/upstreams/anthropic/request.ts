// The body of a messages call: the client's own where it speaks Anthropic's dialect already, a new one otherwise.

import type { Asked, CallTerms, Draft } from '../contract.ts'
import { given, type JsonRecord, listOf, numberOf } from '../json-values.ts'
import type { ToolNames } from '../tool-names.ts'
import { judgeBetas } from './betas.ts'
import { createAnthropicReader } from './frames.ts'
import { anthropicMessages, systemBlocks } from './messages.ts'
import {
  checkRelayed,
  neededBetas,
  outputConfig,
  placeSystemTurns,
  withoutFormatBeta,
} from './relayed.ts'
import {
  fitThinking,
  relayedThinking,
  samplingFor,
  type Thinking,
  thinkingFor,
  unheardThinking,
} from './thinking.ts'
import { choiceOf, forcesTool, jsonTool, jsonToolOf, toolFields } from './tools.ts'

const JSON_ONLY =
  'Answer with one valid JSON object and nothing else: no other text, no code fence.'

export function draftAnthropic(asked: Asked, names: ToolNames): Draft {
  // The tool whose input is the answer itself: structured output on models that have none.
  const json_tool = jsonTool(asked, names)
  const createReader = () => createAnthropicReader({ names, json_tool })
  return asked.request.original.dialect === 'anthropic'
    ? { ...draftRelayed(asked, names, json_tool), createReader }
    : { ...draftTranslated(asked, names, json_tool), createReader }
}

type Unread = Omit<Draft, 'createReader'>

function forcedFields(
  { model, end_user }: Asked,
  { max_output_tokens, stream }: CallTerms,
): JsonRecord {
  return {
    model: model.upstream_id,
    max_tokens: max_output_tokens,
    stream,
    ...(end_user !== undefined && { metadata: { user_id: end_user } }),
  }
}

/** An answer that comes as the input of a tool is not what the client asked for, so it is not relayed. */
function draftRelayed(asked: Asked, names: ToolNames, json_tool: string | undefined): Unread {
  const { request, relayed, model } = asked
  checkRelayed(relayed)
  const betas = judgeBetas(request.betas ?? [])
  const placed = placeSystemTurns(asked)
  const { temperature, top_p, top_k, ...rest } = relayed
  const sampling = samplingFor(
    { temperature: numberOf(temperature), top_p: numberOf(top_p), top_k: numberOf(top_k) },
    { upstream_id: model.upstream_id, is_thinking: false },
  )
  const wish = json_tool === undefined ? relayedThinking(asked) : withoutThinking(relayed)
  const config = outputConfig(asked)
  const { format, ...others } = { ...given({ effort: wish.effort }), ...config }
  const output_config = given({ ...others, format: json_tool === undefined ? format : undefined })
  const body = given({
    ...rest,
    ...placed.fields,
    ...sampling.fields,
    ...(json_tool !== undefined && {
      tools: [...listOf(relayed['tools']), ...jsonToolOf(request, json_tool)],
      tool_choice: choiceOf(request, names, json_tool),
    }),
    output_config: Object.keys(output_config).length > 0 ? output_config : undefined,
    thinking: undefined,
  })
  const asked_for = json_tool === undefined ? betas.relayed : withoutFormatBeta(betas.relayed)
  const named = new Set([...asked_for, ...neededBetas(body)])
  const is_interleaved = asked_for.some((beta) => beta.startsWith('interleaved-thinking-'))
  const fit = (terms: CallTerms) =>
    is_interleaved ? wish.thinking : fitThinking(wish.thinking, terms, request.max_output_tokens)
  return {
    relays: json_tool === undefined,
    ignored: [...betas.ignored, ...placed.ignored, ...sampling.ignored, ...wish.ignored],
    ...(named.size > 0 && { headers: { 'anthropic-beta': [...named].join(',') } }),
    body: (terms) => ({
      ...body,
      ...given({ thinking: fit(terms) }),
      ...forcedFields(asked, terms),
    }),
  }
}

function withoutThinking({ thinking }: JsonRecord): Thinking & { ignored: string[] } {
  const ignored = thinking === undefined ? [] : ['thinking']
  return { thinking: undefined, effort: undefined, ignored }
}

function draftTranslated(asked: Asked, names: ToolNames, json_tool: string | undefined): Unread {
  const { request, model } = asked
  const forced = forcesTool(request, json_tool)
  const { output_config: config, ...body } = translateBody(asked, names, json_tool)
  const sample = ({ thinking }: Thinking) =>
    samplingFor(request, {
      upstream_id: model.upstream_id,
      is_thinking: thinking !== undefined && thinking['type'] !== 'disabled',
    })
  const at_most = { max_output_tokens: model.max_output_tokens, sends_limit: true, stream: false }
  return {
    relays: false,
    ignored: [
      ...unheardThinking(asked, forced),
      ...sample(thinkingFor(asked, at_most, forced)).ignored,
    ],
    body: (terms) => {
      const wish = thinkingFor(asked, terms, forced)
      const output_config = { ...given({ effort: wish.effort }), ...config }
      return {
        ...body,
        ...given({ thinking: wish.thinking }),
        ...sample(wish).fields,
        ...(Object.keys(output_config).length > 0 && { output_config }),
        ...forcedFields(asked, terms),
      }
    },
  }
}

type Translated = JsonRecord & { output_config: JsonRecord }

function translateBody(
  { request }: Asked,
  names: ToolNames,
  json_tool: string | undefined,
): Translated {
  const format = request.response_format
  const system = systemBlocks(request.system)
  if (format?.kind === 'json_object') system.push({ type: 'text', text: JSON_ONLY })
  const stops = request.stop.filter((stop) => stop.trim() !== '')
  const native = format?.kind === 'json_schema' && json_tool === undefined
  return {
    ...given({
      system: system.length > 0 ? system : undefined,
      messages: anthropicMessages(request.messages, names),
      stop_sequences: stops.length > 0 ? stops : undefined,
      ...toolFields(request, names, json_tool),
    }),
    output_config: native ? { format: { type: 'json_schema', schema: format.schema } } : {},
  }
}
