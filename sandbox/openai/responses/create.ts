// The Responses API: from the request to its response, whole or streamed.

import { type Answer, type AnswerPlan, composeAnswer } from '../../answer.ts'
import { type Call, readBearer } from '../../call.ts'
import { type Conversation, type Directives, readDirectives } from '../../directives.ts'
import { findFault } from '../../faults.ts'
import {
  isAbsent,
  isObject,
  type JsonObject,
  listOf,
  numberOf,
  objectOf,
  parseJson,
  textOf,
} from '../../json.ts'
import { writeSentences } from '../../prose.ts'
import { digest, makeLetters } from '../../random.ts'
import { jsonReply, type Outcome, type Reply } from '../../reply.ts'
import { countTokens } from '../../tokens.ts'
import {
  badRequest,
  inputOverflow,
  type OpenaiError,
  openaiHeaders,
  responsesFault,
  unknownModel,
} from '../errors.ts'
import { readConversation, renderPrompt } from '../messages.ts'
import type { OpenaiModel } from '../models.ts'
import { checkDirectives, findServed, reasoningTokens, refuse, useCache } from '../served.ts'
import { asChat } from './as-chat.ts'
import { failureFrames, responseFrames } from './events.ts'
import { checkItems } from './items.ts'
import { type Generated, type OutputItem, outputBodies, responseBody } from './reply.ts'
import { checkFields, checkModelFields, ENCRYPTED, LOGPROBS } from './request.ts'
import { sealReasoning } from './sealed-reasoning.ts'
import { storeResponse } from './store.ts'
import { checkTools, readOffers } from './tools.ts'
import { checkTurns, isError, resolveItems } from './turns.ts'

type Request = {
  body: JsonObject
  items: readonly JsonObject[]
  model: OpenaiModel
  conversation: Conversation
  directives: Directives
  prompt: string
}

export function answerResponse(call: Call): Outcome {
  const body = parseJson(call.body.toString('utf8'))
  if (!isObject(body)) {
    return refuse(call, badRequest('We could not parse the JSON body of your request.', null, null))
  }
  const fields = checkFields(body)
  if (fields !== undefined) return refuse(call, fields)
  const model = findServed(call, textOf(body['model']))
  if (model === undefined) return refuse(call, unknownModel(textOf(body['model'])))
  const memory = { stored: call.stored, key: readBearer(call) }
  const shape = checkModelFields(body, model) ?? checkItems(body['input'], model)
  if (shape !== undefined) return refuse(call, shape)
  const items = resolveItems(body, memory)
  if (isError(items)) return refuse(call, items)
  const chat = asChat(body, items)
  const conversation = readConversation(chat)
  const error =
    checkTools(body, items, model) ??
    checkTurns(items, model.id, memory) ??
    checkDirectives(conversation, 'input')
  if (error !== undefined) return refuse(call, error)
  const directives = readDirectives(conversation)
  const fault = findFault(directives, body['stream'] === true)
  if (fault !== undefined) {
    return refuse(call, responsesFault(fault, model.id, directives), directives)
  }
  const prompt = renderPrompt(chat, model)
  const too_long = checkContext(body, model, countTokens(prompt))
  if (too_long !== undefined) return refuse(call, too_long)
  const generated = generate(call, { body, items, model, conversation, directives, prompt })
  if (body['store'] !== false) keep(call, items, generated)
  const reply = body['stream'] === true ? streamReply : wholeReply
  return { reply: reply(call, generated, directives), directives }
}

/** Both the prompt alone and the prompt with the answer that was asked for must fit. */
function checkContext(
  body: JsonObject,
  model: OpenaiModel,
  prompt_tokens: number,
): OpenaiError | undefined {
  const asked_tokens = numberOf(body['max_output_tokens']) ?? 0
  const fits =
    prompt_tokens <= model.input_tokens && prompt_tokens + asked_tokens <= model.context_tokens
  if (fits) return undefined
  if (body['truncation'] !== 'auto') return inputOverflow()
  return badRequest('The sandbox does not shorten a conversation.', 'truncation', null)
}

function generate(call: Call, request: Request): Generated {
  const { body, items, model, directives, prompt } = request
  const offers = readOffers(body, items)
  const plan = planAnswer(request, offers)
  const answer = composeAnswer(plan)
  const cached = useCache(call, model, prompt)
  const seed = `${plan.seed}/${call.number}`
  const effort = objectOf(body['reasoning'])['effort'] ?? model.default_effort
  return {
    id: `resp_${makeLetters(seed, 48)}`,
    created_at: Math.floor(Date.now() / 1000),
    model: model.snapshot,
    effort: model.efforts.length > 0 ? textOf(effort) : null,
    request: body,
    answer,
    output: listOutput({ seed, request, answer }),
    usage: {
      input_tokens: countTokens(prompt),
      cached_tokens: cached.read_tokens,
      written_tokens: model.reports_cache_writes ? cached.written_tokens : 0,
    },
    reports_usage: directives.no_usage === undefined,
  }
}

function planAnswer(
  { body, model, conversation, directives, prompt }: Request,
  offers: ReturnType<typeof readOffers>,
): AnswerPlan {
  const room_tokens = Math.min(model.output_tokens, model.context_tokens - countTokens(prompt))
  const schema = readSchema(objectOf(objectOf(body['text'])['format']))
  return {
    seed: digest(`${model.id}\n${prompt}`),
    model: model.id,
    asked: conversation.asked,
    results: conversation.results,
    directives,
    limit_tokens: numberOf(body['max_output_tokens']) ?? room_tokens,
    reasoning_tokens: reasoningTokens(model, objectOf(body['reasoning'])['effort']),
    stop: [],
    ...(schema !== undefined && { schema }),
    tools: offers.tools,
    tool_forced: offers.forced,
    parallel_tools: body['parallel_tool_calls'] !== false,
    announces_tools: false,
    explains_refusals: true,
  }
}

function readSchema(format: JsonObject): unknown {
  if (format['type'] === 'json_object') {
    return { type: 'object', properties: { answer: { type: 'string' } } }
  }
  return format['type'] === 'json_schema' ? format['schema'] : undefined
}

type Writing = { seed: string; request: Request; answer: Answer }

/** Reasoning first, then what it led to: text, calls, or a sentence that announces them. */
function listOutput({ seed, request, answer }: Writing): OutputItem[] {
  const { body, model } = request
  const included = listOf(body['include'])
  const output: OutputItem[] = []
  if (answer.reasoning_tokens > 0) {
    const id = `rs_${makeLetters(`${seed}/reasoning`, 48)}`
    const sealed = sealReasoning({ model: model.id, item_id: id, tokens: answer.reasoning_tokens })
    const summary = summarize(objectOf(body['reasoning']), answer.seed)
    output.push({ type: 'reasoning', id, summary, sealed, shown: included.includes(ENCRYPTED) })
  }
  // A model whose thinking used up the whole allowance, or whose end is odd, has not said a word.
  const silent = answer.text === '' && (answer.end === 'length' || answer.end === 'odd')
  const calling = answer.calls.length > 0 && answer.text === ''
  if (!calling && !silent) {
    output.push({
      type: 'message',
      id: `msg_${makeLetters(`${seed}/message`, 48)}`,
      text: answer.text,
      refused: answer.end === 'refusal',
      phase: tellPhase(model, answer),
      logprobs: included.includes(LOGPROBS),
    })
  }
  const calls = answer.calls.map((call, index): OutputItem => {
    const prefix = call.free_text ? 'ctc' : 'fc'
    const id = `${prefix}_${makeLetters(`${seed}/call/${index}`, 48)}`
    const call_id = `call_${makeLetters(`${answer.seed}/call/${index}`, 24)}`
    return { type: 'call', id, call_id, call }
  })
  return [...output, ...calls]
}

function tellPhase({ tells_phase }: OpenaiModel, { calls }: Answer): string | undefined {
  if (!tells_phase) return undefined
  return calls.length > 0 ? 'commentary' : 'final_answer'
}

/** Thoughts are told only on request, in one part or, in detail, in two. */
function summarize(reasoning: JsonObject, seed: string): string[] {
  const wanted = reasoning['summary'] ?? reasoning['generate_summary']
  if (isAbsent(wanted)) return []
  return Array.from({ length: wanted === 'detailed' ? 2 : 1 }, (_, index) => {
    return `**Thinking**\n\n${writeSentences(2, { seed: `${seed}/summary/${index}`, unicode: false })}`
  })
}

function keep(call: Call, items: readonly JsonObject[], generated: Generated): void {
  const reasoning = generated.output.find((item) => item.type === 'reasoning')
  const output = outputBodies(generated).map((body) => {
    const own = body['type'] === 'reasoning'
    return {
      // What is kept at OpenAI can be continued there, whether or not the client was shown it.
      body: own ? { ...body, encrypted_content: reasoning?.sealed } : body,
      reasoning_id: own ? undefined : reasoning?.id,
    }
  })
  storeResponse(call.stored, { key: readBearer(call), id: generated.id, input: items, output })
}

function wholeReply(call: Call, generated: Generated): Reply {
  return jsonReply(200, responseBody(generated, 'final'), openaiHeaders(call))
}

function streamReply(call: Call, generated: Generated, directives: Directives): Reply {
  const options = objectOf(generated.request['stream_options'])
  const only_failed = directives.failed_mid_stream !== undefined
  return {
    type: 'events',
    headers: { ...openaiHeaders(call), 'cache-control': 'no-cache' },
    layout: 'sse',
    frames: responseFrames(generated, options['include_obfuscation'] !== false),
    errors: (sent) => failureFrames(generated, sent, only_failed),
  }
}
