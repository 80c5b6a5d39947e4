// GenerateContentResponse on the wire. A stream is a row of such responses, each with the new parts
// and the usage so far; fields that would be zero or empty are left out, as protocol buffers do.

import type { Answer, ToolCall } from '../answer.ts'
import { objectOf, parseJson, wordList } from '../json.ts'
import { writeSentences } from '../prose.ts'
import { makeLetters } from '../random.ts'
import type { Frame } from '../reply.ts'
import { countTokens, splitChunks } from '../tokens.ts'
import type { GoogleModel } from './models.ts'
import type { GooglePrompt } from './prompt.ts'
import { signThoughts } from './signature.ts'

const CHUNKS_PER_RESPONSE = 4
const SAFETY_CATEGORIES = wordList(`
  HARM_CATEGORY_HATE_SPEECH HARM_CATEGORY_DANGEROUS_CONTENT HARM_CATEGORY_HARASSMENT
  HARM_CATEGORY_SEXUALLY_EXPLICIT
`)

export type Generation = {
  response_id: string
  model: GoogleModel
  answers: readonly Answer[]
  prompt: GooglePrompt
  cached_tokens: number
  shows_thoughts: boolean
  /** Whether an answer in words is signed: at its first part, or at its last; calls always are. */
  signs_text: 'no' | 'first' | 'last'
  /** Present when the model's end is announced. */
  status?: { modelStage: string; retirementTime: string; message: string }
  usage: boolean
}

/** Some parts of one candidate, and what they cost. */
type Step = { kind: string; index: number; parts: readonly object[]; tokens: number; end?: Answer }

export function generationBody(generation: Generation) {
  const candidates = generation.answers.map((answer, index) => {
    const parts = stepsOf(generation, answer, index).flatMap((step) => step.parts)
    return candidateBody({ kind: 'finish', index, parts: joinTexts(parts), tokens: 0, end: answer })
  })
  const visible = generation.answers.reduce((sum, answer) => sum + answer.visible_tokens, 0)
  return { candidates, ...tailOf(generation, visible) }
}

export function generationFrames(generation: Generation): Frame[] {
  const queues = generation.answers.map((answer, index) => stepsOf(generation, answer, index))
  const longest = Math.max(...queues.map((queue) => queue.length))
  const steps = Array.from({ length: longest }, (_, turn) =>
    queues.flatMap((queue) => queue.slice(turn, turn + 1)),
  ).flat()
  let visible_tokens = 0
  return steps.map((step): Frame => {
    visible_tokens += step.tokens
    const response = { candidates: [candidateBody(step)], ...tailOf(generation, visible_tokens) }
    return { kind: step.kind, data: JSON.stringify(response) }
  })
}

/** A prompt that was refused: no candidates, yet its tokens are counted. */
export function blockedBody(generation: Generation) {
  const tail = tailOf({ ...generation, answers: [] }, 0)
  return { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, ...tail }
}

function tailOf(generation: Generation, visible_tokens: number) {
  return {
    ...(generation.usage && { usageMetadata: usageBody(generation, visible_tokens) }),
    modelVersion: generation.model.id,
    ...(generation.status !== undefined && { modelStatus: generation.status }),
    responseId: generation.response_id,
  }
}

/** The prompt includes what was cached; thoughts stand beside the candidates, not inside. */
function usageBody({ answers, prompt, cached_tokens }: Generation, visible_tokens: number) {
  const thoughts = answers.reduce((sum, answer) => sum + answer.reasoning_tokens, 0)
  return {
    promptTokenCount: prompt.tokens,
    ...(visible_tokens > 0 && { candidatesTokenCount: visible_tokens }),
    totalTokenCount: prompt.tokens + visible_tokens + thoughts,
    ...(cached_tokens > 0 && { cachedContentTokenCount: cached_tokens }),
    promptTokensDetails: prompt.details,
    ...(cached_tokens > 0 && {
      cacheTokensDetails: [{ modality: 'TEXT', tokenCount: cached_tokens }],
    }),
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
  }
}

function stepsOf(generation: Generation, answer: Answer, index: number): Step[] {
  const steps = [
    ...thoughtSteps(generation, answer, index),
    ...signText(generation, answer, textSteps(answer, index)),
    ...answer.calls.map((call, at): Step => {
      const parts = [callPart(generation, { answer, call, at })]
      const tokens = countTokens(call.name + call.arguments)
      return { kind: 'function_call', index, parts, tokens }
    }),
  ]
  const last = steps.at(-1)
  if (last?.kind !== 'text')
    return [...steps, { kind: 'finish', index, parts: [], tokens: 0, end: answer }]
  return [...steps.slice(0, -1), { ...last, kind: 'finish', end: answer }]
}

function thoughtSteps(generation: Generation, answer: Answer, index: number): Step[] {
  if (!generation.shows_thoughts || answer.reasoning_tokens === 0) return []
  const text = writeSentences(2, { seed: `${answer.seed}/thoughts`, unicode: false })
  return [{ kind: 'thought', index, parts: [{ text, thought: true }], tokens: 0 }]
}

function textSteps(answer: Answer, index: number): Step[] {
  const chunks = splitChunks(answer.text)
  const steps: Step[] = []
  for (let at = 0; at < chunks.length; at += CHUNKS_PER_RESPONSE) {
    const text = chunks.slice(at, at + CHUNKS_PER_RESPONSE).join('')
    // Chunks end where tokens do, so their counts add up to that of the whole.
    steps.push({ kind: 'text', index, parts: [{ text }], tokens: countTokens(text) })
  }
  return steps
}

/** A stream has the last signature in a part of its own, without words. */
function signText({ signs_text }: Generation, answer: Answer, steps: Step[]): Step[] {
  if (signs_text === 'no' || answer.reasoning_tokens === 0) return steps
  const thoughtSignature = signThoughts(answer.seed, answer.reasoning_tokens)
  const signed_at = signs_text === 'first' ? 0 : steps.length - 1
  return steps.map((step, at) => {
    if (at !== signed_at) return step
    const parts =
      signs_text === 'first'
        ? step.parts.map((part) => ({ ...part, thoughtSignature }))
        : [...step.parts, { text: '', thoughtSignature }]
    return { ...step, parts }
  })
}

type CallPlace = { answer: Answer; call: ToolCall; at: number }

function callPart({ model }: Generation, { answer, call, at }: CallPlace): object {
  const id = makeLetters(`${answer.seed}/call/${at}`, 12).toLowerCase()
  const signature = signThoughts(answer.seed, answer.reasoning_tokens)
  const signed = at === 0 && (model.signs_calls || answer.reasoning_tokens > 0)
  const args = objectOf(parseJson(call.arguments))
  return {
    functionCall: { ...(model.signs_calls && { id }), name: call.name, args },
    ...(signed && { thoughtSignature: signature }),
  }
}

function candidateBody({ index, parts, end }: Step) {
  const refused = end?.end === 'refusal' || end?.end === 'odd'
  const content = { ...(parts.length > 0 && { parts }), role: 'model' }
  return {
    ...(!refused && { content }),
    ...(end !== undefined && { finishReason: finishReason(end) }),
    index,
    ...(end?.end === 'content_filter' && { safetyRatings: safetyRatings() }),
  }
}

function finishReason(answer: Answer): string {
  switch (answer.end) {
    case 'stop':
    case 'stop_sequence':
    case 'tools':
      return 'STOP'
    case 'length':
      return 'MAX_TOKENS'
    case 'content_filter':
      return 'SAFETY'
    case 'refusal':
      return 'PROHIBITED_CONTENT'
    case 'odd':
      return answer.odd_reason ?? 'UNHEARD_OF'
  }
}

function safetyRatings() {
  return SAFETY_CATEGORIES.map((category, at) => {
    if (at > 0) return { category, probability: 'NEGLIGIBLE' }
    return { category, probability: 'HIGH', blocked: true }
  })
}

/** What a stream sends in pieces, an answer in one go has as one part. */
function joinTexts(parts: readonly object[]): object[] {
  const joined: object[] = []
  for (const part of parts) {
    const before = joined.at(-1)
    const both = isPlainText(part) && before !== undefined && isPlainText(before)
    if (both) joined.splice(-1, 1, { ...before, ...part, text: before.text + part.text })
    else joined.push(part)
  }
  return joined
}

function isPlainText(part: object): part is { text: string } {
  return 'text' in part && !('thought' in part)
}
