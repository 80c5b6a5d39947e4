// Reads the body of POST /v1/responses. What becomes of each field at each provider stands in fields.ts.

import type { ChatModel } from '../../../catalog/models.ts'
import {
  type Fields,
  isAbsent,
  readArray,
  readBody,
  readChoice,
  readName,
  readObject,
  readOptionalBoolean,
  readOptionalChoice,
  readOptionalInteger,
  readOptionalNumber,
  readOptionalText,
  readText,
  refuse,
} from '../body-fields.ts'
import type { ChatRequest, Reasoning, ResponseFormat, TextPart } from '../chat-types.ts'
import type { Conversation } from '../conversation.ts'
import { echoOf } from './echo.ts'
import { NO_LOGPROBS, ONE_PRICE, WHOLE_CONVERSATION } from './fields.ts'
import { readInput } from './items.ts'
import { type ReasoningSeal, sealedFor } from './sealed-reasoning.ts'
import { readToolChoice } from './tool-choice.ts'
import { readTools, renamedTools } from './tools.ts'

const STATEFUL = ['previous_response_id', 'conversation', 'prompt', 'context_management']
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
const SUMMARIES = ['auto', 'concise', 'detailed'] as const
const MAX_INCLUDES = 32
const SEALED_REASONING = 'reasoning.encrypted_content'
const LOGPROBS = 'message.output_text.logprobs'
const FORMAT_NAME = /^[A-Za-z0-9_-]{1,64}$/

export type ResponsesParts = {
  reasoning: Pick<ReasoningSeal, 'open'>
  /** Undefined where the name is not known: whoever plans the call says so. */
  findModel: (name: string) => ChatModel | undefined
  /** Whether items can be kept at all. */
  keeps_items: boolean
}

export function parseResponsesRequest(parts: ResponsesParts, body: unknown): ChatRequest {
  const fields = readBody(body)
  refuseStateful(fields)
  const name = readName(fields['model'], 'model')
  const model = parts.findModel(name)
  const sealed_for = model ? sealedFor(model) : ''
  const input = readInput(fields['input'], { seal: parts.reasoning, sealed_for })
  const list = readTools([{ value: fields['tools'], path: 'tools' }, ...input.tool_lists])
  const choice = readToolChoice(fields['tool_choice'], list)
  const text = readTextSettings(fields['text'])
  const reasoning = readReasoning(fields['reasoning'], model)
  const include = readInclude(fields['include'])
  const store = readOptionalBoolean(fields['store'], 'store') ?? true
  const stores_items = store && parts.keeps_items
  const settings = readSettings(fields)
  const kept = { ...fields, tools: list.kept }
  return {
    model: name,
    ...withInstructions(fields['instructions'], input),
    tools: choice.tools,
    tool_choice: choice.tool_choice,
    ...settings,
    ...NOT_IN_THIS_FORMAT,
    reasoning: reasoning.asked,
    verbosity: text.verbosity,
    response_format: text.format,
    stream: readOptionalBoolean(fields['stream'], 'stream') ?? false,
    ignored: [...[...list.hosted].map((type) => `tools.${type}`), ...include.ignored],
    style: {
      function_call: false,
      free_text_tools: [],
      hides_thinking: false,
      responses: {
        echo: echoOf(kept, stores_items),
        tools: renamedTools(list),
        shows_summary: reasoning.shows_summary,
        includes_sealed_reasoning: include.sealed_reasoning,
        sealed_for,
        stores_items,
      },
    },
    original: { dialect: 'responses', body: kept },
  }
}

const NOT_IN_THIS_FORMAT = {
  top_k: undefined,
  seed: undefined,
  frequency_penalty: undefined,
  presence_penalty: undefined,
  stop: [],
  n: 1,
  include_usage: true,
} satisfies Partial<ChatRequest>

/** First of all: without what they refer to, the rest of the body makes no sense. */
function refuseStateful(fields: Fields): void {
  for (const field of STATEFUL) {
    const value = fields[field]
    if (isAbsent(value) || (Array.isArray(value) && value.length === 0)) continue
    refuse(field, 'is not supported: no conversation is kept here', WHOLE_CONVERSATION)
  }
  if (readOptionalBoolean(fields['background'], 'background')) {
    refuse('background', 'is not supported: no answer is kept here', 'Stream the answer instead.')
  }
}

function withInstructions(value: unknown, { system, messages }: Conversation): Conversation {
  const instructions = readOptionalText(value, 'instructions') ?? ''
  const first: TextPart[] = instructions === '' ? [] : [{ kind: 'text', text: instructions }]
  const all = [...first, ...system]
  if (messages.length > 0) return { system: all, messages }
  // OpenAI answers instructions alone; the others need somebody who speaks.
  if (all.length > 0) return { system: [], messages: [{ role: 'user', content: all }] }
  return refuse('input', 'must hold some content', 'Send a text, or at least one message.')
}

type Settings = Pick<
  ChatRequest,
  'max_output_tokens' | 'temperature' | 'top_p' | 'parallel_tool_calls'
>

function readSettings(fields: Fields): Settings {
  const limit = { path: 'max_output_tokens', min: 1, max: Number.MAX_SAFE_INTEGER }
  readOptionalInteger(fields['max_tool_calls'], { ...limit, path: 'max_tool_calls' })
  const logprobs = { path: 'top_logprobs', min: 0, max: 20 }
  if (readOptionalInteger(fields['top_logprobs'], logprobs)) {
    refuse('top_logprobs', 'is not supported', NO_LOGPROBS)
  }
  readOptionalChoice(fields['truncation'], ['auto', 'disabled'], 'truncation')
  return {
    max_output_tokens: readOptionalInteger(fields['max_output_tokens'], limit),
    temperature: readOptionalNumber(fields['temperature'], { path: 'temperature', min: 0, max: 2 }),
    top_p: readOptionalNumber(fields['top_p'], { path: 'top_p', min: 0, max: 1 }),
    parallel_tool_calls: readOptionalBoolean(fields['parallel_tool_calls'], 'parallel_tool_calls'),
  }
}

type TextSettings = {
  format: ResponseFormat | undefined
  verbosity: ChatRequest['verbosity']
}

/** Not nested as that of chat completions is. */
function readTextSettings(value: unknown): TextSettings {
  if (isAbsent(value)) return { format: undefined, verbosity: undefined }
  const text = readObject(value, 'text')
  const levels = ['low', 'medium', 'high'] as const
  return {
    format: isAbsent(text['format']) ? undefined : readFormat(text['format']),
    verbosity: readOptionalChoice(text['verbosity'], levels, 'text.verbosity'),
  }
}

function readFormat(value: unknown): ResponseFormat {
  const path = 'text.format'
  const format = readObject(value, path)
  const kind = readChoice(format['type'], ['text', 'json_object', 'json_schema'], `${path}.type`)
  if (kind !== 'json_schema') return { kind }
  const name = readName(format['name'], `${path}.name`)
  if (!FORMAT_NAME.test(name)) {
    refuse(`${path}.name`, 'must be 1 to 64 letters, digits, _ or -')
  }
  const description = readOptionalText(format['description'], `${path}.description`)
  const strict = readOptionalBoolean(format['strict'], `${path}.strict`)
  return {
    kind,
    name,
    schema: isAbsent(format['schema']) ? {} : readObject(format['schema'], `${path}.schema`),
    ...(description !== undefined && { description }),
    ...(strict !== undefined && { strict }),
  }
}

type ReasoningWish = { asked: Reasoning | undefined; shows_summary: boolean }

function readReasoning(value: unknown, model: ChatModel | undefined): ReasoningWish {
  if (isAbsent(value)) return { asked: undefined, shows_summary: false }
  const wish = readObject(value, 'reasoning')
  if (!isAbsent(wish['mode']) && wish['mode'] !== 'standard') {
    refuse('reasoning.mode', 'must be "standard"', ONE_PRICE)
  }
  const old = readOptionalChoice(wish['generate_summary'], SUMMARIES, 'reasoning.generate_summary')
  const summary = readOptionalChoice(wish['summary'], SUMMARIES, 'reasoning.summary') ?? old
  const said = readOptionalChoice(wish['effort'], EFFORTS, 'reasoning.effort')
  const shows_summary = summary !== undefined
  if (said === undefined) return { asked: defaultReasoning(model, shows_summary), shows_summary }
  // Newer models take the two highest words, and see the client's own.
  const effort = said === 'xhigh' || said === 'max' ? 'high' : said
  return { asked: { kind: 'effort', effort }, shows_summary }
}

/** Who wants to see thoughts wants some. OpenAI's models think anyway, and clients ask for them on any model. */
function defaultReasoning(
  model: ChatModel | undefined,
  shows_summary: boolean,
): Reasoning | undefined {
  const can_show = model?.capabilities.reasoning === true && model.provider !== 'openai'
  return shows_summary && can_show ? { kind: 'effort', effort: 'medium' } : undefined
}

function readInclude(value: unknown): { sealed_reasoning: boolean; ignored: string[] } {
  if (isAbsent(value)) return { sealed_reasoning: false, ignored: [] }
  const wishes = readArray(value, 'include', MAX_INCLUDES).map((wish, index) =>
    readText(wish, `include[${index}]`),
  )
  if (wishes.includes(LOGPROBS)) refuse('include', `${LOGPROBS} is not supported`, NO_LOGPROBS)
  return {
    sealed_reasoning: wishes.includes(SEALED_REASONING),
    ignored: wishes.filter((wish) => wish !== SEALED_REASONING).map((wish) => `include.${wish}`),
  }
}
