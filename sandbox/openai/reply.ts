// Chat completions on the wire: the whole object, and the same as chunks.

import type { Answer, ToolCall } from '../answer.ts'
import { makeLetters } from '../random.ts'
import type { Frame } from '../reply.ts'
import { splitChunks, splitTokens } from '../tokens.ts'
import type { PredictionUse } from './prediction.ts'

export type OpenaiUsage = { prompt_tokens: number; cached_tokens: number; written_tokens?: number }

export type Completion = {
  id: string
  created: number
  model: string
  answers: readonly Answer[]
  prompt: OpenaiUsage
  logprobs: boolean
  /** Whether usage is in the answer at all; in a stream, whether it was asked for. */
  usage: boolean
  /** Whether chunks announce usage, even if a test prompt keeps the chunk that has it. */
  usage_asked: boolean
  obfuscation: boolean
  service_tier: string
  /** Whether a call is answered in the deprecated form, as it was asked for. */
  old_calls: boolean
  prediction: PredictionUse
}

export function completionBody(completion: Completion) {
  return {
    id: completion.id,
    object: 'chat.completion',
    created: completion.created,
    model: completion.model,
    choices: completion.answers.map((answer, index) => ({
      index,
      message: messageBody(answer, completion.old_calls),
      logprobs: completion.logprobs ? logprobsOf(answer.text) : null,
      finish_reason: finishReason(answer, completion.old_calls),
    })),
    ...(completion.usage && { usage: usageBody(completion) }),
    service_tier: completion.service_tier,
    system_fingerprint: fingerprint(completion.model),
  }
}

/** The choices of one request take turns, as they do when several are generated side by side. */
export function completionFrames(completion: Completion): Frame[] {
  const head = chunkHead(completion)
  const queues = completion.answers.map((answer, index) => {
    return choiceFrames({ completion, head }, answer, index)
  })
  const longest = Math.max(...queues.map((queue) => queue.length))
  const frames = Array.from({ length: longest }, (_, turn) =>
    queues.flatMap((queue) => queue.slice(turn, turn + 1)),
  ).flat()
  if (completion.usage) {
    const chunk = { ...head, choices: [], usage: usageBody(completion) }
    frames.push({ kind: 'usage', data: JSON.stringify(chunk) })
  }
  return [...frames, { kind: 'done', data: '[DONE]' }]
}

function messageBody(answer: Answer, old_calls: boolean) {
  const refused = answer.end === 'refusal'
  const calls = answer.calls.map((call, index) => callBody(call, callId(answer, index)))
  const [first] = answer.calls
  const old_call = old_calls && first !== undefined ? oldCallBody(first) : undefined
  return {
    role: 'assistant',
    content: refused || (calls.length > 0 && answer.text === '') ? null : answer.text,
    refusal: refused ? answer.text : null,
    ...(old_call !== undefined && { function_call: old_call }),
    ...(old_call === undefined && calls.length > 0 && { tool_calls: calls }),
    annotations: [],
  }
}

function callBody(call: ToolCall, id: string) {
  if (call.free_text) {
    return { id, type: 'custom', custom: { name: call.name, input: call.arguments } }
  }
  return { id, type: 'function', function: { name: call.name, arguments: call.arguments } }
}

function oldCallBody(call: ToolCall) {
  return { name: call.name, arguments: call.arguments }
}

function callId(answer: Answer, index: number): string {
  return `call_${makeLetters(`${answer.seed}/call/${index}`, 24)}`
}

function finishReason(answer: Answer, old_calls: boolean): string {
  switch (answer.end) {
    case 'stop':
    case 'stop_sequence':
    case 'refusal':
      return 'stop'
    case 'length':
      return 'length'
    case 'tools':
      return old_calls ? 'function_call' : 'tool_calls'
    case 'content_filter':
      return 'content_filter'
    case 'odd':
      return answer.odd_reason ?? 'unheard_of'
  }
}

/** Reasoning is part of the completion, cached tokens are part of the prompt. */
function usageBody({ answers, prompt, prediction }: Completion) {
  const reasoning_tokens = sum(answers.map((answer) => answer.reasoning_tokens))
  const visible_tokens = sum(answers.map((answer) => answer.visible_tokens))
  const completion_tokens = reasoning_tokens + visible_tokens + prediction.rejected_tokens
  const written = prompt.written_tokens
  return {
    prompt_tokens: prompt.prompt_tokens,
    completion_tokens,
    total_tokens: prompt.prompt_tokens + completion_tokens,
    prompt_tokens_details: {
      cached_tokens: prompt.cached_tokens,
      audio_tokens: 0,
      ...(written !== undefined && { cache_write_tokens: written }),
    },
    completion_tokens_details: {
      reasoning_tokens,
      audio_tokens: 0,
      accepted_prediction_tokens: prediction.accepted_tokens,
      rejected_prediction_tokens: prediction.rejected_tokens,
    },
  }
}

type Delta = { kind: string; delta: object; text?: string; finish_reason?: string }

type Stream = { completion: Completion; head: object }

function choiceFrames({ completion, head }: Stream, answer: Answer, index: number): Frame[] {
  const padding = makeLetters(`${answer.seed}/padding`, 16)
  return deltasOf(answer, completion.old_calls).map((step, at): Frame => {
    const logged = completion.logprobs && step.text !== undefined
    const choice = {
      index,
      delta: step.delta,
      logprobs: logged ? logprobsOf(step.text ?? '') : null,
      finish_reason: step.finish_reason ?? null,
    }
    const chunk = {
      ...head,
      choices: [choice],
      ...(completion.usage_asked && { usage: null }),
      ...(completion.obfuscation && { obfuscation: padding.slice(0, 4 + (at % 12)) }),
    }
    return { kind: step.kind, data: JSON.stringify(chunk) }
  })
}

function deltasOf(answer: Answer, old_calls: boolean): Delta[] {
  const refused = answer.end === 'refusal'
  const calling = answer.calls.length > 0
  const role = {
    role: 'assistant',
    content: calling && answer.text === '' ? null : '',
    refusal: null,
  }
  const text = splitChunks(answer.text)
  return [
    { kind: 'role', delta: role },
    ...text.map((part): Delta => {
      if (refused) return { kind: 'refusal', delta: { refusal: part } }
      return { kind: 'content', delta: { content: part }, text: part }
    }),
    ...answer.calls.flatMap((call, index) => {
      return old_calls ? oldCallDeltas(call) : callDeltas(call, index, callId(answer, index))
    }),
    { kind: 'finish', delta: {}, finish_reason: finishReason(answer, old_calls) },
  ]
}

/** The first piece names the call, the others carry only its index and more of its arguments. */
function callDeltas(call: ToolCall, index: number, id: string): Delta[] {
  const opening = { index, ...callBody({ ...call, arguments: '' }, id) }
  const more = splitChunks(call.arguments).map((part) => {
    return call.free_text
      ? { index, custom: { input: part } }
      : { index, function: { arguments: part } }
  })
  return [opening, ...more].map((piece) => ({ kind: 'tool_calls', delta: { tool_calls: [piece] } }))
}

function oldCallDeltas(call: ToolCall): Delta[] {
  const opening = oldCallBody({ ...call, arguments: '' })
  const more = splitChunks(call.arguments).map((part) => ({ arguments: part }))
  return [opening, ...more].map((piece) => {
    return { kind: 'tool_calls', delta: { function_call: piece } }
  })
}

function chunkHead(completion: Completion) {
  return {
    id: completion.id,
    object: 'chat.completion.chunk',
    created: completion.created,
    model: completion.model,
    service_tier: completion.service_tier,
    system_fingerprint: fingerprint(completion.model),
  }
}

function logprobsOf(text: string) {
  const content = splitTokens(text).map((token) => {
    const bytes = [...Buffer.from(token)]
    return { token, logprob: -0.125, bytes, top_logprobs: [{ token, logprob: -0.125, bytes }] }
  })
  return { content, refusal: null }
}

function fingerprint(model: string): string {
  return `fp_${makeLetters(model, 10).toLowerCase()}`
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
